// Where the photograph lies on the page under zoom and pan, and the masks over it. The browser draws the photograph.
import { Mask } from "/static/mask_canvas/mask.js";
import { Painting } from "/static/mask_canvas/painting.js";

export class Picture {
  constructor(canvas, photo) {
    Object.assign(this, { canvas, photo, zoom: 1, left: 0, top: 0, moved: false, masks: new Map(), scene: null, painting: new Painting(canvas) });
  }

  // What a person still edits is not overwritten: only masks whose runs differ are read anew.
  async open(scene) {
    const fresh = this.scene?.image !== scene.image;
    this.scene = scene;
    const masks = new Map();
    for (const { id, rle } of scene.segments) {
      const key = JSON.stringify(rle), known = this.masks.get(id);
      masks.set(id, known?.key === key ? known : { key, mask: Mask.decode(rle) });
    }
    this.masks = masks;
    if (!fresh) return;
    this.moved = false;
    Object.assign(this.photo, { src: scene.image, width: scene.width, height: scene.height });
    await this.photo.decode();
    this.fit();
  }

  mask(id) { return this.masks.get(id)?.mask; }
  // Canvas pixels to one of the page; photograph pixels to one of the page.
  get ratio() { return this.canvas.width / (this.canvas.getBoundingClientRect().width || this.canvas.width); }
  get unit() { return this.ratio / this.zoom; }

  fit() {
    const { clientWidth, clientHeight } = this.canvas.parentElement;
    if (!this.scene || !clientWidth || !clientHeight) return; // on a tab that is not shown
    const ratio = Math.min(3, window.devicePixelRatio || 1), width = Math.round(clientWidth * ratio), height = Math.round(clientHeight * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.whole = Math.min(width / this.scene.width, height / this.scene.height);
    if (this.moved) return;
    this.zoom = this.whole;
    this.left = (width - this.scene.width * this.zoom) / 2;
    this.top = (height - this.scene.height * this.zoom) / 2;
  }

  // Pixels of the photograph at a place of the page.
  at({ clientX, clientY }) {
    const box = this.canvas.getBoundingClientRect(), ratio = this.ratio;
    return [((clientX - box.left) * ratio - this.left) / this.zoom, ((clientY - box.top) * ratio - this.top) / this.zoom];
  }

  zoomAt(place, factor) {
    const [x, y] = this.at(place), zoom = Math.min(Math.max(this.whole * 16, 8), Math.max(this.whole, this.zoom * factor));
    this.left += x * (this.zoom - zoom); this.top += y * (this.zoom - zoom);
    this.zoom = zoom;
    this.moved = zoom > this.whole;
    if (!this.moved) this.fit();
  }

  zoomBy(factor) {
    const box = this.canvas.getBoundingClientRect();
    this.zoomAt({ clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 }, factor);
  }

  pan(dx, dy) {
    this.left += dx * this.ratio; this.top += dy * this.ratio;
    this.moved = true;
  }

  // Id of the segment at a pixel, 0 where there is none; the smallest of those that lie over one another.
  hit([x, y]) {
    let found = 0, least = Infinity;
    for (const [id, { mask }] of this.masks)
      if (mask.at(x, y) && mask.bits.length < least) { found = id; least = mask.bits.length; }
    return found;
  }

  inside([x, y]) { return x >= 0 && y >= 0 && x < this.scene.width && y < this.scene.height; }

  draw(shown) {
    const { zoom, left, top, ratio } = this, lies = `translate(${left / ratio}px, ${top / ratio}px) scale(${zoom / ratio})`;
    if (this.photo.style.transform !== lies) this.photo.style.transform = lies;
    this.photo.classList.toggle("sharp", zoom >= 3);
    this.painting.draw(shown, { zoom, left, top, ratio, unit: ratio / zoom, scene: this.scene, masks: this.masks });
  }

  // A small picture of the photograph around a mask, made aside; gives its address.
  async thumbnail(mask, colour, around, width = 224, height = 168) {
    const small = new OffscreenCanvas(width, height), pen = small.getContext("2d", { willReadFrequently: true });
    const pad = 0.2 * Math.max(around.width, around.height) + 8, zoom = Math.min(width / (around.width + 2 * pad), height / (around.height + 2 * pad));
    pen.setTransform(zoom, 0, 0, zoom, width / 2 - (around.left + around.width / 2) * zoom, height / 2 - (around.top + around.height / 2) * zoom);
    pen.drawImage(this.photo, 0, 0, this.scene.width, this.scene.height);
    mask.paint(pen, colour, 0.45, 1, 2.4, 2 / zoom);
    return URL.createObjectURL(await small.convertToBlob({ type: "image/jpeg", quality: 0.85 }));
  }
}
