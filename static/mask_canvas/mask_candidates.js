// Candidate masks of a click, or one of each segmenter, side by side to choose from.
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";

const SIZE_NAMES = [t("whole"), t("part"), t("smaller part")],
  QUALITY_WORDS = { good: t("good"), fair: t("fair"), poor: t("poor") };
const qualityWord = (value) =>
  value === null || value === undefined ? null : value >= 0.9 ? "good" : value >= 0.75 ? "fair" : "poor";

/** A word and a bar; nothing if the segmenter predicts no quality. */
export function QualityMeter({ value }) {
  const word = qualityWord(value);
  if (!word) return null;
  return html`<span class=${classes("quality", word)} title=${t("Predicted quality: {value}", { value: value.toFixed(2) })}>
    ${QUALITY_WORDS[word]}<span class="track"><span class="fill" style=${`width:${Math.round(100 * value)}%`} /></span>
  </span>`;
}

export function Candidates({ viewport, edit, onChoose }) {
  const step = edit?.last,
    candidates = step?.candidates ?? [];
  if (candidates.length < 2) return html`<div class="candidates" hidden />`;
  const bounds = around(candidates.map(({ mask }) => mask.box)),
    areas = candidates.map(({ mask }) => mask.area),
    sizeName = (area) => SIZE_NAMES[areas.filter((other) => other > area).length] ?? t("part");
  const button = (candidate, index) => html`<button class=${classes("candidate", index === step.chosen && "on")}
    aria-pressed=${index === step.chosen} onclick=${() => onChoose(index)} key=${keyOf(candidate)}
    title=${candidate.title ? t("Use the mask of {title}", { title: candidate.title }) : t("Use this mask")}>
    <img alt="" ref=${(image) => image && drawThumbnail(image, viewport, candidate.mask, edit.colour, bounds)} />
    <span>${candidate.title ?? sizeName(areas[index])}<${QualityMeter} value=${candidate.quality} /></span>
  </button>`;
  return html`<div class="candidates">${candidates.map(button)}</div>`;
}

// The smallest rectangle with all that are not empty.
function around(boxes) {
  const all = boxes.filter((box) => box.width),
    left = Math.min(...all.map((box) => box.left)),
    top = Math.min(...all.map((box) => box.top));
  return {
    left,
    top,
    width: Math.max(...all.map((box) => box.left + box.width)) - left,
    height: Math.max(...all.map((box) => box.top + box.height)) - top,
  };
}

const keys = new WeakMap(); // of candidates, whose picture is drawn once
let last = 0;
function keyOf(candidate) {
  if (!keys.has(candidate)) keys.set(candidate, ++last);
  return keys.get(candidate);
}

function drawThumbnail(image, viewport, mask, colour, bounds) {
  if (image.dataset.drawn) return;
  image.dataset.drawn = "yes";
  image.addEventListener("load", () => URL.revokeObjectURL(image.src));
  setTimeout(async () => {
    image.src = await viewport.thumbnail(mask, colour, bounds);
  }, 30);
}
