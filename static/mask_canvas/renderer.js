// Draws masks and the current edit. Masks that do not change during an edit are drawn once on a background canvas, so
// that a click redraws only the rectangle it changes.
const LABEL_SIDE = 18; // in pixels of the page

export class MaskRenderer {
  background = new OffscreenCanvas(1, 1);
  state = [];
  last = null;
  spots = new Map(); // where each number stands, by id

  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  // `shown` is {picked, hidden, edit, hover, preview, drag, line, brush, crosshair}, `view` {zoom, left, top, ratio, unit, scene,
  // masks}.
  draw(shown, view) {
    const { canvas, context, background } = this,
      fullCanvas = [0, 0, canvas.width, canvas.height],
      editedId = shown.edit?.mask ? shown.edit.id : -1;
    const state = [
      view.scene,
      view.zoom,
      view.left,
      view.top,
      ...fullCanvas,
      editedId,
      shown.hidden,
      shown.hover,
      ...shown.picked,
    ];
    const isUnchanged = state.length === this.state.length && state.every((one, i) => one === this.state[i]);
    if (!isUnchanged) {
      this.state = state;
      this.drawBackground(shown, view, editedId);
    }
    const now = bounds(shown, view),
      changed = isUnchanged ? intersection(union(this.last, now), fullCanvas) : fullCanvas;
    this.last = now;
    if (!changed) return;
    const [x, y, width, height] = [changed[0], changed[1], changed[2] - changed[0], changed[3] - changed[1]];
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    context.clearRect(x, y, width, height);
    context.drawImage(background, x, y, width, height, x, y, width, height);
    this.edited(shown, view);
    context.restore();
  }

  drawBackground({ picked, hidden, hover }, view, edited) {
    const { canvas, background } = this;
    if (background.width !== canvas.width || background.height !== canvas.height)
      Object.assign(background, { width: canvas.width, height: canvas.height });
    const context = background.getContext("2d"),
      labelled = [];
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, background.width, background.height);
    applyView(context, view);
    for (const segment of view.scene.segments) {
      if (edited === segment.id) continue;
      const isPicked = picked.has(segment.id),
        isHovered = hover === segment.id,
        strength = segment.is_object ? 1 : 0.35,
        mask = view.masks.get(segment.id).mask;
      if (!hidden || isPicked) labelled.push([segment, mask]);
      if (hidden && !isPicked && !isHovered) continue;
      mask.paint(
        context,
        segment.colour,
        hidden ? 0 : (isPicked || isHovered ? 0.26 : 0.1) * strength,
        isPicked || isHovered ? 1 : strength,
        isPicked ? 2.6 : isHovered ? 2.2 : 1.6,
        view.unit,
      );
    }
    this.spots = new Map();
    for (const [segment, mask] of labelled) {
      this.spots.set(segment.id, labelSpot(segment.id, mask, view, [...this.spots.values()], canvas));
      drawLabel(context, segment, this.spots.get(segment.id), view);
    }
  }

  edited({ hidden, edit, preview, drag, line, brush, crosshair }, view) {
    const { context } = this,
      { unit } = view,
      segment = edit?.mask && view.scene.segments.find(({ id }) => id === edit.id);
    applyView(context, view);
    preview?.paint(context, "#ffffff", 0.22, 0.95, 1.6, unit);
    edit?.mask?.paint(context, edit.colour, hidden ? 0 : 0.26, 1, 2.6, unit);
    if (segment)
      drawLabel(context, segment, labelSpot(edit.id, edit.mask, view, [...this.spots.values()], this.canvas), view);
    for (const [x, y, sign] of edit?.clicks ?? []) drawClick(context, x, y, sign, unit);
    const box = drag ?? edit?.box;
    if (box)
      drawDashed(context, unit, () =>
        context.rect(
          Math.min(box[0], box[2]),
          Math.min(box[1], box[3]),
          Math.abs(box[2] - box[0]),
          Math.abs(box[3] - box[1]),
        ),
      );
    if (line)
      drawDashed(context, unit, () => {
        context.moveTo(line[0], line[1]);
        context.lineTo(line[2], line[3]);
      });
    if (brush) drawDashed(context, unit, () => context.arc(brush.at[0], brush.at[1], brush.radius, 0, 2 * Math.PI));
    if (crosshair) drawCrosshair(context, crosshair, unit);
  }
}

function applyView(context, { zoom, left, top }) {
  context.setTransform(zoom, 0, 0, zoom, left, top);
  context.imageSmoothingEnabled = zoom < 3;
}

// Bounding rectangle of the edit in canvas pixels; null if nothing is edited.
function bounds({ edit, preview, drag, line, brush, crosshair }, { zoom, left, top, ratio }) {
  const points = [];
  for (const mask of [edit?.mask, preview])
    if (mask?.box.width)
      points.push([mask.box.left, mask.box.top], [mask.box.left + mask.box.width, mask.box.top + mask.box.height]);
  for (const [x, y] of edit?.clicks ?? []) points.push([x, y]);
  if (crosshair) points.push(crosshair);
  for (const box of [drag, edit?.box, line]) if (box) points.push([box[0], box[1]], [box[2], box[3]]);
  if (brush)
    points.push(
      [brush.at[0] - brush.radius, brush.at[1] - brush.radius],
      [brush.at[0] + brush.radius, brush.at[1] + brush.radius],
    );
  if (!points.length) return null;
  const xs = points.map(([x]) => x * zoom + left),
    ys = points.map(([, y]) => y * zoom + top),
    pad = 34 * ratio; // with the number beside the mask
  return [Math.min(...xs) - pad, Math.min(...ys) - pad, Math.max(...xs) + pad, Math.max(...ys) + pad];
}

