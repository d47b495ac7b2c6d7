// Turns a standalone model slowly, by orbiting the camera, until a person touches it.
import * as THREE from "three";
import { signal } from "../studio/view.js";

const TURN_S = 24; // seconds
const MIN_INTERVAL_MS = 33,
  MAX_INTERVAL_MS = 400; // between frames; a slow browser keeps two thirds of its time
const REFRESH_MS = 17;
const UP = new THREE.Vector3(0, 0, 1);

export class Turntable {
  on = signal(false);
  isOffered = signal(false);
  off = false; // a person turned it off
  cost = 0; // smoothed time per frame
  before = null; // times of the frame before, and of the request for this one
  asked = null;
  next = 0;

  /** Off, and not offered, until enabled. */
  constructor(renderer, views, canvas) {
    this.renderer = renderer;
    this.views = views;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    renderer.beforeDraw.unshift((now) => this.#turn(now)); // before the controls read the camera's position
    for (const type of ["pointerdown", "wheel"])
      canvas.addEventListener(type, () => this.set(false), { capture: true, passive: true });
  }

  toggle() {
    this.off = this.on.value;
    this.set(!this.on.value);
  }

  /** Starts turning unless a person turned it off or prefers reduced motion. */
  enable() {
    this.isOffered.value = true;
    this.set(!this.off && !this.calm.matches);
  }

  set(on) {
    this.on.value = on && this.isOffered.value && this.views.name !== "photo";
    this.before = this.asked = null;
    if (this.on.value) this.renderer.requestDraw();
  }

  // Hidden pages get no animation frames, and the renderer skips canvases without size.
  #turn(now) {
    if (!this.on.value) return;
    const { camera, controls } = this.views;
    const elapsed = Math.min(0.5, (now - (this.before ?? now)) / 1000);
    camera.position
      .sub(controls.target)
      .applyAxisAngle(UP, (elapsed * 2 * Math.PI) / TURN_S)
      .add(controls.target);
    this.before = now;
    if (this.asked) this.cost += 0.3 * (now - this.asked - this.cost);
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
