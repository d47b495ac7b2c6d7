// Pointer input: hover shows names, click selects, drag with the push tool (or Ctrl) pulls an object.
import * as THREE from "three";
import { signal } from "../studio/view.js";

const CLICK_TOLERANCE_PX = 4; // pixels between press and release that still count as a click

export class Pointer {
  twin = null;
  isPushing = signal(false); // an object is pulled without Ctrl
  carrying = false; // an object is put somewhere by hand
  drag = null;
  pressed = null; // where
  hovered = null; // the newest event over the canvas
  waiting = 0;
  occupied = () => false; // by something else that is dragged

  /** `handlers` has onHover(name), onRay(raycaster, event) before it, onSelect(name), onPush({body, point, target}) and
   * onRelease(). */
  constructor(renderer, views, canvas, handlers) {
    this.renderer = renderer;
    this.views = views;
    this.canvas = canvas;
    this.handlers = handlers;
    this.raycaster = new THREE.Raycaster();
    this.string = new THREE.Line(
      new THREE.BufferGeometry(),
      new THREE.LineBasicMaterial({ color: "#ffb86b", depthTest: false }),
    );
    this.string.frustumCulled = this.string.visible = false;
    this.string.renderOrder = 3;
    renderer.scene.add(this.string);
    renderer.beforeDraw.push(() => this.#drawString());
    // In the capture phase, before OrbitControls.
    canvas.parentElement.addEventListener("pointerdown", (event) => event.target === canvas && this.#down(event), true);
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", () => this.#release());
    canvas.addEventListener("pointerleave", () => !this.drag && handlers.onHover(""));
  }

  #ray(event) {
    const [width, height] = this.renderer.size;
    const at = new THREE.Vector2((event.offsetX / width) * 2 - 1, 1 - (event.offsetY / height) * 2);
    this.views.camera.updateMatrixWorld();
    this.raycaster.setFromCamera(at, this.views.camera);
    return this.raycaster;
  }

  #down(event) {
    this.canvas.focus({ preventScroll: true });
    this.pressed = [event.clientX, event.clientY];
    const pulls = this.isPushing.value || this.carrying || event.ctrlKey;
    if (event.button !== 0 || !this.twin || this.occupied() || !pulls) return;
    const hit = this.twin.pick(this.#ray(event));
    if (!hit?.moving) return;
    event.stopPropagation();
    this.canvas.setPointerCapture(event.pointerId);
    document.body.classList.add("dragging");
    this.drag = { ...hit, local: hit.body.worldToLocal(hit.point.clone()), target: hit.point.clone() };
  }

  #move(event) {
    if (this.drag) this.#pull(event);
    else if (!event.buttons && !this.occupied()) this.#hover(event);
  }

  #hover(event) {
    this.hovered = event;
    this.waiting ||= requestAnimationFrame(() => {
      this.waiting = 0;
      if (!this.twin || this.drag) return;
      const ray = this.#ray(this.hovered);
      this.handlers.onRay(ray, this.hovered);
      this.handlers.onHover(this.twin.pick(ray)?.object ?? "");
    });
  }

  // Drags in the horizontal plane through the grabbed point; with Shift, or from the side, in the screen's plane.
  #pull(event) {
    const { drag } = this;
    const ray = this.#ray(event).ray;
    const facing = this.views.camera.getWorldDirection(new THREE.Vector3());
    const inTablePlane = !event.shiftKey && Math.abs(facing.z) > 0.2;
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(
      inTablePlane ? new THREE.Vector3(0, 0, 1) : facing,
      drag.target,
    );
    const target = ray.intersectPlane(plane, new THREE.Vector3());
    if (!target || target.distanceTo(drag.point) > 3) return;
    drag.target.copy(target);
    drag.pulled = true;
    this.handlers.onPush({ body: drag.index, point: drag.local.toArray(), target: target.toArray() });
    this.renderer.requestDraw();
  }

  #up(event) {
    const [x, y] = this.pressed ?? [NaN, NaN];
    const clicked = Math.hypot(event.clientX - x, event.clientY - y) < CLICK_TOLERANCE_PX && event.button === 0;
    if (clicked && !this.drag?.pulled && this.twin && !this.occupied())
      this.handlers.onSelect(this.twin.pick(this.#ray(event))?.object ?? "");
    this.#release();
  }

  #release() {
    if (this.drag?.pulled) this.handlers.onRelease();
    this.drag = null;
    document.body.classList.remove("dragging");
    this.renderer.requestDraw();
  }

  #drawString() {
    this.string.visible = Boolean(this.drag?.pulled);
    if (this.string.visible) {
      const { body, local, target } = this.drag;
      body.updateMatrixWorld();
      this.string.geometry.setFromPoints([body.localToWorld(local.clone()), target]);
    }
  }
}
