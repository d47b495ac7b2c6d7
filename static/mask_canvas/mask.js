// A binary mask, one byte per pixel, stored for its bounding box only so that 4k pictures stay cheap.
export class Mask {
  edgeCache = null;
  outlineCache = null;
  fillCache = null;
  centreCache = null;

  constructor(width, height, box, bits) {
    this.width = width;
    this.height = height;
    this.box = box;
    this.bits = bits;
  }

  static empty(width, height) {
    return new Mask(width, height, { left: 0, top: 0, width: 0, height: 0 }, new Uint8Array(0));
  }

  // Decodes COCO's uncompressed run lengths: column by column, zeros first.
  static decode({ size: [height, width], counts }) {
    let left = width,
      right = 0,
      top = height,
      bottom = 0;
    runs(counts, (first, last) => {
      const a = Math.floor(first / height),
        b = Math.floor(last / height);
      left = Math.min(left, a);
      right = Math.max(right, b + 1);
      top = a === b ? Math.min(top, first % height) : 0;
      bottom = a === b ? Math.max(bottom, (last % height) + 1) : height;
    });
    if (right <= left) return Mask.empty(width, height);
    const box = { left, top, width: right - left, height: bottom - top },
      bits = new Uint8Array(box.width * box.height);
    runs(counts, (first, last) => {
      for (let k = first; k <= last; k++) bits[((k % height) - top) * box.width + Math.floor(k / height) - left] = 1;
    });
    return new Mask(width, height, box, bits);
  }

  encode() {
    const { left, top, width, height } = this.box,
      counts = [];
    let length = 0,
      last = 0;
    const push = (value, n) => {
      if (value === last) length += n;
      else if (n) {
        counts.push(length);
        length = n;
        last = value;
      }
    };
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
    x = Math.floor(x) - left;
    y = Math.floor(y) - top;
    return x >= 0 && y >= 0 && x < width && y < height ? this.bits[y * width + x] : 0;
  }

  get area() {
    return this.bits.reduce((sum, bit) => sum + bit, 0);
  }

  // The number of pixels that both masks have.
  overlap(other) {
    const [a, b] = [this.box, other.box],
      right = Math.min(a.left + a.width, b.left + b.width),
      bottom = Math.min(a.top + a.height, b.top + b.height);
    let count = 0;
    for (let y = Math.max(a.top, b.top); y < bottom; y++)
      for (let x = Math.max(a.left, b.left); x < right; x++)
        count += this.bits[(y - a.top) * a.width + x - a.left] & other.bits[(y - b.top) * b.width + x - b.left];
    return count;
  }

  // Returns a copy whose box also covers the given one.
  expandedTo(left, top, right, bottom) {
    const current = this.box,
      isEmpty = !current.width;
    left = Math.max(0, Math.min(left, isEmpty ? left : current.left));
    top = Math.max(0, Math.min(top, isEmpty ? top : current.top));
    right = Math.min(this.width, Math.max(right, isEmpty ? right : current.left + current.width));
    bottom = Math.min(this.height, Math.max(bottom, isEmpty ? bottom : current.top + current.height));
    const box = { left, top, width: Math.max(0, right - left), height: Math.max(0, bottom - top) };
    const bits = new Uint8Array(box.width * box.height);
    for (let y = 0; y < current.height; y++)
      bits.set(
        this.bits.subarray(y * current.width, (y + 1) * current.width),
        (y + current.top - top) * box.width + current.left - left,
      );
    return new Mask(this.width, this.height, box, bits);
  }

  // Returns a copy with a brush stroke from one point to another: value 1 paints, 0 erases.
  withStroke([x0, y0], [x1, y1], radius, value) {
    const margin = Math.ceil(radius) + 1;
    const ends = [
      Math.min(x0, x1) - margin,
      Math.min(y0, y1) - margin,
      Math.max(x0, x1) + margin,
      Math.max(y0, y1) + margin,
    ].map(Math.floor);
    const result = this.expandedTo(...(value ? ends : [this.box.left, this.box.top, this.box.left, this.box.top])),
      { left, top, width, height } = result.box;
    const dx = x1 - x0,
      dy = y1 - y0,
      length = dx * dx + dy * dy || 1;
    for (let y = Math.max(0, ends[1] - top); y < Math.min(height, ends[3] - top); y++)
      for (let x = Math.max(0, ends[0] - left); x < Math.min(width, ends[2] - left); x++) {
        const px = x + left + 0.5 - x0,
          py = y + top + 0.5 - y0,
          t = Math.min(1, Math.max(0, (px * dx + py * dy) / length));
        if ((px - t * dx) ** 2 + (py - t * dy) ** 2 <= radius * radius) result.bits[y * width + x] = value;
      }
    return result;
  }

  // Returns the parts on either side of a line, the larger one first.
  splitAlong([x0, y0], [x1, y1]) {
    const sides = [0, 1].map(() => this.bits.slice()),
      { left, top, width } = this.box;
    for (let i = 0; i < this.bits.length; i++) {
      const x = (i % width) + left + 0.5,
        y = Math.floor(i / width) + top + 0.5;
      sides[(x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) > 0 ? 0 : 1][i] = 0;
    }
    return sides.map((bits) => new Mask(this.width, this.height, this.box, bits)).sort((a, b) => b.area - a.area);
  }

