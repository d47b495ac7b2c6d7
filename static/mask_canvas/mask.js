// A mask of a picture: one byte a pixel, kept for the smallest box around it, so that 4k pictures stay light.
export class Mask {
  constructor(width, height, box, bits) {
    Object.assign(this, { width, height, box, bits });
  }

  static empty(width, height) {
    return new Mask(width, height, { left: 0, top: 0, width: 0, height: 0 }, new Uint8Array(0));
  }

  // From COCO's uncompressed run lengths: column by column, zeros first.
  static decode({ size: [height, width], counts }) {
    let left = width, right = 0, top = height, bottom = 0;
    runs(counts, (first, last) => {
      const a = Math.floor(first / height), b = Math.floor(last / height);
      left = Math.min(left, a); right = Math.max(right, b + 1);
      top = a === b ? Math.min(top, first % height) : 0; bottom = a === b ? Math.max(bottom, last % height + 1) : height;
    });
    if (right <= left) return Mask.empty(width, height);
    const box = { left, top, width: right - left, height: bottom - top }, bits = new Uint8Array(box.width * box.height);
    runs(counts, (first, last) => {
      for (let k = first; k <= last; k++) bits[(k % height - top) * box.width + Math.floor(k / height) - left] = 1;
    });
    return new Mask(width, height, box, bits);
  }

  encode() {
    const { left, top, width, height } = this.box, counts = [];
    let length = 0, last = 0;
    const push = (value, n) => { if (value === last) length += n; else if (n) { counts.push(length); length = n; last = value; } };
    push(0, left * this.height);
    for (let x = 0; x < width; x++) {
      push(0, top);
      for (let y = 0; y < height; y++) push(this.bits[y * width + x], 1);
      push(0, this.height - top - height);
    }
    push(0, (this.width - left - width) * this.height);
    counts.push(length);
    return { size: [this.height, this.width], counts };
  }

  at(x, y) {
    const { left, top, width, height } = this.box;
    x = Math.floor(x) - left; y = Math.floor(y) - top;
    return x >= 0 && y >= 0 && x < width && y < height ? this.bits[y * width + x] : 0;
  }

  get area() { return this.bits.reduce((sum, bit) => sum + bit, 0); }

  // A copy in the smallest box that holds it and the given one too.
  grown(left, top, right, bottom) {
    const old = this.box, none = !old.width;
    left = Math.max(0, Math.min(left, none ? left : old.left)); top = Math.max(0, Math.min(top, none ? top : old.top));
    right = Math.min(this.width, Math.max(right, none ? right : old.left + old.width));
    bottom = Math.min(this.height, Math.max(bottom, none ? bottom : old.top + old.height));
    const box = { left, top, width: Math.max(0, right - left), height: Math.max(0, bottom - top) };
    const bits = new Uint8Array(box.width * box.height);
    for (let y = 0; y < old.height; y++)
      bits.set(this.bits.subarray(y * old.width, (y + 1) * old.width), (y + old.top - top) * box.width + old.left - left);
    return new Mask(this.width, this.height, box, bits);
  }

  // A copy with a round brush drawn from one point to another: value 1 paints, 0 erases.
  stroked([x0, y0], [x1, y1], radius, value) {
    const reach = Math.ceil(radius) + 1;
    const ends = [Math.min(x0, x1) - reach, Math.min(y0, y1) - reach, Math.max(x0, x1) + reach, Math.max(y0, y1) + reach].map(Math.floor);
    const painted = this.grown(...(value ? ends : [this.box.left, this.box.top, this.box.left, this.box.top])), { left, top, width, height } = painted.box;
    const dx = x1 - x0, dy = y1 - y0, length = dx * dx + dy * dy || 1;
    for (let y = Math.max(0, ends[1] - top); y < Math.min(height, ends[3] - top); y++)
      for (let x = Math.max(0, ends[0] - left); x < Math.min(width, ends[2] - left); x++) {
        const px = x + left + 0.5 - x0, py = y + top + 0.5 - y0, t = Math.min(1, Math.max(0, (px * dx + py * dy) / length));
        if ((px - t * dx) ** 2 + (py - t * dy) ** 2 <= radius * radius) painted.bits[y * width + x] = value;
      }
    return painted;
  }

