// What stands alone turns slowly by itself, until a person touches it: by moving the camera around it.
import * as THREE from "three";

const TURN = 24; // seconds
const RATE = 30; // drawings a second, at most
const UP = new THREE.Vector3(0, 0, 1);

export class Turntable {
  /** Nothing turns before it is offered; `button` is hidden until then. */
  constructor(stage, views, canvas, button) {
    Object.assign(this, { stage, views, button, on: false, off: false });
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    stage.beforeDraw.unshift((now) => this.#turn(now)); // before the controls look where the camera is now
    for (const touch of ["pointerdown", "wheel"]) canvas.addEventListener(touch, () => this.set(false), { capture: true, passive: true });
    button.onclick = () => { this.off = this.on; this.set(!this.on); };
  }

  /** For what stands alone: begins, unless a person turned it off before or wants no motion. */
  offer() {
    this.button.hidden = false;
    this.set(!this.off && !this.calm.matches);
  }

  set(on) {
    this.on = on && !this.button.hidden && this.views.name !== "photo";
    this.before = null;
    this.button.setAttribute("aria-pressed", String(this.on));
    if (this.on) this.stage.changed();
  }

  // No drawing is asked for while the page is hidden, and the stage draws nothing that has no size.
  #turn(now) {
    if (!this.on) return;
    const { camera, controls } = this.views;
    const passed = Math.min(0.1, (now - (this.before ?? now)) / 1000);
    camera.position.sub(controls.target).applyAxisAngle(UP, (passed * 2 * Math.PI) / TURN).add(controls.target);
    this.before = now;
    clearTimeout(this.next);
    this.next = setTimeout(() => this.stage.changed(), 1000 / RATE);
  }
}