  // Its border pixels, as x, y pairs in its box.
  get edge() {
    if (this.edgeCache) return this.edgeCache;
    const { width, height } = this.box,
      bit = (x, y) => x >= 0 && y >= 0 && x < width && y < height && this.bits[y * width + x];
    this.edgeCache = [];
    for (let y = 0, i = 0; y < height; y++)
      for (let x = 0; x < width; x++, i++)
        if (this.bits[i] && !(bit(x - 1, y) && bit(x + 1, y) && bit(x, y - 1) && bit(x, y + 1)))
          this.edgeCache.push(x, y);
    return this.edgeCache;
  }

  // Its outline as a picture that starts `pad` pixels before its box: 2 * margin + 1 pixels wide, with a rim in the
  // second colour.
  outlinePicture(colour, margin, rim, around) {
    const key = `${colour} ${margin} ${rim} ${around}`,
      pad = margin + rim;
    if (this.outlineCache?.key === key) return this.outlineCache;
    const width = this.box.width + 2 * pad,
      height = this.box.height + 2 * pad,
      data = new ImageData(width, height),
      pixels = new Uint32Array(data.data.buffer),
      edge = this.edge;
    for (const [r, word] of [
      [pad, pixelValue(around)],
      [margin, pixelValue(colour)],
    ])
      for (let i = 0; i < edge.length; i += 2)
        for (let y = edge[i + 1] + pad - r; y <= edge[i + 1] + pad + r; y++)
          pixels.fill(word, y * width + edge[i] + pad - r, y * width + edge[i] + pad + r + 1);
    const picture = new OffscreenCanvas(width, height);
    picture.getContext("2d", { willReadFrequently: true }).putImageData(data, 0, 0);
    this.outlineCache = { key, pad, picture };
    return this.outlineCache;
  }

  // Its area as a picture of one colour that starts at box.left, box.top; null if empty.
  fillPicture(colour) {
    if (this.fillCache?.colour === colour) return this.fillCache.picture;
    const { width, height } = this.box;
    if (!width || !height) return null;
    const data = new ImageData(width, height),
      pixels = new Uint32Array(data.data.buffer),
      word = pixelValue(colour);
    for (let i = 0; i < pixels.length; i++) if (this.bits[i]) pixels[i] = word;
    const picture = new OffscreenCanvas(width, height);
    picture.getContext("2d", { willReadFrequently: true }).putImageData(data, 0, 0);
    this.fillCache = { colour, picture };
    return picture;
  }

  // Draws it in photograph pixels: fill, rim, outline. `unit` is the size of a page pixel in photograph pixels.
  paint(context, colour, fillOpacity, lineOpacity, lineWidth, unit) {
    const { left, top, width } = this.box;
    if (!width) return;
    if (fillOpacity) {
      context.globalAlpha = fillOpacity;
      context.drawImage(this.fillPicture(colour), left, top);
    }
    // Rounded to a power of two, so that nearby zoom levels share one cached outline.
    const pixel = 2 ** Math.round(Math.log2(unit)),
      margin = Math.max(0, Math.round((lineWidth * pixel - 1) / 2));
    const line = this.outlinePicture(
      colour,
      margin,
      Math.max(1, Math.round(pixel)),
      lineWidth > 2 || isDark(colour) ? "#ffffff" : "#20262d",
    );
    context.globalAlpha = lineOpacity;
    context.drawImage(line.picture, left - line.pad, top - line.pad);
    context.globalAlpha = 1;
  }

  // The mask pixel nearest to its centroid. The centroid itself may lie outside, as for a bowl.
  get centre() {
    if (this.centreCache) return this.centreCache;
    const { left, top, width } = this.box;
    let n = 0,
      sx = 0,
      sy = 0;
    this.bits.forEach((bit, i) => {
      if (bit) {
        n++;
        sx += i % width;
        sy += Math.floor(i / width);
      }
    });
    const x = sx / (n || 1),
      y = sy / (n || 1);
    let best = [x, y],
      least = Infinity;
    this.bits.forEach((bit, i) => {
      if (!bit) return;
      const distance = ((i % width) - x) ** 2 + (Math.floor(i / width) - y) ** 2;
      if (distance < least) {
        least = distance;
        best = [i % width, Math.floor(i / width)];
      }
    });
    this.centreCache = [best[0] + left, best[1] + top];
    return this.centreCache;
  }
}

// Whether a colour "#rrggbb" is so dark that a dark rim would not show it on dark wood.
function isDark(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b < 80;
}

// Converts "#rrggbb" to an opaque pixel value.
function pixelValue(colour) {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

function runs(counts, each) {
  let at = 0;
  counts.forEach((count, i) => {
    if (i % 2 && count) each(at, at + count - 1);
    at += count;
  });
}
