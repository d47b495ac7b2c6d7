// Draws the photograph, the masks and what is being edited, under zoom and pan.
import { Mask } from "/static/mask_canvas/mask.js";

export class Picture {
  constructor(canvas) {
    Object.assign(this, { canvas, zoom: 1, left: 0, top: 0, moved: false, masks: new Map(), image: new Image(), scene: null });
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
    this.image.src = scene.image;
    await this.image.decode();
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

  draw({ picked, hidden, edit, hover, preview, drag, line, brush, blink }) {
    const pen = this.canvas.getContext("2d"), unit = this.unit;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.setTransform(this.zoom, 0, 0, this.zoom, this.left, this.top);
    pen.imageSmoothingEnabled = this.zoom < 3;
    pen.drawImage(this.image, 0, 0, this.scene.width, this.scene.height);
    for (const segment of this.scene.segments) {
      if (edit?.mask && edit.id === segment.id) continue;
      const chosen = picked.has(segment.id), over = hover === segment.id, strength = segment.is_object ? 1 : 0.35;
      if (hidden && !chosen && !over) continue;
      this.area(pen, this.mask(segment.id), segment.colour, hidden ? 0 : (chosen || over ? 0.5 : 0.36) * strength, chosen || over ? 1 : strength, chosen ? 2.6 : over ? 2.2 : 1.2, unit);
    }
    if (preview) this.area(pen, preview, "#ffffff", 0.18, 0.9, 1.2, unit);
    if (edit?.mask) this.area(pen, edit.mask, edit.colour, hidden || blink ? 0 : 0.42, 1, 2.6, unit);
    this.labels(pen, picked, hidden, edit);
    for (const [x, y, label] of edit?.clicks ?? []) dot(pen, x, y, label, unit);
    const box = drag ?? edit?.box;
    if (box) this.dashed(pen, unit, () => pen.rect(Math.min(box[0], box[2]), Math.min(box[1], box[3]), Math.abs(box[2] - box[0]), Math.abs(box[3] - box[1])));
    if (line) this.dashed(pen, unit, () => { pen.moveTo(line[0], line[1]); pen.lineTo(line[2], line[3]); });
    if (brush) this.dashed(pen, unit, () => pen.arc(brush.at[0], brush.at[1], brush.radius, 0, 2 * Math.PI));
  }

  // One mask: its colour over it, a light rim, its outline.
  area(pen, mask, colour, filled, lined, wide, unit) {
    if (!mask?.box.width) return;
    if (filled) { pen.globalAlpha = filled; pen.drawImage(mask.filled(colour), mask.box.left, mask.box.top); }
    // In pixels of the photograph, the same for nearby zooms so that it is drawn once.
    const pixel = 2 ** Math.round(Math.log2(unit)), reach = Math.max(0, Math.round((wide * pixel - 1) / 2));
    const line = mask.lined(colour, reach, Math.max(1, Math.round(pixel)), wide > 2 ? "#ffffff" : "#20262d");
    pen.globalAlpha = lined;
    pen.drawImage(line.picture, mask.box.left - line.pad, mask.box.top - line.pad);
    pen.globalAlpha = 1;
  }

  dashed(pen, unit, trace) {
    for (const [colour, dash] of [["#000", []], ["#fff", [5 * unit, 4 * unit]]]) {
      pen.beginPath(); trace();
      pen.strokeStyle = colour; pen.lineWidth = 1.5 * unit; pen.setLineDash(dash); pen.stroke();
    }
    pen.setLineDash([]);
  }

  labels(pen, picked, hidden, edit) {
    const ratio = this.ratio, side = 18 * ratio;
    pen.save();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.font = `650 ${11.5 * ratio}px system-ui, sans-serif`;
    pen.textAlign = "center"; pen.textBaseline = "middle";
    for (const segment of this.scene.segments) {
      if (hidden && !picked.has(segment.id)) continue;
      const { centre } = edit?.mask && edit.id === segment.id ? edit.mask : this.mask(segment.id);
      const x = centre[0] * this.zoom + this.left, y = centre[1] * this.zoom + this.top;
      pen.globalAlpha = segment.is_object ? 1 : 0.55;
      pen.fillStyle = segment.colour; pen.strokeStyle = "#fff"; pen.lineWidth = 1.5 * ratio;
      pen.beginPath(); pen.roundRect(x - side / 2, y - side / 2, side, side, 5 * ratio); pen.fill(); pen.stroke();
      pen.lineWidth = 2.5 * ratio; pen.strokeStyle = "#000b"; pen.strokeText(segment.id, x, y); pen.fillStyle = "#fff"; pen.fillText(segment.id, x, y);
      if (!segment.review) continue;
      pen.fillStyle = "#9a5200"; pen.strokeStyle = "#fff"; pen.lineWidth = 1.5 * ratio;
      pen.beginPath(); pen.arc(x + side / 2, y - side / 2, 7 * ratio, 0, 2 * Math.PI); pen.fill(); pen.stroke();
      pen.fillStyle = "#fff"; pen.fillText("!", x + side / 2, y - side / 2);
    }
    pen.restore();
  }

  // A small picture of the photograph around a mask, as an address.
  thumbnail(mask, colour, around, width = 112, height = 84) {
    const small = document.createElement("canvas"), pen = small.getContext("2d");
    small.width = width * 2; small.height = height * 2;
    const pad = 0.2 * Math.max(around.width, around.height) + 8;
    const zoom = Math.min(small.width / (around.width + 2 * pad), small.height / (around.height + 2 * pad));
    pen.setTransform(zoom, 0, 0, zoom, small.width / 2 - (around.left + around.width / 2) * zoom, small.height / 2 - (around.top + around.height / 2) * zoom);
    pen.drawImage(this.image, 0, 0, this.scene.width, this.scene.height);
    this.area(pen, mask, colour, 0.45, 1, 2.4, 2 / zoom);
    return small.toDataURL("image/jpeg", 0.85);
  }
}

function dot(pen, x, y, label, unit) {
  pen.beginPath(); pen.arc(x, y, 6 * unit, 0, 2 * Math.PI);
  pen.fillStyle = label ? "#17724f" : "#ad2a1f"; pen.fill();
  pen.strokeStyle = "#fff"; pen.lineWidth = 1.8 * unit; pen.stroke();
  pen.beginPath(); pen.moveTo(x - 3 * unit, y); pen.lineTo(x + 3 * unit, y);
  if (label) { pen.moveTo(x, y - 3 * unit); pen.lineTo(x, y + 3 * unit); }
  pen.stroke();
}
