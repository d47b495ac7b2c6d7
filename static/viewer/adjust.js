// Moving, turning and resizing the selected object by hand: with three.js's gizmo, or with the arrow keys.
import * as THREE from "three";
import { TransformControls } from "three/addons/controls/TransformControls.js";

const REST = 700; // ms without a key after which nudging is over
const STEPS = { translate: 0.001, rotate: Math.PI / 180, scale: 0.01 }; // of one arrow key; with Shift ten of them
const Z = new THREE.Vector3(0, 0, 1);

export class Adjust {
  /** `heard` has onTry(state), onDone(state) with {name, pos, quat_wxyz, grown}, and onMode(mode). */
  constructor(stage, views, canvas, heard) {
    Object.assign(this, { stage, views, heard, allowed: false, mode: null, name: "", all: false, held: null, twin: null });
    this.gizmo = new TransformControls(views.camera, canvas);
    this.gizmo.setSpace("world");
    this.gizmo.setSize(0.85);
    this.gizmo.addEventListener("change", () => stage.changed());
    this.gizmo.addEventListener("dragging-changed", ({ value }) => this.#drag(value));
    // its middle slides it over the table: what moves in the picture's plane would sink into it
    this.gizmo.addEventListener("axis-changed", ({ value }) => value === "XYZ" && this.mode === "translate" && (this.gizmo.axis = "XY"));
    this.gizmo.addEventListener("objectChange", () => this.#dragged());
    stage.scene.add(this.gizmo.getHelper());
  }

  /** A hand is on the gizmo, or over it: a click there means nothing else. */
  get busy() {
    return this.gizmo.dragging || Boolean(this.gizmo.object && this.gizmo.axis);
  }

  get on() {
    return Boolean(this.allowed && this.mode && this.body);
  }

  setMode(mode, all = false) {
    const same = mode === this.mode && all === this.all;
    Object.assign(this, { mode: same || !this.allowed ? null : mode, all: all && !same });
    this.#attach();
    this.heard.onMode(this.mode, this.all);
  }

  allow(on) {
    this.allowed = on;
    if (!on && this.mode) this.setMode(null);
  }

  select(name) {
    this.name = name;
    this.#attach();
  }

  /** Takes a new twin; what was tried in the old one is over. */
  show(twin) {
    this.#over();
    this.gizmo.detach();
    this.twin = twin;
    this.#attach();
  }

  /** Puts the object where it is tried, whatever the server's picture says. */
  hold() {
    if (!this.held) return;
    const { body, pos, quat, grown, parts } = this.held;
    body.position.copy(pos);
    body.quaternion.copy(quat);
    body.scale.setScalar(grown);
    body.updateMatrix();
    for (const [part, within] of parts) {
      part.matrix.multiplyMatrices(body.matrix, within);
      part.matrix.decompose(part.position, part.quaternion, part.scale);
    }
    this.twin.root.updateMatrixWorld(true);
    this.stage.changed(true);
  }

  /** Shows what somebody else tries: {name, pos, quat_wxyz, grown}; null lets go. */
  preview(state) {
    if (!state) return this.cancel();
    const body = this.twin?.bodyOf(state.name);
    if (!body) return;
    this.#begin(body);
    const [w, x, y, z] = state.quat_wxyz;
    this.held.pos.fromArray(state.pos);
    this.held.quat.set(x, y, z, w);
    this.held.grown = state.grown;
    this.hold();
  }

  /** Back to where it stood. */
  cancel() {
    if (!this.held) return;
    const { start } = this.held;
    Object.assign(this.held, { pos: start.pos.clone(), quat: start.quat.clone(), grown: 1 });
    this.hold();
    this.#over();
  }

  /** An arrow key: along the table's axis that looks most like the arrow; a turn or a size where that is the mode. */
  nudge(key, large) {
    if (!this.on) return false;
    const forward = ["ArrowRight", "ArrowUp", "PageUp"].includes(key);
    const step = STEPS[this.mode] * (large ? 10 : 1) * (forward ? 1 : -1);
    this.#begin(this.body);
    if (this.mode === "translate") this.held.pos.addScaledVector(this.#axis(key), step);
    else if (this.mode === "rotate") this.held.quat.premultiply(new THREE.Quaternion().setFromAxisAngle(Z, -step));
    else this.#grow(this.held.grown + step);
    this.hold();
    this.heard.onTry(this.#state());
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.held && this.heard.onDone(this.#state()), REST);
    return true;
  }

  // The table's axes as one sees them: right is the one that points most to the right, up the other one.
  #axis(key) {
    if (key.startsWith("Page")) return Z;
    const right = new THREE.Vector3(1, 0, 0).applyQuaternion(this.views.camera.quaternion);
    const along = Math.abs(right.x) >= Math.abs(right.y);
    const across = new THREE.Vector3(along ? Math.sign(right.x) || 1 : 0, along ? 0 : Math.sign(right.y), 0);
    return key === "ArrowLeft" || key === "ArrowRight" ? across : new THREE.Vector3(-across.y, across.x, 0);
  }

  #attach() {
    this.body = this.allowed ? this.twin?.bodyOf(this.name) : null;
    if (!this.on) this.gizmo.detach();
    else {
      this.gizmo.setMode(this.mode);
      const flat = this.mode === "rotate" && !this.all;
      Object.assign(this.gizmo, { showX: !flat, showY: !flat, showZ: true });
      this.gizmo.attach(this.body);
    }
    this.stage.changed();
  }

  #begin(body) {
    if (this.held?.body === body) return;
    body.updateMatrix();
    const away = body.matrix.clone().invert();
    this.held = {
      body, pos: body.position.clone(), quat: body.quaternion.clone(), grown: 1,
      start: { pos: body.position.clone(), quat: body.quaternion.clone() },
      foot: this.twin.boxOf(body.userData.object).min.z,
      parts: this.twin.bodies.filter((part) => part !== body && part.userData.object === body.userData.object)
        .map((part) => (part.updateMatrix(), [part, away.clone().multiply(part.matrix)])),
    };
  }

  #drag(on) {
    this.views.controls.enabled = !on && this.views.name !== "photo";
    if (on) {
      clearTimeout(this.resting);
      this.#begin(this.body);
      this.before = { pos: this.held.pos.clone(), grown: this.held.grown, scale: this.body.scale.clone() };
    } else if (this.moved) this.heard.onDone(this.#state());
    this.moved = false;
  }

  #dragged() {
    if (!this.gizmo.dragging || !this.held) return;
    this.moved = true;
    if (this.mode === "scale") this.#grow(this.#scaled());
    else {
      this.held.pos.copy(this.body.position);
      this.held.quat.copy(this.body.quaternion);
    }
    this.hold();
    this.heard.onTry(this.#state());
  }

  // Whichever handle was pulled, all of it grows.
  #scaled() {
    const { scale } = this.before;
    const ratios = ["x", "y", "z"].map((axis) => Math.abs(this.body.scale[axis] / scale[axis]));
    return this.before.grown * ratios.reduce((most, one) => (Math.abs(Math.log(one)) > Math.abs(Math.log(most)) ? one : most), 1);
  }

  // Its foot stays where it is.
  #grow(grown) {
    const { held } = this;
    const to = Math.min(5, Math.max(0.2, grown));
    const below = held.start.pos.z - held.foot;
    held.pos.z += (to - held.grown) * below;
    held.grown = to;
  }

  #state() {
    const { body, pos, quat, grown } = this.held;
    return { name: body.userData.object, pos: pos.toArray(), quat_wxyz: [quat.w, quat.x, quat.y, quat.z], grown };
  }

  #over() {
    clearTimeout(this.resting);
    this.held = null;
  }
}
