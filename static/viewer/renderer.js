// Canvas, lights and shadows. Draws only when something changed.
import * as THREE from "three";

const SLOW_FRAME_MS = 80; // frames slower than this reduce quality
const SHOWN_MS = 60; // after a canvas of the same size is back on the screen: first the page around it is drawn
const BACKDROP = "#cdd2d8"; // the floor fades into it; the page's #viewport continues it
const FADE_M = [1.5, 6];
const DEFAULT_LIGHT = [-0.45, -0.35, 1.1]; // towards it, in a model that has no main light

export class Renderer {
  camera = null;
  beforeDraw = []; // steps, each called with the time; one that returns true has another frame drawn
  instead = null; // draws in place of the renderer
  afterDraw = null;
  onDrawn = null;
  onResize = null;
  pending = 0;
  drawn = 0;
  slow = 0;

  constructor(canvas, element) {
    this.element = element;
    this.renderer = new THREE.WebGLRenderer({
      canvas,
      alpha: true,
      antialias: true,
      stencil: true,
      powerPreference: "high-performance",
    });
    this.renderer.setClearColor(0, 0);
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 1.5));
    this.renderer.shadowMap.enabled = false; // until the first frame is drawn, so that half the shaders need compiling
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.renderer.shadowMap.autoUpdate = false;
    this.scene = new THREE.Scene();
    this.scene.fog = new THREE.Fog(BACKDROP, ...FADE_M);
    this.sun = new THREE.DirectionalLight("#fff6ea", 1.9);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(1024, 1024);
    this.sun.shadow.bias = -0.0003;
    const sky = new THREE.HemisphereLight("#f4f7ff", "#a29b93", 2.0);
    sky.position.set(0, 0, 1);
    this.scene.add(sky, this.sun, this.sun.target);
    new ResizeObserver(() => this.resize()).observe(element);
  }

  get size() {
    return [this.element.clientWidth, this.element.clientHeight];
  }

  /** Places the light in a direction, [x, y, z] towards it, so that its shadows cover the sphere. */
  illuminate({ center, radius }, towards) {
    const reach = Math.max(radius * 1.6, 0.25);
    const direction = new THREE.Vector3(...(towards ?? DEFAULT_LIGHT)).normalize();
    this.sun.position.copy(center).add(direction.multiplyScalar(5 * reach));
    this.sun.target.position.copy(center);
    Object.assign(this.sun.shadow.camera, {
      left: -reach,
      right: reach,
      bottom: -reach,
      top: reach,
      near: 0.1,
      far: 10 * reach,
    });
    this.sun.shadow.camera.updateProjectionMatrix();
  }

  castShadows(on) {
    this.renderer.shadowMap.enabled = on;
    this.scene.traverse((/** @type {any} */ node) => {
      if (node.material) node.material.needsUpdate = true;
    });
    this.requestDraw(true);
  }

  resize() {
    const [width, height] = this.size;
    if (!width || !height) return;
    const known = this.renderer.getSize(new THREE.Vector2());
    if (known.x === width && known.y === height) {
      setTimeout(() => {
        this.onResize?.(width, height); // of a twin that was loaded meanwhile
        this.requestDraw();
      }, SHOWN_MS);
      return;
    }
    this.renderer.setSize(width, height, false);
    this.onResize?.(width, height);
    this.requestDraw();
  }

  /** Requests a redraw; `moved` also updates shadows. */
  requestDraw(moved = false) {
    if (moved) this.renderer.shadowMap.needsUpdate = true;
    this.pending ||= requestAnimationFrame((now) => this.#draw(now));
  }

  #draw(now) {
    this.pending = 0;
    if (!this.camera || !this.size[0]) return;
    const needsAnother = this.beforeDraw.map((step) => step(now)).some(Boolean);
    if (this.instead) this.instead(this.renderer, this.scene, this.camera);
    else this.renderer.render(this.scene, this.camera);
    this.afterDraw?.(this.renderer, this.scene);
    this.#adaptQuality(now);
    this.onDrawn?.();
    if (needsAnother) this.requestDraw();
  }

  #adaptQuality(now) {
    const duration = now - this.drawn;
    this.drawn = now;
    this.slow = duration > SLOW_FRAME_MS && duration < 1000 ? this.slow + 1 : Math.max(0, this.slow - 1);
    if (this.slow < 8) return;
    this.slow = 0;
    if (this.renderer.shadowMap.enabled) this.castShadows(false);
    else if (this.renderer.getPixelRatio() > 1) this.renderer.setPixelRatio(1);
  }
}