  // The parts on either side of a line; the larger one first.
  cut([x0, y0], [x1, y1]) {
    const sides = [0, 1].map(() => this.bits.slice()), { left, top, width } = this.box;
    for (let i = 0; i < this.bits.length; i++) {
      const x = i % width + left + 0.5, y = Math.floor(i / width) + top + 0.5;
      sides[(x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) > 0 ? 0 : 1][i] = 0;
    }
    return sides.map((bits) => new Mask(this.width, this.height, this.box, bits)).sort((a, b) => b.area - a.area);
  }

  // Its outermost pixels, as places in its box.
  get edge() {
    if (this.rim) return this.rim;
    const { width, height } = this.box, bit = (x, y) => x >= 0 && y >= 0 && x < width && y < height && this.bits[y * width + x];
    this.rim = [];
    for (let y = 0, i = 0; y < height; y++)
      for (let x = 0; x < width; x++, i++) if (this.bits[i] && !(bit(x - 1, y) && bit(x + 1, y) && bit(x, y - 1) && bit(x, y + 1))) this.rim.push(x, y);
    return this.rim;
  }

  // Its outline as a picture, to be drawn `pad` before its box: so many pixels wide, in a rim of another colour.
  lined(colour, reach, rim, around) {
    const key = `${colour} ${reach} ${rim} ${around}`, pad = reach + rim;
    if (this.line?.key === key) return this.line;
    const width = this.box.width + 2 * pad, height = this.box.height + 2 * pad, data = new ImageData(width, height), ink = new Uint32Array(data.data.buffer), edge = this.edge;
    for (const [r, word] of [[pad, word32(around)], [reach, word32(colour)]])
      for (let i = 0; i < edge.length; i += 2)
        for (let y = edge[i + 1] + pad - r; y <= edge[i + 1] + pad + r; y++) ink.fill(word, y * width + edge[i] + pad - r, y * width + edge[i] + pad + r + 1);
    const picture = new OffscreenCanvas(width, height);
    picture.getContext("2d", { willReadFrequently: true }).putImageData(data, 0, 0);
    return (this.line = { key, pad, picture });
  }

  // Its area as a picture of one colour, to be drawn at box.left, box.top; null when empty.
  filled(colour) {
    if (this.fill?.colour === colour) return this.fill.picture;
    const { width, height } = this.box;
    if (!width || !height) return null;
    const data = new ImageData(width, height), ink = new Uint32Array(data.data.buffer), word = word32(colour);
    for (let i = 0; i < ink.length; i++) if (this.bits[i]) ink[i] = word;
    const picture = new OffscreenCanvas(width, height);
    picture.getContext("2d", { willReadFrequently: true }).putImageData(data, 0, 0);
    this.fill = { colour, picture };
    return picture;
  }

  // Draws it in pixels of the photograph: its colour over it, a light rim, its outline. `unit` is a page's pixel.
  paint(pen, colour, filled, lined, wide, unit) {
    const { left, top, width } = this.box;
    if (!width) return;
    if (filled) { pen.globalAlpha = filled; pen.drawImage(this.filled(colour), left, top); }
    // The same width for nearby zooms, so that it is drawn once.
    const pixel = 2 ** Math.round(Math.log2(unit)), reach = Math.max(0, Math.round((wide * pixel - 1) / 2));
    const line = this.lined(colour, reach, Math.max(1, Math.round(pixel)), wide > 2 ? "#ffffff" : "#20262d");
    pen.globalAlpha = lined;
    pen.drawImage(line.picture, left - line.pad, top - line.pad);
    pen.globalAlpha = 1;
  }

  // A pixel of its own near its middle: a bowl's middle of mass may lie outside what is seen of it.
  get centre() {
    if (this.middle) return this.middle;
    const { left, top, width } = this.box;
    let n = 0, sx = 0, sy = 0;
    this.bits.forEach((bit, i) => { if (bit) { n++; sx += i % width; sy += Math.floor(i / width); } });
    const x = sx / (n || 1), y = sy / (n || 1);
    let best = [x, y], least = Infinity;
    this.bits.forEach((bit, i) => {
      if (!bit) return;
      const distance = (i % width - x) ** 2 + (Math.floor(i / width) - y) ** 2;
      if (distance < least) { least = distance; best = [i % width, Math.floor(i / width)]; }
    });
    return (this.middle = [best[0] + left, best[1] + top]);
  }
}

// "#rrggbb" as a pixel.
function word32(colour) {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

function runs(counts, each) {
  let at = 0;
  counts.forEach((count, i) => { if (i % 2 && count) each(at, at + count - 1); at += count; });
}
