// The readings of a click, or what each segmenter takes for an object, side by side to choose from.
import { fill, h } from "/static/studio/dom.js";

const WHOLE = ["whole", "part", "smaller part"];
export const quality = (value) => value === null || value === undefined ? null : value >= 0.9 ? "good" : value >= 0.75 ? "fair" : "poor";

// A word and a bar; nothing where the segmenter predicts no quality.
export function meter(value) {
  const word = quality(value);
  return word && h(`span.quality.${word}`, { title: `Quality the segmenter predicts: ${value.toFixed(2)}` }, word, h("i", {}, h("b", { style: `width:${Math.round(100 * value)}%` })));
}

export function strip(element, picture, edit, choose) {
  const readings = edit?.last?.readings ?? [];
  element.hidden = readings.length < 2;
  if (element.hidden) return fill(element);
  const boxes = readings.map(({ mask }) => mask.box).filter((box) => box.width), left = Math.min(...boxes.map((box) => box.left)), top = Math.min(...boxes.map((box) => box.top));
  const around = { left, top, width: Math.max(...boxes.map((box) => box.left + box.width)) - left, height: Math.max(...boxes.map((box) => box.top + box.height)) - top };
  const rank = readings.map(({ mask }) => mask.area).map((area, _, all) => all.filter((other) => other > area).length);
  fill(element, readings.map((reading, i) => {
    reading.thumbnail ??= picture.thumbnail(reading.mask, edit.colour, around);
    return h(`button.reading${i === edit.last.chosen ? ".on" : ""}`, { "aria-pressed": String(i === edit.last.chosen), title: reading.title ? `Take what ${reading.title} outlines` : "Take this reading of the click", onclick: () => choose(i) },
      h("img", { src: reading.thumbnail, alt: "" }), h("span", {}, reading.title ?? WHOLE[rank[i]] ?? "part", meter(reading.quality)));
  }));
}
