// Camera presets: free, top, front, and the photograph's own camera with the photograph behind the twin.
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { quaternion } from "./geoms.js";
import { nearestView } from "./nearest_view.js";

export const NEAR_M = 0.01,
  FAR_M = 60;
const FIELD_OF_VIEW = 42;
const DIRECTIONS = { free: [0.35, -0.8, 0.62], top: [0, -0.001, 1], front: [0, -1, 0.12] }; // right, back, up
const FREE_ELEVATION = [25, 55]; // degrees; limits of the free view's first elevation
const FILL = 0.85; // share of the canvas that the framed points may take

export class CameraViews {
  name = "free";
  blend = 0.6;
  blinking = 0; // the timer of the alternation
  compare = "blend";
  headroom = 0; // pixels
  photoCamera = null;
  picture = ""; // address of the photograph
  points = []; // that the presets frame
  forward = new THREE.Vector3(0, 1, 0); // of the photograph
  isMoved = false; // by a person
  placing = false;
  zoom = 1; // of the photograph, and where its middle is
  pan = [0, 0];
  clip = "";
  onMove = null;
  onShow = null;
  onCompare = null;
  onBlink = null;

  constructor(renderer, canvas, photo, difference) {
    this.renderer = renderer;
    this.canvas = canvas;
    this.photo = photo;
    this.difference = difference;
    this.camera = new THREE.PerspectiveCamera(FIELD_OF_VIEW, 1, NEAR_M, FAR_M);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.18;
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("start", () => (this.isMoved = true));
    this.controls.addEventListener("change", () => {
      renderer.requestDraw();
      if (!this.placing && this.name !== "photo")
        this.onMove?.(this.camera.position.toArray(), this.controls.target.toArray());
    });
    canvas.addEventListener("wheel", (event) => this.#zoomPhoto(event), { passive: false });
    renderer.beforeDraw.push(() => this.name !== "photo" && this.controls.update());
    renderer.camera = this.camera;
  }

  /**
   * Sets the points of a model that have to be in view, and the photograph camera (or null). The view stays if the
   * camera is the same, unless there is something to `focus` on that it does not frame, and no person has moved it.
   */
  frame(points, photoCamera, picture, focus = false) {
    const same = photoCamera && JSON.stringify(photoCamera) === JSON.stringify(this.photoCamera);
    const stays = same && (!focus || this.isMoved || this.#shows(points));
    Object.assign(this, { photoCamera, picture });
    if (!stays) this.points = points;
    if (same) {
      if (!stays && this.name === "free") this.#placeCamera(this.#photoDirection());
      return this.resize(...this.renderer.size);
    }
    Object.assign(this, { zoom: 1, pan: [0, 0] });
    this.photo.hidden = true;
    this.photo.removeAttribute("src");
    this.forward = photoCamera
      ? new THREE.Vector3(0, 0, -1).applyQuaternion(quaternion(photoCamera.quat_wxyz))
      : new THREE.Vector3(0, 1, 0);
    this.show(this.name === "photo" && !photoCamera ? "free" : this.name);
  }

  show(name) {
    if (name === "photo" && !this.photoCamera) return;
    this.name = name;
    this.isMoved = false;
    this.blink(false);
    this.controls.enabled = name !== "photo";
    Object.assign(this, { zoom: 1, pan: [0, 0] });
    if (name === "photo") this.#placeAtPhoto();
    else this.#placeCamera(name === "free" && this.photoCamera ? this.#photoDirection() : DIRECTIONS[name]);
    this.resize(...this.renderer.size);
    this.onShow?.(name);
  }

  /** Turns and tilts the camera about its target by angles in radians, and scales its distance. */
  orbit(turn, tilt = 0, distance = 1) {
    if (this.name === "photo") return;
    this.isMoved = true;
    this.controls.rotateLeft(turn);
    this.controls.rotateUp(tilt);
    if (distance !== 1) this.controls.dollyIn(distance);
    this.controls.update();
    this.renderer.requestDraw();
  }

  /** Moves the camera as another viewer's was moved. */
  place(position, target) {
    if (this.name === "photo") return;
    this.placing = true;
    this.camera.position.fromArray(position);
    this.controls.target.fromArray(target);
    this.controls.update();
    this.placing = false;
  }

  /** Returns where the camera is, in metres and radians; it looks along its -z with y up. */
  pose() {
    const { x, y, z, w } = this.camera.quaternion;
    const pos = this.camera.position.toArray();
    return { pos, quat_wxyz: [w, x, y, z], field_of_view: THREE.MathUtils.degToRad(this.camera.fov) };
  }

  /** Sets how twin and photograph are compared: "blend", "edges", "depth" (difference) or "beside". */
  setCompare(mode) {
    this.compare = mode === this.compare ? "blend" : mode;
    Object.assign(this, { zoom: 1, pan: [0, 0] });
    this.blink(false);
    this.resize(...this.renderer.size);
    this.onCompare?.(this.compare);
  }

  /** Whether the twin is drawn as outlines only. */
  get lines() {
    return this.name === "photo" && !this.photo.hidden && ["edges", "depth"].includes(this.compare);
  }

  resize(width, height) {
    if (!width) return;
    const isPhoto = this.name === "photo";
    if (isPhoto && this.picture && this.photo.getAttribute("src") !== this.picture) this.photo.src = this.picture;
    this.photo.hidden = !isPhoto || !this.photo.src;
    this.difference.hidden = this.photo.hidden || this.compare !== "depth" || !this.difference.src;
    if (isPhoto) this.#fitPhoto(width, height);
    else {
      this.camera.fov = FIELD_OF_VIEW;
      this.camera.aspect = width / height;
      this.camera.setViewOffset(width, height, 0, -this.headroom / 2, width, height); // the toolbar covers the top
      this.camera.updateProjectionMatrix();
    }
    this.#mix();
    this.renderer.requestDraw();
  }

  /** 0 shows the photograph, 1 the twin. */
  setBlend(value) {
    this.blend = value;
    this.#mix();
  }

  blink(on = !this.blinking) {
    clearInterval(this.blinking);
    let twin = true;
    const alternate = () => {
      twin = !twin;
      this.#mix(twin ? 1 : 0);
    };
    this.blinking = on ? setInterval(alternate, 600) : 0;
    this.#mix();
    this.onBlink?.(on);
  }

  // Whether the points are in the picture and take at least half of its width or height.
  #shows(points) {
    this.camera.updateMatrixWorld();
    const seen = points.map((point) => point.clone().project(this.camera));
    const spans = ["x", "y"].map((axis) => {
      const all = seen.map((point) => point[axis]);
      return [Math.min(...all), Math.max(...all)];
    });
    return spans.every(([low, high]) => low >= -1 && high <= 1) && spans.some(([low, high]) => high - low >= 1);
  }

  // The presets keep the photograph's heading, so that left stays left.
  /** @param {number[]} direction */
  #placeCamera([right, back, up]) {
    const forward = this.forward.clone().setZ(0);
    if (forward.length() < 0.05) forward.set(0, 1, 0).applyQuaternion(quaternion(this.photoCamera.quat_wxyz)).setZ(0);
    forward.normalize();
    const side = new THREE.Vector3(forward.y, -forward.x, 0);
    const direction = side
      .multiplyScalar(right)
      .addScaledVector(forward, back)
      .add(new THREE.Vector3(0, 0, up))
      .normalize();
    const [width, height] = this.renderer.size;
    const shape = {
      wide: (FILL * (width || 1)) / (height || 1),
      high: FILL * Math.max(0.4, 1 - this.headroom / (height || 1)),
    };
    const { center, distance } = nearestView(this.points, direction, this.camera.fov, shape);
    this.controls.target.copy(center);
    this.camera.position.copy(center).addScaledVector(direction, distance);
    this.controls.update();
  }

