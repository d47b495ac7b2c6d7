// Where one looks from: freely, from above, from the front, or from the photograph's own camera with the photograph behind.
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { quaternion } from "./shapes.js";

const NEAR = 0.01, FAR = 60, ANGLE = 42;
const DIRECTIONS = { free: [0.35, -0.8, 0.62], top: [0, -0.001, 1], front: [0, -1, 0.12] };

export class Views {
  constructor(stage, canvas, photo, difference) {
    Object.assign(this, { stage, canvas, photo, difference, name: "free", blend: 0.6, blinking: null, compare: "blend", headroom: 0 });
    this.camera = new THREE.PerspectiveCamera(ANGLE, 1, NEAR, FAR);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.18;
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("change", () => stage.changed());
    canvas.addEventListener("wheel", (event) => this.#zoomPhoto(event), { passive: false });
    stage.beforeDraw.push(() => this.name !== "photo" && this.controls.update());
    stage.camera = this.camera;
  }

  /** Takes a new model's bounding sphere and photograph's camera (or null); where that is the same one looks on. */
  frame(sphere, shot, picture) {
    const same = shot && JSON.stringify(shot) === JSON.stringify(this.shot);
    Object.assign(this, { sphere, shot });
    if (same) {
      if (picture) this.photo.src = picture;
      return this.resize(...this.stage.size);
    }
    Object.assign(this, { zoom: 1, pan: [0, 0] });
    this.photo.hidden = true;
    if (picture) this.photo.src = picture;
    else this.photo.removeAttribute("src");
    this.forward = shot ? new THREE.Vector3(0, 0, -1).applyQuaternion(quaternion(shot.quat_wxyz)) : new THREE.Vector3(0, 1, 0);
    this.show(this.name === "photo" && !shot ? "free" : this.name);
  }

  show(name) {
    if (name === "photo" && !this.shot) return;
    this.name = name;
    this.blink(false);
    this.controls.enabled = name !== "photo";
    Object.assign(this, { zoom: 1, pan: [0, 0] });
    if (name === "photo") this.#standAtPhoto();
    else this.#standAt(DIRECTIONS[name]);
    this.resize(...this.stage.size);
    this.onShow?.(name);
  }

  /** Over the photograph: the twin blended in, its "edges", the "depth" both differ in, or both "beside" each other. */
  setCompare(how) {
    this.compare = how === this.compare ? "blend" : how;
    Object.assign(this, { zoom: 1, pan: [0, 0] });
    this.blink(false);
    this.resize(...this.stage.size);
    this.onCompare?.(this.compare);
  }

  /** Whether the twin is drawn as lines only. */
  get lines() {
    return this.name === "photo" && !this.photo.hidden && ["edges", "depth"].includes(this.compare);
  }

  resize(width, height) {
    if (!width) return;
    const isPhoto = this.name === "photo";
    this.photo.hidden = !isPhoto || !this.photo.src;
    this.difference.hidden = this.photo.hidden || this.compare !== "depth" || !this.difference.src;
    if (isPhoto) this.#fitPhoto(width, height);
    else {
      this.camera.fov = ANGLE;
      this.camera.aspect = width / height;
      this.camera.setViewOffset(width, height, 0, -this.headroom / 2, width, height); // the tools lie over the top
      this.camera.updateProjectionMatrix();
    }
    this.#mix();
    this.stage.changed();
  }

  /** 0 shows the photograph, 1 the twin. */
  setBlend(value) {
    this.blend = value;
    this.#mix();
  }

  blink(on = !this.blinking) {
    clearInterval(this.blinking);
    let twin = true;
    this.blinking = on ? setInterval(() => this.#mix((twin = !twin) ? 1 : 0), 600) : null;
    this.#mix();
    this.onBlink?.(on);
  }

  // The free view looks from where the photograph was taken, so that "left" stays left.
  #standAt([right, back, up]) {
    const { center, radius } = this.sphere;
    const away = this.forward.clone().setZ(0);
    if (away.length() < 0.05) away.set(0, 1, 0).applyQuaternion(quaternion(this.shot.quat_wxyz)).setZ(0);
    away.normalize();
    const side = new THREE.Vector3(away.y, -away.x, 0);
    const direction = side.multiplyScalar(right).addScaledVector(away, back).add(new THREE.Vector3(0, 0, up)).normalize();
    const [width, height] = this.stage.size;
    const open = Math.max(0.4, 1 - this.headroom / (height || 1)), narrow = Math.min(1, (width || 1) / (height || 1)) * open;
    const distance = (Math.max(radius, 0.08) / Math.sin((this.camera.fov / 2) * Math.PI / 180) / narrow) * 0.86;
    this.controls.target.copy(center);
    this.camera.position.copy(center).addScaledVector(direction, distance);
    this.controls.update();
  }

  #standAtPhoto() {
    this.camera.position.fromArray(this.shot.pos);
    this.camera.quaternion.copy(quaternion(this.shot.quat_wxyz));
    this.camera.updateMatrixWorld();
  }

  // The photograph fits into the canvas; the frustum is widened by what is left over, its principal point kept exact.
  #fitPhoto(width, height) {
    const { shot } = this;
    const room = this.#room(width), right = width - room; // where the twin's half begins, where it has one
    const scale = Math.min(room / shot.width, height / shot.height) * this.zoom;
    const [w, h] = [shot.width * scale, shot.height * scale];
    const [at, y] = [(room - w) / 2 + this.pan[0], (height - h) / 2 + this.pan[1]];
    const x = at + right;
    for (const image of [this.photo, this.difference]) {
      Object.assign(image.style, { left: `${at}px`, top: `${y}px`, width: `${w}px`, height: `${h}px` });
      image.style.clipPath = right ? `inset(0 ${Math.max(at + w - room, 0)}px 0 0)` : "";
    }
    this.clip = `inset(${Math.max(y, 0)}px ${Math.max(width - x - w, 0)}px ${Math.max(height - y - h, 0)}px ${Math.max(x, right, 0)}px)`;
    const [across, down] = [(shot.right - shot.left) / w, (shot.top - shot.bottom) / h];
    const left = shot.left - x * across, top = shot.top + y * down;
    this.camera.projectionMatrix.makePerspective(
      left * NEAR, (left + width * across) * NEAR, top * NEAR, (top - height * down) * NEAR, NEAR, FAR);
    this.camera.projectionMatrixInverse.copy(this.camera.projectionMatrix).invert();
    this.camera.fov = (2 * Math.atan(((shot.top - shot.bottom) * height) / h / 2) * 180) / Math.PI; // gizmos are sized by it
  }

  #room(width) {
    return this.compare === "beside" ? width / 2 : width;
  }

  #zoomPhoto(event) {
    if (this.name !== "photo") return;
    event.preventDefault();
    const before = this.zoom;
    this.zoom = Math.min(12, Math.max(1, this.zoom * Math.exp(-event.deltaY * 0.0015)));
    const [width, height] = this.stage.size;
    const grown = this.zoom / before;
    const room = this.#room(width);
    const at = [(event.offsetX % room) - room / 2, event.offsetY - height / 2];
    this.pan = this.zoom === 1 ? [0, 0] : this.pan.map((p, i) => at[i] - (at[i] - p) * grown);
    this.resize(width, height);
  }

  #mix(blend = this.blend) {
    const over = this.name === "photo" && !this.photo.hidden;
    const shown = this.compare === "blend" || this.blinking ? blend : 1;
    this.canvas.style.opacity = over ? shown : 1;
    this.canvas.style.clipPath = this.name === "photo" ? this.clip : "";
  }
}
