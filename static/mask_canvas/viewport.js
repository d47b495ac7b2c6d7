// Zoom and pan of the photograph, with the masks drawn over it. The browser draws the photograph itself.
import { Mask } from "/static/mask_canvas/mask.js";
import { MaskRenderer } from "/static/mask_canvas/renderer.js";

export class Viewport {
  zoom = 1;
  fitZoom = 1;
  left = 0;
  top = 0;
  moved = false;
  /** @type {Map<number, {key: string, mask: Mask}>} */
  masks = new Map();
  /** @type {any} */
  scene = null;

  /** @param {HTMLCanvasElement} canvas @param {HTMLImageElement} photo */
  show(canvas, photo) {
    this.canvas = canvas;
    this.photo = photo;
    this.renderer = new MaskRenderer(canvas);
  }

  // Decodes only masks whose run lengths changed.
  async open(scene) {
    const isNew = this.scene?.image !== scene.image;
    this.scene = scene;
    const masks = new Map();
    for (const { id, rle } of scene.segments) {
      const key = JSON.stringify(rle),
        cached = this.masks.get(id);
      masks.set(id, cached?.key === key ? cached : { key, mask: Mask.decode(rle) });
    }
    this.masks = masks;
    if (!isNew) return;
    this.moved = false;
    Object.assign(this.photo, { src: scene.image, width: scene.width, height: scene.height });
    await this.photo.decode().catch((error) => {
      if (this.scene.image === scene.image) throw error; // else another photograph has taken its place
    });
    this.fit();
  }

  mask(id) {
    return this.masks.get(id)?.mask;
  }
  // `ratio` is canvas pixels per page pixel, `unit` photograph pixels per page pixel.
  get ratio() {
    return this.canvas.width / (this.canvas.getBoundingClientRect().width || this.canvas.width);
  }
  get unit() {
    return this.ratio / this.zoom;
  }

  fit() {
    const { clientWidth, clientHeight } = this.canvas.parentElement;
    if (!this.scene || !clientWidth || !clientHeight) return; // on a hidden tab
    const ratio = Math.min(3, window.devicePixelRatio || 1),
      width = Math.round(clientWidth * ratio),
      height = Math.round(clientHeight * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.fitZoom = Math.min(width / this.scene.width, height / this.scene.height);
    if (this.moved) return;
    this.zoom = this.fitZoom;
    this.left = (width - this.scene.width * this.zoom) / 2;
    this.top = (height - this.scene.height * this.zoom) / 2;
  }

  /** The photograph pixel at a point of the page. @returns {[number, number]} */
  pixelAt({ clientX, clientY }) {
    const box = this.canvas.getBoundingClientRect(),
      ratio = this.ratio;
    return [
      ((clientX - box.left) * ratio - this.left) / this.zoom,
      ((clientY - box.top) * ratio - this.top) / this.zoom,
    ];
  }

  // Inverse of `pixelAt`.
  pagePoint([x, y]) {
    const box = this.canvas.getBoundingClientRect(),
      ratio = this.ratio;
    return {
      clientX: box.left + (x * this.zoom + this.left) / ratio,
      clientY: box.top + (y * this.zoom + this.top) / ratio,
    };
  }

  zoomAt(pagePoint, factor) {
    const [x, y] = this.pixelAt(pagePoint),
      zoom = Math.min(Math.max(this.fitZoom * 16, 8), Math.max(this.fitZoom, this.zoom * factor));
    this.left += x * (this.zoom - zoom);
    this.top += y * (this.zoom - zoom);
    this.zoom = zoom;
    this.moved = zoom > this.fitZoom;
    if (!this.moved) this.fit();
  }

  zoomBy(factor) {
    const box = this.canvas.getBoundingClientRect();
    this.zoomAt({ clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 }, factor);
  }

  pan(dx, dy) {
    this.left += dx * this.ratio;
    this.top += dy * this.ratio;
    this.moved = true;
  }

  // Id of the segment at a pixel, the smallest if several overlap; 0 if there is none.
  segmentAt([x, y]) {
    let smallestId = 0,
      smallestArea = Infinity;
    for (const [id, { mask }] of this.masks)
      if (mask.at(x, y) && mask.bits.length < smallestArea) {
        smallestId = id;
        smallestArea = mask.bits.length;
      }
    return smallestId;
  }

  contains([x, y]) {
    return x >= 0 && y >= 0 && x < this.scene.width && y < this.scene.height;
  }

  draw(shown) {
    const { zoom, left, top, ratio } = this,
      transform = `translate(${left / ratio}px, ${top / ratio}px) scale(${zoom / ratio})`;
    if (this.photo.style.transform !== transform) this.photo.style.transform = transform;
    this.photo.classList.toggle("sharp", zoom >= 3);
    this.renderer.draw(shown, { zoom, left, top, ratio, unit: ratio / zoom, scene: this.scene, masks: this.masks });
  }

  // Draws the photograph around a mask on a small canvas and returns its URL.
  async thumbnail(mask, colour, bounds, width = 224, height = 168) {
    const thumbnail = new OffscreenCanvas(width, height),
      context = thumbnail.getContext("2d", { willReadFrequently: true });
    const pad = 0.2 * Math.max(bounds.width, bounds.height) + 8,
      zoom = Math.min(width / (bounds.width + 2 * pad), height / (bounds.height + 2 * pad));
    context.setTransform(
      zoom,
      0,
      0,
      zoom,
      width / 2 - (bounds.left + bounds.width / 2) * zoom,
      height / 2 - (bounds.top + bounds.height / 2) * zoom,
    );
    context.drawImage(this.photo, 0, 0, this.scene.width, this.scene.height);
    mask.paint(context, colour, 0.45, 1, 2.4, 2 / zoom);
    return URL.createObjectURL(await thumbnail.convertToBlob({ type: "image/jpeg", quality: 0.85 }));
  }
}
