// Paints masks and what is being edited on the canvas. What stays while an object is edited is painted once, aside; a
// click then costs the rectangle it changes.
export class Painting {
  constructor(canvas) {
    Object.assign(this, { canvas, pen: canvas.getContext("2d"), rest: new OffscreenCanvas(1, 1), known: [], last: null });
  }

  // shown: {picked, hidden, edit, hover, preview, drag, line, brush}; view: {zoom, left, top, ratio, unit, scene, masks}.
  draw(shown, view) {
    const { canvas, pen, rest } = this, whole = [0, 0, canvas.width, canvas.height], edited = shown.edit?.mask ? shown.edit.id : -1;
    const known = [view.scene, view.zoom, view.left, view.top, ...whole, edited, shown.hidden, shown.hover, ...shown.picked];
    const same = known.length === this.known.length && known.every((one, i) => one === this.known[i]);
    if (!same) { this.known = known; this.others(shown, view, edited); }
    const now = bounds(shown, view), changed = same ? cut(joined(this.last, now), whole) : whole;
    this.last = now;
    if (!changed) return;
    const [x, y, width, height] = [changed[0], changed[1], changed[2] - changed[0], changed[3] - changed[1]];
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.save();
    pen.beginPath(); pen.rect(x, y, width, height); pen.clip();
    pen.clearRect(x, y, width, height);
    pen.drawImage(rest, x, y, width, height, x, y, width, height);
    this.edited(shown, view);
    pen.restore();
  }

  others({ picked, hidden, hover }, view, edited) {
    const { canvas, rest } = this;
    if (rest.width !== canvas.width || rest.height !== canvas.height) Object.assign(rest, { width: canvas.width, height: canvas.height });
    const pen = rest.getContext("2d"), seen = [];
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, rest.width, rest.height);
    lay(pen, view);
    for (const segment of view.scene.segments) {
      if (edited === segment.id) continue;
      const chosen = picked.has(segment.id), over = hover === segment.id, strength = segment.is_object ? 1 : 0.35, mask = view.masks.get(segment.id).mask;
      if (!hidden || chosen) seen.push([segment, mask]);
      if (hidden && !chosen && !over) continue;
      mask.paint(pen, segment.colour, hidden ? 0 : (chosen || over ? 0.5 : 0.36) * strength, chosen || over ? 1 : strength, chosen ? 2.6 : over ? 2.2 : 1.2, view.unit);
    }
    for (const [segment, mask] of seen) label(pen, segment, mask, view);
  }

  edited({ hidden, edit, preview, drag, line, brush }, view) {
    const { pen } = this, { unit } = view, segment = edit?.mask && view.scene.segments.find(({ id }) => id === edit.id);
    lay(pen, view);
    preview?.paint(pen, "#ffffff", 0.22, 0.95, 1.6, unit);
    edit?.mask?.paint(pen, edit.colour, hidden ? 0 : 0.42, 1, 2.6, unit);
    if (segment) label(pen, segment, edit.mask, view);
    for (const [x, y, sign] of edit?.clicks ?? []) dot(pen, x, y, sign, unit);
    const box = drag ?? edit?.box;
    if (box) dashed(pen, unit, () => pen.rect(Math.min(box[0], box[2]), Math.min(box[1], box[3]), Math.abs(box[2] - box[0]), Math.abs(box[3] - box[1])));
    if (line) dashed(pen, unit, () => { pen.moveTo(line[0], line[1]); pen.lineTo(line[2], line[3]); });
    if (brush) dashed(pen, unit, () => pen.arc(brush.at[0], brush.at[1], brush.radius, 0, 2 * Math.PI));
  }
}

function lay(pen, { zoom, left, top }) {
  pen.setTransform(zoom, 0, 0, zoom, left, top);
  pen.imageSmoothingEnabled = zoom < 3;
}

