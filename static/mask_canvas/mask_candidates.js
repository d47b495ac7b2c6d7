// Candidate masks of a click, or one of each segmenter, side by side to choose from.
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const SIZE_NAMES = [t("whole"), t("part"), t("smaller part")],
  QUALITY_WORDS = { good: t("good"), fair: t("fair"), poor: t("poor") };
export const qualityWord = (value) =>
  value === null || value === undefined ? null : value >= 0.9 ? "good" : value >= 0.75 ? "fair" : "poor";

// A word and a bar; null if the segmenter predicts no quality.
export function qualityMeter(value) {
  const word = qualityWord(value);
  return (
    word &&
    h(
      `span.quality.${word}`,
      { title: t("Predicted quality: {value}", { value: value.toFixed(2) }) },
      QUALITY_WORDS[word],
      h("span.track", {}, h("span.fill", { style: `width:${Math.round(100 * value)}%` })),
    )
  );
}

const drawnState = new WeakMap();

// Redrawn only if the candidates changed, because their pictures arrive later.
export function drawCandidates(element, viewport, edit, onChoose) {
  const step = edit?.last,
    candidates = step?.candidates ?? [],
    drawn = drawnState.get(element);
  element.hidden = candidates.length < 2;
  if (drawn?.candidates === candidates && drawn.chosen === step?.chosen) return;
  drawnState.set(element, { candidates, chosen: step?.chosen });
  if (element.hidden) return fill(element);
  const boxes = candidates.map(({ mask }) => mask.box).filter((box) => box.width),
    left = Math.min(...boxes.map((box) => box.left)),
    top = Math.min(...boxes.map((box) => box.top));
  const bounds = {
    left,
    top,
    width: Math.max(...boxes.map((box) => box.left + box.width)) - left,
    height: Math.max(...boxes.map((box) => box.top + box.height)) - top,
  };
  const areas = candidates.map(({ mask }) => mask.area),
    rank = areas.map((area) => areas.filter((other) => other > area).length);
  fill(
    element,
    candidates.map((candidate, i) => {
      candidate.picture ??= thumbnailImage(viewport, candidate.mask, edit.colour, bounds);
      return h(
        `button.candidate${i === step.chosen ? ".on" : ""}`,
        {
          "aria-pressed": String(i === step.chosen),
          title: candidate.title ? t("Use the mask of {title}", { title: candidate.title }) : t("Use this mask"),
          onclick: () => onChoose(i),
        },
        candidate.picture,
        h("span", {}, candidate.title ?? SIZE_NAMES[rank[i]] ?? t("part"), qualityMeter(candidate.quality)),
      );
    }),
  );
}

function thumbnailImage(viewport, mask, colour, bounds) {
  const image = h("img", { alt: "" });
  image.addEventListener("load", () => URL.revokeObjectURL(image.src));
  setTimeout(async () => {
    image.src = await viewport.thumbnail(mask, colour, bounds);
  }, 30);
  return image;
}
