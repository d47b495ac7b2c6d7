// What stands alone turns slowly by itself, until a person touches it: by moving the camera around it.
import * as THREE from "three";

const TURN = 24; // seconds
const SHORT = 33, LONG = 400; // ms between drawings: a browser that draws slowly is left two thirds of its time
const REFRESH = 17;
const UP = new THREE.Vector3(0, 0, 1);

export class Turntable {
  /** Nothing turns before it is offered; `button` is hidden until then. */
  constructor(stage, views, canvas, button) {
    Object.assign(this, { stage, views, button, on: false, off: false, cost: 0 });
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
    this.before = this.asked = null;
    this.button.setAttribute("aria-pressed", String(this.on));
    if (this.on) this.stage.changed();
  }

  // No drawing is asked for while the page is hidden, and the stage draws nothing that has no size.
  #turn(now) {
    if (!this.on) return;
    const { camera, controls } = this.views;
    const passed = Math.min(0.5, (now - (this.before ?? now)) / 1000);
    camera.position.sub(controls.target).applyAxisAngle(UP, (passed * 2 * Math.PI) / TURN).add(controls.target);
    this.before = now;
    if (this.asked) this.cost += 0.3 * (now - this.asked - this.cost); // the drawing before holds this one up
    clearTimeout(this.next);
    this.next = setTimeout(() => this.#ask(), Math.min(LONG, Math.max(SHORT, 2 * (this.cost - REFRESH))));
  }

  #ask() {
    this.asked = performance.now();
    this.stage.changed();
  }
}
