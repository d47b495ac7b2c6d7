// Draws the photograph, the masks and what is being edited, under zoom and pan.
import { decode } from "/static/studio/runlength.js";

export class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.zoom = 1; this.left = 0; this.top = 0;
    this.layers = new Map();
    this.image = new Image();
    this.scene = null;
  }

  async open(scene) {
    const fresh = this.scene?.image !== scene.image;
    this.scene = scene;
    const kept = new Set();
    for (const segment of scene.segments) {
      const key = `${segment.colour} ${JSON.stringify(segment.rle)}`;
      if (this.layers.get(segment.id)?.key !== key)
        this.layers.set(segment.id, { key, ...paint(decode(segment.rle), scene.width, scene.height, segment.colour) });
      kept.add(segment.id);
    }
    for (const id of this.layers.keys()) if (!kept.has(id)) this.layers.delete(id);
    if (fresh) {
      this.image.src = scene.image;
      await this.image.decode();
      this.fit();
    }
  }

  fit() {
    const { clientWidth, clientHeight } = this.canvas.parentElement;
    if (!this.scene || !clientWidth || !clientHeight) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    this.canvas.width = clientWidth * ratio; this.canvas.height = clientHeight * ratio;
    this.whole = Math.min(this.canvas.width / this.scene.width, this.canvas.height / this.scene.height);
    if (!this.moved) {
      this.zoom = this.whole;
      this.left = (this.canvas.width - this.scene.width * this.zoom) / 2;
      this.top = (this.canvas.height - this.scene.height * this.zoom) / 2;
    }
  }

  // Pixels of the photograph under the pointer.
  at(event) {
    const box = this.canvas.getBoundingClientRect(), ratio = this.canvas.width / box.width;
    return [((event.clientX - box.left) * ratio - this.left) / this.zoom, ((event.clientY - box.top) * ratio - this.top) / this.zoom];
  }

  zoomAt(event, factor) {
    const [x, y] = this.at(event), zoom = Math.min(this.whole * 16, Math.max(this.whole, this.zoom * factor));
    this.left += x * (this.zoom - zoom); this.top += y * (this.zoom - zoom);
    this.zoom = zoom;
    this.moved = zoom > this.whole;
    if (!this.moved) this.fit();
  }

  pan(dx, dy) {
    const ratio = this.canvas.width / this.canvas.getBoundingClientRect().width;
    this.left += dx * ratio; this.top += dy * ratio;
    this.moved = true;
  }

  // Id of the segment at a pixel, 0 where there is none.
  hit([x, y]) {
    const i = Math.floor(y) * this.scene.width + Math.floor(x);
    for (const [id, layer] of this.layers) if (layer.mask[i]) return id;
    return 0;
  }

  inside([x, y]) {
    return x >= 0 && y >= 0 && x < this.scene.width && y < this.scene.height;
  }

  draw({ picked, hidden, edit, hover, drag }) {
    const pen = this.canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.setTransform(this.zoom, 0, 0, this.zoom, this.left, this.top);
    pen.imageSmoothingEnabled = this.zoom < 3;
    pen.drawImage(this.image, 0, 0);
    for (const segment of this.scene.segments) {
      if (edit?.mask && edit.id === segment.id) continue;
      const layer = this.layers.get(segment.id), chosen = picked.has(segment.id);
      if (!hidden) {
        pen.globalAlpha = segment.is_object ? (chosen || hover === segment.id ? 0.62 : 0.42) : 0.12;
        pen.drawImage(layer.fill, 0, 0);
      }
      pen.globalAlpha = hidden && !chosen ? 0 : segment.is_object || chosen ? 1 : 0.35;
      pen.drawImage(chosen ? layer.thick : layer.line, 0, 0);
    }
    pen.globalAlpha = 1;
    if (edit?.mask) { pen.globalAlpha = 0.5; pen.drawImage(edit.layer.fill, 0, 0); pen.globalAlpha = 1; pen.drawImage(edit.layer.thick, 0, 0); }
    this.labels(pen, picked, hidden, edit);
    const unit = (this.canvas.width / this.canvas.getBoundingClientRect().width) / this.zoom;
    for (const [x, y, label] of edit?.clicks ?? []) dot(pen, x, y, label, unit);
    const box = drag ?? edit?.box;
    if (box) {
      for (const [colour, dash] of [["#000", []], ["#fff", [5 * unit, 4 * unit]]]) {
        pen.strokeStyle = colour; pen.lineWidth = 1.5 * unit; pen.setLineDash(dash);
        pen.strokeRect(Math.min(box[0], box[2]), Math.min(box[1], box[3]), Math.abs(box[2] - box[0]), Math.abs(box[3] - box[1]));
      }
      pen.setLineDash([]);
    }
  }

  labels(pen, picked, hidden, edit) {
    pen.setTransform(1, 0, 0, 1, 0, 0);
    const ratio = this.canvas.width / this.canvas.getBoundingClientRect().width;
    pen.font = `650 ${11.5 * ratio}px system-ui, sans-serif`;
    pen.textAlign = "center"; pen.textBaseline = "middle";
    for (const segment of this.scene.segments) {
      if (hidden && !picked.has(segment.id)) continue;
      const { centre } = edit?.mask && edit.id === segment.id ? edit.layer : this.layers.get(segment.id);
      const x = centre[0] * this.zoom + this.left, y = centre[1] * this.zoom + this.top, side = 18 * ratio;
      pen.globalAlpha = segment.is_object ? 1 : 0.55;
      pen.fillStyle = segment.colour; pen.strokeStyle = "#fff"; pen.lineWidth = 1.5 * ratio;
      pen.beginPath(); pen.roundRect(x - side / 2, y - side / 2, side, side, 5 * ratio); pen.fill(); pen.stroke();
      pen.lineWidth = 2.5 * ratio; pen.strokeStyle = "#000b"; pen.strokeText(segment.id, x, y); pen.fillStyle = "#fff"; pen.fillText(segment.id, x, y);
    }
    pen.globalAlpha = 1;
    pen.setTransform(this.zoom, 0, 0, this.zoom, this.left, this.top);
  }
}

