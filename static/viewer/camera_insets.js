// What the cameras of a model see, each in an inset along the lower edge of the view.
import * as THREE from "three";
import { FAR_M, NEAR_M } from "./camera_views.js";
import { quaternion } from "./geoms.js";

const MAX_HEIGHT = 96, // pixels
  HEIGHT_SHARE = 0.3, // of the view, at most
  GAP = 8; // pixels

export class CameraInsets {
  /** Draws into the canvas of a renderer, below the frames that it puts into `element`. */
  constructor(renderer, element) {
    Object.assign(this, { renderer, element, hidden: false, insets: [] });
    renderer.afterDraw = (gl, scene) => this.#draw(gl, scene);
  }

  /** Shows the cameras {name, body, pos, quat_wxyz, width, height, left, right, bottom, top} of a twin in their order. */
  show(twin, cameras) {
    for (const { camera } of this.insets) camera.removeFromParent();
    this.insets = cameras.map((one) => ({
      camera: attached(twin, one),
      frame: frameOf(one),
      aspect: one.width / one.height,
    }));
    this.element.replaceChildren(...this.insets.map(({ frame }) => frame));
    this.resize();
  }

  /** Places the insets in a row that fits the view. */
  resize() {
    const [width, height] = this.renderer.size;
    const aspects = this.insets.reduce((sum, { aspect }) => sum + aspect, 0);
    const fitting = (width - GAP * (this.insets.length + 1)) / aspects;
    const high = Math.floor(Math.min(MAX_HEIGHT, HEIGHT_SHARE * height, fitting));
    let left = GAP;
    for (const inset of this.insets) {
      const wide = Math.round(high * inset.aspect);
      inset.place = [left, GAP, wide, high];
      Object.assign(inset.frame.style, {
        left: `${left}px`,
        bottom: `${GAP}px`,
        width: `${wide}px`,
        height: `${high}px`,
      });
      left += wide + GAP;
    }
    this.renderer.requestDraw();
  }

  #draw(gl, scene) {
    this.element.hidden = this.hidden;
    if (this.hidden || !this.insets.length) return;
    gl.setScissorTest(true);
    for (const { camera, place } of this.insets) {
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
  const edges = [left, right, top, bottom].map((slope) => slope * NEAR_M);
  camera.projectionMatrix.makePerspective(...edges, NEAR_M, FAR_M);
  camera.projectionMatrixInverse.copy(camera.projectionMatrix).invert();
  camera.position.fromArray(pos);
  camera.quaternion.copy(quaternion(quat_wxyz));
  twin.bodies[body].add(camera);
  return camera;
}

function frameOf({ name }) {
  const frame = document.createElement("figure"),
    caption = document.createElement("figcaption");
  caption.textContent = name;
  frame.dataset.camera = name;
  frame.append(caption);
  return frame;
}
