// The mouse: hovering names, a click selects, dragging with the push tool (or Ctrl) pulls on an object.
import * as THREE from "three";

const CLICK = 4; // pixels the mouse may wander between press and release

export class Pointer {
  /** `heard` has onHover(name), onSelect(name), onPush({body, point, target}), onRelease(). */
  constructor(stage, views, canvas, heard) {
    Object.assign(this, { stage, views, canvas, heard, pushing: false, carrying: false, drag: null });
    this.raycaster = new THREE.Raycaster();
    this.string = new THREE.Line(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: "#ffb86b", depthTest: false }));
    this.string.frustumCulled = this.string.visible = false;
    this.string.renderOrder = 3;
    stage.scene.add(this.string);
    stage.beforeDraw.push(() => this.#drawString());
    // Captured before OrbitControls hears of it.
    canvas.parentElement.addEventListener("pointerdown", (event) => event.target === canvas && this.#down(event), true);
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", () => this.#letGo());
    canvas.addEventListener("pointerleave", () => !this.drag && heard.onHover(""));
  }

  #aim(event) {
    const [width, height] = this.stage.size;
    const at = new THREE.Vector2((event.offsetX / width) * 2 - 1, 1 - (event.offsetY / height) * 2);
    this.views.camera.updateMatrixWorld();
    this.raycaster.setFromCamera(at, this.views.camera);
    return this.raycaster;
  }

  #down(event) {
    this.canvas.focus({ preventScroll: true });
    this.pressed = [event.clientX, event.clientY];
    if (event.button !== 0 || !this.twin || this.occupied?.() || !(this.pushing || this.carrying || event.ctrlKey)) return;
    const hit = this.twin.pick(this.#aim(event));
    if (!hit?.moving) return;
    event.stopPropagation();
    this.canvas.setPointerCapture(event.pointerId);
    document.body.classList.add("dragging");
    this.drag = { ...hit, local: hit.body.worldToLocal(hit.point.clone()), target: hit.point.clone() };
  }

  #move(event) {
    if (this.drag) this.#pull(event);
    else if (!event.buttons && !this.occupied?.()) this.#hover(event);
  }

  #hover(event) {
    this.hovered = event;
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      if (this.twin && !this.drag) this.heard.onHover(this.twin.pick(this.#aim(this.hovered))?.object ?? "");
    });
  }

  // Over the table at the height where it was taken hold of; with Shift, or seen from the side, in the picture's plane.
  #pull(event) {
    const { drag } = this;
    const ray = this.#aim(event).ray;
    const facing = this.views.camera.getWorldDirection(new THREE.Vector3());
    const flat = !event.shiftKey && Math.abs(facing.z) > 0.2;
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(flat ? new THREE.Vector3(0, 0, 1) : facing, drag.target);
    const target = ray.intersectPlane(plane, new THREE.Vector3());
    if (!target || target.distanceTo(drag.point) > 3) return;
    drag.target.copy(target);
    drag.pulled = true;
    this.heard.onPush({ body: drag.index, point: drag.local.toArray(), target: target.toArray() });
    this.stage.changed();
  }

  #up(event) {
    const [x, y] = this.pressed ?? [NaN, NaN];
    const clicked = Math.hypot(event.clientX - x, event.clientY - y) < CLICK && event.button === 0;
    if (clicked && !this.drag?.pulled && this.twin && !this.occupied?.()) this.heard.onSelect(this.twin.pick(this.#aim(event))?.object ?? "");
    this.#letGo();
  }

  #letGo() {
    if (this.drag?.pulled) this.heard.onRelease();
    this.drag = null;
    document.body.classList.remove("dragging");
    this.stage.changed();
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