// One mask as three pictures: its area, its outline, a thick outline with a light rim.
export function paint(mask, width, height, colour) {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  const area = new ImageData(width, height), line = new ImageData(width, height), thick = new ImageData(width, height);
  let n = 0, sx = 0, sy = 0;
  const on = (x, y) => x >= 0 && y >= 0 && x < width && y < height && mask[y * width + x];
  for (let y = 0, i = 0; y < height; y++)
    for (let x = 0; x < width; x++, i++) {
      if (!mask[i]) continue;
      n++; sx += x; sy += y;
      area.data.set([r, g, b, 255], i * 4);
      if (!(on(x - 1, y) && on(x + 1, y) && on(x, y - 1) && on(x, y + 1))) {
        line.data.set([r, g, b, 255], i * 4);
        for (let dy = -2; dy <= 2; dy++)
          for (let dx = -2; dx <= 2; dx++) {
            if (x + dx < 0 || y + dy < 0 || x + dx >= width || y + dy >= height) continue;
            const k = ((y + dy) * width + x + dx) * 4;
            thick.data.set(on(x + dx, y + dy) ? [r, g, b, 255] : [255, 255, 255, 235], k);
          }
      }
    }
  const picture = (data) => { const c = new OffscreenCanvas(width, height); c.getContext("2d").putImageData(data, 0, 0); return c; };
  return { mask, centre: nearest(mask, width, height, sx / n, sy / n), fill: picture(area), line: picture(line), thick: picture(thick) };
}

// The middle of the mask's own pixels: a bowl's middle of mass may lie outside what is seen of it.
function nearest(mask, width, height, x, y) {
  if (mask[Math.round(y) * width + Math.round(x)]) return [x, y];
  let best = [x || 0, y || 0], least = Infinity;
  for (let i = 0; i < mask.length; i += 3)
    if (mask[i]) {
      const distance = (i % width - x) ** 2 + (Math.floor(i / width) - y) ** 2;
      if (distance < least) { least = distance; best = [i % width, Math.floor(i / width)]; }
    }
  return best;
}

function dot(pen, x, y, label, unit) {
  pen.beginPath(); pen.arc(x, y, 6 * unit, 0, 2 * Math.PI);
  pen.fillStyle = label ? "#17724f" : "#ad2a1f"; pen.fill();
  pen.strokeStyle = "#fff"; pen.lineWidth = 1.8 * unit; pen.stroke();
  pen.beginPath(); pen.moveTo(x - 3 * unit, y); pen.lineTo(x + 3 * unit, y);
  if (label) { pen.moveTo(x, y - 3 * unit); pen.lineTo(x, y + 3 * unit); }
  pen.stroke();
}
