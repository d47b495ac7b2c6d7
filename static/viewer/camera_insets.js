// What the cameras of a model see, each in an inset along the lower edge of the view.
import * as THREE from "three";
import { html, signal } from "../studio/view.js";
import { FAR_M, NEAR_M } from "./camera_views.js";
import { quaternion } from "./geoms.js";

const MAX_HEIGHT = 96, // pixels
  HEIGHT_SHARE = 0.3, // of the view, at most
  GAP = 8; // pixels

export class CameraInsets {
  isHidden = signal(false);
  insets = signal(/** @type {any[]} */ ([])); // {name, camera, aspect, place: [left, bottom, width, height]} in pixels

  /** Draws into the canvas of a renderer, below the frames of `template()`. */
  constructor(renderer) {
    this.renderer = renderer;
    renderer.afterDraw = (gl, scene) => this.#draw(gl, scene);
  }

  /** Shows the cameras {name, body, pos, quat_wxyz, width, height, left, right, bottom, top} of a twin in order. */
  show(twin, cameras) {
    for (const { camera } of this.insets.value) camera.removeFromParent();
    this.#place(
      cameras.map((one) => ({ name: one.name, camera: attached(twin, one), aspect: one.width / one.height })),
    );
  }

  resize() {
    this.#place(this.insets.value);
  }

  /** Places the insets in a row that fits the view. */
  #place(insets) {
    const [width, height] = this.renderer.size,
      aspects = insets.reduce((sum, { aspect }) => sum + aspect, 0),
      fitting = (width - GAP * (insets.length + 1)) / aspects,
      high = Math.floor(Math.min(MAX_HEIGHT, HEIGHT_SHARE * height, fitting));
    let left = GAP;
    this.insets.value = insets.map((inset) => {
      const place = [left, GAP, Math.round(high * inset.aspect), high];
      left += place[2] + GAP;
      return { ...inset, place };
    });
    this.renderer.requestDraw();
  }

  template() {
    const frame = ({ name, place: [left, bottom, width, height] }) => html`<figure data-camera=${name}
      style="left:${left}px;bottom:${bottom}px;width:${width}px;height:${height}px">
      <figcaption>${name}</figcaption>
    </figure>`;
    return html`<div id="insets" hidden=${this.isHidden.value}>${this.insets.value.map(frame)}</div>`;
  }

  #draw(gl, scene) {
    if (this.isHidden.value || !this.insets.value.length) return;
    gl.setScissorTest(true);
    for (const { camera, place } of this.insets.value) {
      gl.setViewport(...place);
      gl.setScissor(...place);
      gl.render(scene, camera);
    }
    gl.setScissorTest(false);
    gl.setViewport(0, 0, ...this.renderer.size);
  }
}

/** Returns a camera that moves with its body. */
function attached(twin, { body, pos, quat_wxyz, left, right, bottom, top }) {
  const camera = new THREE.PerspectiveCamera();
  const [atLeft, atRight, atTop, atBottom] = [left, right, top, bottom].map((slope) => slope * NEAR_M);
  camera.projectionMatrix.makePerspective(atLeft, atRight, atTop, atBottom, NEAR_M, FAR_M);
  camera.projectionMatrixInverse.copy(camera.projectionMatrix).invert();
  camera.position.fromArray(pos);
  camera.quaternion.copy(quaternion(quat_wxyz));
  twin.bodies[body].add(camera);
  return camera;
}
