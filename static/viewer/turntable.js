// Turns a standalone model slowly, by orbiting the camera, until a person touches it.
import * as THREE from "three";

const TURN_S = 24; // seconds
const MIN_INTERVAL_MS = 33,
  MAX_INTERVAL_MS = 400; // between frames; a slow browser keeps two thirds of its time
const REFRESH_MS = 17;
const UP = new THREE.Vector3(0, 0, 1);

export class Turntable {
  /** Off, with `button` hidden, until enabled. */
  constructor(renderer, views, canvas, button) {
    Object.assign(this, { renderer, views, button, on: false, off: false, cost: 0 });
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    renderer.beforeDraw.unshift((now) => this.#turn(now)); // before the controls read the camera's position
    for (const type of ["pointerdown", "wheel"])
      canvas.addEventListener(type, () => this.set(false), { capture: true, passive: true });
    button.onclick = () => {
      this.off = this.on;
      this.set(!this.on);
    };
  }

  /** Starts turning unless a person turned it off or prefers reduced motion. */
  enable() {
    this.button.hidden = false;
    this.set(!this.off && !this.calm.matches);
  }

  set(on) {
    this.on = on && !this.button.hidden && this.views.name !== "photo";
    this.before = this.asked = null;
    this.button.setAttribute("aria-pressed", String(this.on));
    if (this.on) this.renderer.requestDraw();
  }

  // Hidden pages get no animation frames, and the renderer skips canvases without size.
  #turn(now) {
    if (!this.on) return;
    const { camera, controls } = this.views;
    const elapsed = Math.min(0.5, (now - (this.before ?? now)) / 1000);
    camera.position
      .sub(controls.target)
      .applyAxisAngle(UP, (elapsed * 2 * Math.PI) / TURN_S)
      .add(controls.target);
    this.before = now;
    if (this.asked) this.cost += 0.3 * (now - this.asked - this.cost); // smoothed time per frame
    clearTimeout(this.next);
    this.next = setTimeout(
      () => this.#requestDraw(),
      Math.min(MAX_INTERVAL_MS, Math.max(MIN_INTERVAL_MS, 2 * (this.cost - REFRESH_MS))),
    );
  }

  #requestDraw() {
    this.asked = performance.now();
    this.renderer.requestDraw();
  }
}