const union = (a, b) =>
  !a || !b ? (a ?? b) : [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])];

// Intersection of two rectangles, rounded outwards to whole pixels; null if empty.
function intersection(a, b) {
  if (!a) return null;
  const [x0, y0, x1, y1] = [
    Math.max(b[0], Math.floor(a[0])),
    Math.max(b[1], Math.floor(a[1])),
    Math.min(b[2], Math.ceil(a[2])),
    Math.min(b[3], Math.ceil(a[3])),
  ];
  return x1 > x0 && y1 > y0 ? [x0, y0, x1, y1] : null;
}

function drawDashed(context, unit, trace) {
  for (const [colour, dash] of [
    ["#000", []],
    ["#fff", [5 * unit, 4 * unit]],
  ]) {
    context.beginPath();
    trace();
    context.strokeStyle = colour;
    context.lineWidth = 1.5 * unit;
    context.setLineDash(dash);
    context.stroke();
  }
  context.setLineDash([]);
}

function drawCrosshair(context, [x, y], unit) {
  for (const { colour, width } of [
    { colour: "#000", width: 4 },
    { colour: "#fff", width: 1.8 },
  ]) {
    context.beginPath();
    for (const [dx, dy] of [
      [1, 0],
      [-1, 0],
      [0, 1],
      [0, -1],
    ]) {
      context.moveTo(x + 4 * dx * unit, y + 4 * dy * unit);
      context.lineTo(x + 15 * dx * unit, y + 15 * dy * unit);
    }
    context.strokeStyle = colour;
    context.lineWidth = width * unit;
    context.stroke();
  }
}

function drawClick(context, x, y, sign, unit) {
  context.beginPath();
  context.arc(x, y, 6 * unit, 0, 2 * Math.PI);
  context.fillStyle = sign ? "#17724f" : "#ad2a1f";
  context.fill();
  context.strokeStyle = "#fff";
  context.lineWidth = 1.8 * unit;
  context.stroke();
  context.beginPath();
  context.moveTo(x - 3 * unit, y);
  context.lineTo(x + 3 * unit, y);
  if (sign) {
    context.moveTo(x, y - 3 * unit);
    context.lineTo(x, y + 3 * unit);
  }
  context.stroke();
}

/**
 * Where an object's number hides least, in canvas pixels: beside its mask, off other masks and numbers.
 * @returns {[number, number]}
 */
function labelSpot(id, mask, { zoom, left, top, ratio, masks }, taken, canvas) {
  const side = LABEL_SIDE * ratio,
    gap = side / 2 + 3 * ratio,
    { box } = mask;
  if (!box.width) return [-side, -side];
  const [x0, y0] = [box.left * zoom + left, box.top * zoom + top],
    [x1, y1] = [x0 + box.width * zoom, y0 + box.height * zoom],
    [x, y] = [(x0 + x1) / 2, (y0 + y1) / 2];
  /** @type {[number, number][]} */
  const spots = [
    [x, y0 - gap],
    [x1 + gap, y],
    [x0 - gap, y],
    [x, y1 + gap],
    [x0 - gap / 2, y0 - gap / 2],
    [x1 + gap / 2, y0 - gap / 2],
    [mask.centre[0] * zoom + left, mask.centre[1] * zoom + top],
  ];
  const grid = [-0.5, 0, 0.5].flatMap((dx) => [-0.5, 0, 0.5].map((dy) => [dx * side, dy * side]));
  const cost = ([u, v]) => {
    const isOutside = u < side / 2 || v < side / 2 || u > canvas.width - side / 2 || v > canvas.height - side / 2;
    let sum = isOutside ? 100 : 0;
    for (const [other, { mask: pixels }] of masks)
      for (const [du, dv] of grid)
        if (pixels.at((u + du - left) / zoom, (v + dv - top) / zoom)) sum += other === id ? 1 : 3;
    for (const [a, b] of taken) if (Math.abs(a - u) < side && Math.abs(b - v) < side) sum += 20;
    return sum;
  };
  const costs = spots.map(cost);
  return spots[costs.indexOf(Math.min(...costs))];
}

// Draws the object's number, and a mark if it needs review.
function drawLabel(context, segment, [x, y], { ratio }) {
  const side = LABEL_SIDE * ratio;
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.font = `650 ${12 * ratio}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.globalAlpha = segment.is_object ? 1 : 0.55;
  context.fillStyle = segment.colour;
  context.strokeStyle = "#fff";
  context.lineWidth = 1.5 * ratio;
  context.beginPath();
  context.roundRect(x - side / 2, y - side / 2, side, side, 5 * ratio);
  context.fill();
  context.stroke();
  context.lineWidth = 2.5 * ratio;
  context.strokeStyle = "#000b";
  context.strokeText(segment.id, x, y);
  context.fillStyle = "#fff";
  context.fillText(segment.id, x, y);
  if (segment.review) {
    context.fillStyle = "#9a5200";
    context.strokeStyle = "#fff";
    context.lineWidth = 1.5 * ratio;
    context.beginPath();
    context.arc(x + side / 2, y - side / 2, 7 * ratio, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
    context.fillStyle = "#fff";
    context.fillText("!", x + side / 2, y - side / 2);
  }
  context.restore();
}