// The rectangle, in canvas pixels, that holds all of what is edited; null where there is nothing.
function bounds({ edit, preview, drag, line, brush }, { zoom, left, top, ratio }) {
  const places = [];
  for (const mask of [edit?.mask, preview]) if (mask?.box.width) places.push([mask.box.left, mask.box.top], [mask.box.left + mask.box.width, mask.box.top + mask.box.height]);
  for (const [x, y] of edit?.clicks ?? []) places.push([x, y]);
  for (const box of [drag, edit?.box, line]) if (box) places.push([box[0], box[1]], [box[2], box[3]]);
  if (brush) places.push([brush.at[0] - brush.radius, brush.at[1] - brush.radius], [brush.at[0] + brush.radius, brush.at[1] + brush.radius]);
  if (!places.length) return null;
  const xs = places.map(([x]) => x * zoom + left), ys = places.map(([, y]) => y * zoom + top), pad = 24 * ratio;
  return [Math.min(...xs) - pad, Math.min(...ys) - pad, Math.max(...xs) + pad, Math.max(...ys) + pad];
}

const joined = (a, b) => !a || !b ? a ?? b : [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])];

// Whole pixels of a rectangle that lie in another; null where there are none.
function cut(a, b) {
  if (!a) return null;
  const [x0, y0, x1, y1] = [Math.max(b[0], Math.floor(a[0])), Math.max(b[1], Math.floor(a[1])), Math.min(b[2], Math.ceil(a[2])), Math.min(b[3], Math.ceil(a[3]))];
  return x1 > x0 && y1 > y0 ? [x0, y0, x1, y1] : null;
}

function dashed(pen, unit, trace) {
  for (const [colour, dash] of [["#000", []], ["#fff", [5 * unit, 4 * unit]]]) {
    pen.beginPath(); trace();
    pen.strokeStyle = colour; pen.lineWidth = 1.5 * unit; pen.setLineDash(dash); pen.stroke();
  }
  pen.setLineDash([]);
}

function dot(pen, x, y, sign, unit) {
  pen.beginPath(); pen.arc(x, y, 6 * unit, 0, 2 * Math.PI);
  pen.fillStyle = sign ? "#17724f" : "#ad2a1f"; pen.fill();
  pen.strokeStyle = "#fff"; pen.lineWidth = 1.8 * unit; pen.stroke();
  pen.beginPath(); pen.moveTo(x - 3 * unit, y); pen.lineTo(x + 3 * unit, y);
  if (sign) { pen.moveTo(x, y - 3 * unit); pen.lineTo(x, y + 3 * unit); }
  pen.stroke();
}

// The object's number on its mask, and a mark where a person should look.
function label(pen, segment, mask, { zoom, left, top, ratio }) {
  const side = 18 * ratio, x = mask.centre[0] * zoom + left, y = mask.centre[1] * zoom + top;
  pen.save();
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.font = `650 ${11.5 * ratio}px system-ui, sans-serif`;
  pen.textAlign = "center"; pen.textBaseline = "middle";
  pen.globalAlpha = segment.is_object ? 1 : 0.55;
  pen.fillStyle = segment.colour; pen.strokeStyle = "#fff"; pen.lineWidth = 1.5 * ratio;
  pen.beginPath(); pen.roundRect(x - side / 2, y - side / 2, side, side, 5 * ratio); pen.fill(); pen.stroke();
  pen.lineWidth = 2.5 * ratio; pen.strokeStyle = "#000b"; pen.strokeText(segment.id, x, y); pen.fillStyle = "#fff"; pen.fillText(segment.id, x, y);
  if (segment.review) {
    pen.fillStyle = "#9a5200"; pen.strokeStyle = "#fff"; pen.lineWidth = 1.5 * ratio;
    pen.beginPath(); pen.arc(x + side / 2, y - side / 2, 7 * ratio, 0, 2 * Math.PI); pen.fill(); pen.stroke();
    pen.fillStyle = "#fff"; pen.fillText("!", x + side / 2, y - side / 2);
  }
  pen.restore();
}
