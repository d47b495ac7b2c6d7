// How twin and photograph are compared.
import { signal } from "../studio/view.js";
import { EdgeOverlay } from "./edge_overlay.js";

export class PhotoComparison {
  mode = signal("blend");
  blend = signal("60"); // per cent of the twin
  isBlinking = signal(false);

  constructor(viewer) {
    this.viewer = viewer;
    this.edges = new EdgeOverlay();
    viewer.views.onCompare = (mode) => this.update(mode);
    viewer.views.onBlink = (on) => (this.isBlinking.value = on);
  }

  update(mode = this.viewer.views.compare) {
    const { viewer } = this,
      { views, renderer, difference } = viewer,
      isPhoto = views.name === "photo" && viewer.header.value?.picture;
    this.mode.value = mode;
    if (isPhoto && mode === "depth" && !difference.hasAttribute("src")) {
      difference.onload = () => views.resize(...renderer.size);
      difference.src = `${encodeURIComponent(viewer.loading.token)}/difference.png`;
    }
    renderer.instead = views.lines
      ? (gl, scene, camera) => this.edges.draw(gl, scene, camera, viewer.twin, (name) => viewer.colourOf(name))
      : null;
    renderer.requestDraw();
  }

  setBlend(percent) {
    this.blend.value = percent;
    this.viewer.views.setBlend(percent / 100);
  }

  blink() {
    const { views } = this.viewer;
    if (views.name === "photo") views.blink();
  }

  toggle(mode) {
    const { views, adjust } = this.viewer;
    if (views.name === "photo" && (mode !== "depth" || adjust.allowed)) views.setCompare(mode);
  }
}
