// The readings of a click, or what each segmenter takes for an object, side by side to choose from.
import { fill, h } from "/static/studio/dom.js";

const WHOLE = ["whole", "part", "smaller part"];
export const quality = (value) => value === null || value === undefined ? null : value >= 0.9 ? "good" : value >= 0.75 ? "fair" : "poor";

// A word and a bar; nothing where the segmenter predicts no quality.
export function meter(value) {
  const word = quality(value);
  return word && h(`span.quality.${word}`, { title: `Quality the segmenter predicts: ${value.toFixed(2)}` }, word, h("i", {}, h("b", { style: `width:${Math.round(100 * value)}%` })));
}

const shown = new WeakMap();

// Made anew only when they are others than before: pictures arrive after the mask is painted.
export function strip(element, picture, edit, choose) {
  const step = edit?.last, readings = step?.readings ?? [], known = shown.get(element);
  element.hidden = readings.length < 2;
  if (known?.readings === readings && known.chosen === step?.chosen) return;
  shown.set(element, { readings, chosen: step?.chosen });
  if (element.hidden) return fill(element);
  const boxes = readings.map(({ mask }) => mask.box).filter((box) => box.width), left = Math.min(...boxes.map((box) => box.left)), top = Math.min(...boxes.map((box) => box.top));
  const around = { left, top, width: Math.max(...boxes.map((box) => box.left + box.width)) - left, height: Math.max(...boxes.map((box) => box.top + box.height)) - top };
  const areas = readings.map(({ mask }) => mask.area), rank = areas.map((area) => areas.filter((other) => other > area).length);
  fill(element, readings.map((reading, i) => {
    reading.picture ??= pictured(picture, reading.mask, edit.colour, around);
    return h(`button.reading${i === step.chosen ? ".on" : ""}`, { "aria-pressed": String(i === step.chosen), title: reading.title ? `Take what ${reading.title} outlines` : "Take this reading of the click", onclick: () => choose(i) },
      reading.picture, h("span", {}, reading.title ?? WHOLE[rank[i]] ?? "part", meter(reading.quality)));
  }));
}

function pictured(picture, mask, colour, around) {
  const image = h("img", { alt: "" });
  image.addEventListener("load", () => URL.revokeObjectURL(image.src));
  setTimeout(async () => { image.src = await picture.thumbnail(mask, colour, around); }, 30);
  return image;
}
