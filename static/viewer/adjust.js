// Moves, rotates and resizes the selected object with three.js's gizmo or the arrow keys.
import * as THREE from "three";
import { TransformControls } from "three/addons/controls/TransformControls.js";

const NUDGE_END_MS = 700; // a nudge ends after this time without a key
const STEPS = { translate: 0.001, rotate: Math.PI / 180, scale: 0.01 }; // per arrow key; ten times with Shift
const Z = new THREE.Vector3(0, 0, 1);

export class Adjust {
  allowed = false;
  refused = false; // to this person
  mode = /** @type {"translate" | "rotate" | "scale" | null} */ (null);
  all = false; // rotates about all axes
  name = "";
  twin = null;
  body = null; // of the object that is adjusted
  trial = null; // where it is tried
  before = null; // the trial when the drag began
  moved = false;
  resting = 0;

  /** `handlers` has onTry(state), onDone(state) with {name, pos, quat_wxyz, relative_scale}, and onMode(mode). */
  constructor(renderer, views, canvas, handlers) {
    this.renderer = renderer;
    this.views = views;
    this.handlers = handlers;
    this.gizmo = new TransformControls(views.camera, canvas);
    this.gizmo.setSpace("world");
    this.gizmo.setSize(0.85);
    this.gizmo.addEventListener("change", () => renderer.requestDraw());
    this.gizmo.addEventListener("dragging-changed", ({ value }) => this.#drag(value));
    // the middle handle moves in the table's plane; in the screen's plane the object would sink into the table
    this.gizmo.addEventListener("axis-changed", ({ value }) => {
      if (value === "XYZ" && this.mode === "translate") this.gizmo.axis = "XY";
    });
    this.gizmo.addEventListener("objectChange", () => this.#dragged());
    renderer.scene.add(this.gizmo.getHelper());
  }

  /** Whether the pointer is on the gizmo; a click there must not select. */
  get busy() {
    return this.gizmo.dragging || Boolean(this.gizmo.object && this.gizmo.axis);
  }

  get isActive() {
    return Boolean(this.allowed && !this.refused && this.mode && this.body);
  }

  setMode(mode, all = false) {
    const same = mode === this.mode && all === this.all;
    Object.assign(this, { mode: same || !this.allowed || this.refused ? null : mode, all: all && !same });
    this.#attach();
    this.handlers.onMode(this.mode, this.all);
  }

  allow(on, refused = false) {
    Object.assign(this, { allowed: on, refused });
    if ((!on || refused) && this.mode) this.setMode(null);
  }

  select(name) {
    this.name = name;
    this.#attach();
  }

  /** Sets a new twin and ends a trial in the old one. */
  show(twin) {
    this.trial?.body.scale.setScalar(1); // the twin may be the one of the view before
    this.#end();
    this.gizmo.detach();
    this.twin = twin;
    this.#attach();
  }

  /** Places the object at its trial pose, overriding the server's frame. */
  applyTrial() {
    if (!this.trial) return;
    const { body, pos, quat, relativeScale, parts } = this.trial;
    body.position.copy(pos);
    body.quaternion.copy(quat);
    body.scale.setScalar(relativeScale);
    body.updateMatrix();
    for (const [part, within] of parts) {
      part.matrix.multiplyMatrices(body.matrix, within);
      part.matrix.decompose(part.position, part.quaternion, part.scale);
    }
    this.twin.root.updateMatrixWorld(true);
    this.renderer.requestDraw(true);
  }

  /** Shows a trial pose from outside: {name, pos, quat_wxyz, relative_scale}; null cancels it. */
  preview(state) {
    if (!state) return this.cancel();
    const body = this.twin?.bodyOf(state.name);
    if (!body) return;
    this.#begin(body);
    const [w, x, y, z] = state.quat_wxyz;
    this.trial.pos.fromArray(state.pos);
    this.trial.quat.set(x, y, z, w);
    this.trial.relativeScale = state.relative_scale;
    this.applyTrial();
  }

  /** Returns the object to its start pose. */
  cancel() {
    if (!this.trial) return;
    const { start } = this.trial;
    Object.assign(this.trial, { pos: start.pos.clone(), quat: start.quat.clone(), relativeScale: 1 });
    this.applyTrial();
    this.#end();
  }

  /** Handles an arrow key: moves along the table axis nearest to the arrow on screen, or rotates or resizes. */
  nudge(key, large) {
    if (!this.isActive) return false;
    const forward = ["ArrowRight", "ArrowUp", "PageUp"].includes(key);
    const step = STEPS[this.mode] * (large ? 10 : 1) * (forward ? 1 : -1);
    this.#begin(this.body);
    if (this.mode === "translate") this.trial.pos.addScaledVector(this.axis(key), step);
    else if (this.mode === "rotate") this.trial.quat.premultiply(new THREE.Quaternion().setFromAxisAngle(Z, -step));
    else this.#setScale(this.trial.relativeScale + step);
    this.applyTrial();
    this.handlers.onTry(this.#state());
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.trial && this.handlers.onDone(this.#state()), NUDGE_END_MS);
    return true;
  }

  /** The table axis for an arrow key: left and right use the axis nearest to the screen's horizontal. */
  axis(key) {
    if (key.startsWith("Page")) return Z;
    const right = new THREE.Vector3(1, 0, 0).applyQuaternion(this.views.camera.quaternion);
    const alignsWithX = Math.abs(right.x) >= Math.abs(right.y);
    const horizontal = new THREE.Vector3(
      alignsWithX ? Math.sign(right.x) || 1 : 0,
      alignsWithX ? 0 : Math.sign(right.y),
      0,
    );
    return key === "ArrowLeft" || key === "ArrowRight" ? horizontal : new THREE.Vector3(-horizontal.y, horizontal.x, 0);
  }

  #attach() {
    this.body = this.allowed ? this.twin?.bodyOf(this.name) : null;
    if (!this.isActive) this.gizmo.detach();
    else {
      this.gizmo.setMode(this.mode);
      const flat = this.mode === "rotate" && !this.all;
      Object.assign(this.gizmo, { showX: !flat, showY: !flat, showZ: true });
      this.gizmo.attach(this.body);
    }
    this.renderer.requestDraw();
  }

  #begin(body) {
    if (this.trial?.body === body) return;
    body.updateMatrix();
    const worldToBody = body.matrix.clone().invert();
    this.trial = {
      body,
      pos: body.position.clone(),
      quat: body.quaternion.clone(),
      relativeScale: 1,
      start: { pos: body.position.clone(), quat: body.quaternion.clone() },
      foot: this.twin.boxOf(body.userData.object).min.z,
      parts: this.twin.bodies
        .filter((part) => part !== body && part.userData.object === body.userData.object)
        .map((part) => {
          part.updateMatrix();
          return [part, worldToBody.clone().multiply(part.matrix)];
        }),
    };
  }

  #drag(on) {
    this.views.controls.enabled = !on && this.views.name !== "photo";
    if (on) {
      clearTimeout(this.resting);
      this.#begin(this.body);
      this.before = {
        pos: this.trial.pos.clone(),
        relativeScale: this.trial.relativeScale,
        scale: this.body.scale.clone(),
      };
    } else if (this.moved) this.handlers.onDone(this.#state());
    this.moved = false;
  }

  #dragged() {
    if (!this.gizmo.dragging || !this.trial) return;
    this.moved = true;
    if (this.mode === "scale") this.#setScale(this.#scaled());
    else {
      this.trial.pos.copy(this.body.position);
      this.trial.quat.copy(this.body.quaternion);
    }
    this.applyTrial();
    this.handlers.onTry(this.#state());
  }

  // Uniform scale from whichever handle was dragged.
  #scaled() {
    const { scale } = this.before;
    const ratios = ["x", "y", "z"].map((axis) => Math.abs(this.body.scale[axis] / scale[axis]));
    return (
      this.before.relativeScale *
      ratios.reduce((largest, ratio) => (Math.abs(Math.log(ratio)) > Math.abs(Math.log(largest)) ? ratio : largest), 1)
    );
  }

  // Keeps the object's bottom in place.
  #setScale(relativeScale) {
    const { trial } = this;
    const clamped = Math.min(5, Math.max(0.2, relativeScale));
    const originHeight = trial.start.pos.z - trial.foot;
    trial.pos.z += (clamped - trial.relativeScale) * originHeight;
    trial.relativeScale = clamped;
  }

  #state() {
    const { body, pos, quat, relativeScale } = this.trial;
    return {
      name: body.userData.object,
      pos: pos.toArray(),
      quat_wxyz: [quat.w, quat.x, quat.y, quat.z],
      relative_scale: relativeScale,
    };
  }

  #end() {
    clearTimeout(this.resting);
    this.trial = null;
  }
}
