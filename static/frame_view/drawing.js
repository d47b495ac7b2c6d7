// What is drawn on the two pictures of the frame.
import { turbo } from "/static/frame_view/turbo.js";

/** Draws an outline, a polygon of pixels, on a picture of that width. */
export function drawOutline(context, outline, colour, width) {
  context.beginPath();
  for (const [x, y] of outline) context.lineTo(x, y); // the first one starts the path
  context.closePath();
  for (const [stroke, share] of /** @type {[string, number][]} */ ([
    ["#fff", 160],
    [colour, 280],
  ])) {
    context.strokeStyle = stroke;
    context.lineWidth = width / share;
    context.stroke();
  }
}

/**
 * Draws a cross around a pixel, with a gap where the pixel is.
 * @param {CanvasRenderingContext2D} context
 * @param {number[]} pixel
 * @param {number} width
 */
export function drawCross(context, [x, y], width) {
  const r = width / 60;
  for (const [colour, share] of /** @type {[string, number][]} */ ([
    ["#000", 240],
    ["#fff", 560],
  ])) {
    context.strokeStyle = colour;
    context.lineWidth = width / share;
    context.beginPath();
    for (const [dx, dy] of [
      [-1, 0],
      [1, 0],
      [0, -1],
      [0, 1],
    ]) {
      context.moveTo(x + dx * r, y + dy * r);
      context.lineTo(x + (dx * r) / 3, y + (dy * r) / 3);
    }
    context.stroke();
  }
}

/** Returns {near, far, pixels}: the range of the depths, and the depths in colours, hatched where none is known. */
export function paintDepth(depth, width, height) {
  const known = depth.filter((z, i) => i % 17 === 0 && z).sort(),
    near = known[Math.floor(known.length * 0.02)] ?? 0,
    far = known[Math.floor(known.length * 0.98)] ?? 1,
    pixels = new ImageData(width, height),
    stripe = Math.max(2, width / 80);
  for (let i = 0; i < depth.length; i++) {
    const isLight = Math.floor(((i % width) + i / width) / stripe) % 2,
      hatching = isLight ? [150, 154, 160] : [104, 108, 114],
      [r, g, b] = depth[i] ? turbo((depth[i] - near) / Math.max(0.001, far - near)) : hatching;
    pixels.data.set([r, g, b, 255], i * 4);
  }
  return { near, far, pixels };
}
