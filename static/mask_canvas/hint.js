// The line below the canvas: what is selected or edited, and what a person may do next.
import { Chip } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";
import { QualityMeter } from "./mask_candidates.js";
import { mayEdit } from "./mask_work.js";

const takes = (values) => t("! Takes {n} pixel from: {names}.|! Takes {n} pixels from: {names}.", values);
const DISCARD = t("Press Esc to discard.");
const SOURCES = {
  human: t("accepted by you"),
  depth: t("segmented by depth and colour"),
  sam2: t("segmented by SAM 2"),
};

/** @param {{work: import("./mask_work.js").MaskWork, waitText: string, run: (action: string) => void}} props */
export function Hint({ work, waitText, run }) {
  const titled = (element) => element?.setAttribute("title", element.textContent);
  return html`<div class="hint" id="mask-hint" role="status" ref=${titled}>${text(work, waitText, run)}</div>`;
}

function text(work, waitText, run) {
  const { object, edit, tool, problem, info, picked } = work,
    candidates = edit?.last?.candidates ?? [],
    name = object && html`<${Chip} object=${object} /> <strong>${object.words}</strong>`;
  if (problem) return html`<span class="problem">${problem}</span>`;
  if (!work.scene) return null; // nothing can be clicked yet
  if (!mayEdit())
    return html`${name}${name && ". "}${t("Click a mask to select it. You can look at masks, not change them.")}`;
  if (work.prompts.busy && waitText) return waitText;
  if (tool === "split" && object)
    return html`${name}${t(": drag a line across it, or")} <button class="studio-button" data-act="split_auto"
      onclick=${() => run("split_auto")}>${t("Split automatically")}</button> (S).`;
  if (candidates.length > 1)
    return html`${info && `${info} `}${
      candidates[0].title
        ? t("Choose a mask (R for the next). Press Enter to accept.")
        : t("Choose a mask (R for the next) or refine it with clicks. Press Enter to accept.")
    } ${DISCARD}`;
  if (info) return info;
  if (edit?.id === 0) return newObject(work);
  if (work.isEditing)
    return html`${name} ${t("edited. Click to add, right-click to remove. Press Enter to accept.")} ${DISCARD}
      ${edit.last && html`<span class="review"> ${work.taken(edit.mask, edit.id, takes)}</span>`}${" "}
      <${QualityMeter} value=${edit.last?.candidates[edit.last.chosen].quality} />`;
  if (picked.size > 1) return t("{count} selected. Press M to merge, Del to delete.", { count: picked.size });
  return object
    ? selectedObject(object, name)
    : t("Click a mask to select it. Click elsewhere or drag a box to segment a new object.");
}

function newObject(work) {
  const step = work.edit.last,
    title = html`<strong>${t("New object.")} </strong>`;
  if (step)
    return html`${title}${t("Click to add, right-click to remove. Press Enter to accept.")} <span class="review">
      ${`${work.taken(work.edit.mask, 0, takes)} `}</span><${QualityMeter} value=${step.candidates[step.chosen].quality} />`;
  return html`${title}${work.tool === "brush" ? t("Paint its mask.") : t("Click it, drag a box around it, or paint it.")}`;
}

function selectedObject(object, name) {
  const quality = html`<${QualityMeter} value=${object.quality} />`;
  if (object.review)
    return html`${name} <span class="review">${t("! Needs review")}</span> ${t(
      "{review} Correct it, or press Enter to accept it.",
      { review: object.review },
    )} ${quality}`;
  return html`${name}, ${SOURCES[object.source] ?? `segmented by ${object.source}`}. ${quality} ${t(
    "Click to add, right-click to remove.",
  )}`;
}