  /** Returns the way from the objects to the photograph's camera, not too flat and not too steep. */
  #photoDirection() {
    const [lowest, highest] = FREE_ELEVATION.map(THREE.MathUtils.degToRad);
    const elevation = THREE.MathUtils.clamp(Math.asin(-this.forward.z), lowest, highest);
    return [0, -Math.cos(elevation), Math.sin(elevation)];
  }

  #placeAtPhoto() {
    this.camera.position.fromArray(this.photoCamera.pos);
    this.camera.quaternion.copy(quaternion(this.photoCamera.quat_wxyz));
    this.camera.updateMatrixWorld();
  }

  // Fits the photograph into the canvas and widens the frustum to the canvas with the principal point kept exact.
  #fitPhoto(width, height) {
    const { photoCamera } = this;
    const photoWidth = this.#photoWidth(width),
      right = width - photoWidth; // left edge of the twin's half if side by side
    const scale = Math.min(photoWidth / photoCamera.width, height / photoCamera.height) * this.zoom;
    const [w, h] = [photoCamera.width * scale, photoCamera.height * scale];
    const [at, y] = [(photoWidth - w) / 2 + this.pan[0], (height - h) / 2 + this.pan[1]];
    const x = at + right;
    for (const image of [this.photo, this.difference]) {
      Object.assign(image.style, { left: `${at}px`, top: `${y}px`, width: `${w}px`, height: `${h}px` });
      image.style.clipPath = right ? `inset(0 ${Math.max(at + w - photoWidth, 0)}px 0 0)` : "";
    }
    const insets = [y, width - x - w, height - y - h, Math.max(x, right)].map((inset) => `${Math.max(inset, 0)}px`);
    this.clip = `inset(${insets.join(" ")})`;
    const [perPixelX, perPixelY] = [
      (photoCamera.right - photoCamera.left) / w,
      (photoCamera.top - photoCamera.bottom) / h,
    ];
    const left = photoCamera.left - x * perPixelX,
      top = photoCamera.top + y * perPixelY;
    this.camera.projectionMatrix.makePerspective(
      left * NEAR_M,
      (left + width * perPixelX) * NEAR_M,
      top * NEAR_M,
      (top - height * perPixelY) * NEAR_M,
      NEAR_M,
      FAR_M,
    );
    this.camera.projectionMatrixInverse.copy(this.camera.projectionMatrix).invert();
    // The gizmo's size depends on it.
    this.camera.fov = (2 * Math.atan(((photoCamera.top - photoCamera.bottom) * height) / h / 2) * 180) / Math.PI;
  }

  #photoWidth(width) {
    return this.compare === "beside" ? width / 2 : width;
  }

  #zoomPhoto(event) {
    if (this.name !== "photo") return;
    event.preventDefault();
    const before = this.zoom;
    this.zoom = Math.min(12, Math.max(1, this.zoom * Math.exp(-event.deltaY * 0.0015)));
    const [width, height] = this.renderer.size;
    const grown = this.zoom / before;
    const photoWidth = this.#photoWidth(width);
    const at = [(event.offsetX % photoWidth) - photoWidth / 2, event.offsetY - height / 2];
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
