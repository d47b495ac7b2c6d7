// The subtasks of a task as cards in their order: how far each is learned, and how its training began.
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";

const PLANNED = { label: ` · ${t("planned")}`, hint: t("The oracle plans this subtask; no policy acts in it") };

export const percent = (share) => `${Math.round(100 * share)} %`;

/** `learning` is the name of the subtask that is learned now; `open` gets the name of one that a person chose. */
export const strip = (subtasks, chosen, learning, open) =>
  html`<div class="strip flow" role="tablist" aria-label=${t("Subtasks")}>
    ${subtasks.map((one, index) => [
      index > 0 && one.can_edit && html`<span class="arrow" aria-hidden="true">→</span>`,
      card(one, one.name === chosen, one.name === learning, () => open(one.name)),
    ])}
  </div>`;

function card(one, isChosen, isLearning, open) {
  const { label, hint } = one.way === "plan" ? PLANNED : beginning(one.curve[0]),
    share = one.measured?.success ?? one.validation ?? 0;
  return html`<button class=${classes("card", isChosen && "on")} role="tab" aria-selected=${isChosen}
    data-subtask=${one.name} title=${one.instruction} onclick=${open}>
    <strong>${one.title}</strong>
    <span class="status" title=${hint}>
      ${one.shortcut && `! ${t("shortcut")} · `}${isLearning ? `◐ ${t("learning")}` : status(one)}${label}
    </span>
    <span class="track"><i class="fill" style=${`width: ${100 * share}%`} /></span>
  </button>`;
}

function status({ measured, learned, validation, way }) {
  if (measured) {
    const { success, layouts } = measured;
    return `${success >= 0.95 ? "✓" : "◔"} ${percent(success)} ${t("of {n}", { n: layouts })}`;
  }
  if (way === "plan") return `◔ ${t("not evaluated")}`;
  return learned ? `◔ ${percent(validation ?? 0)} ${t("in training")}` : `○ ${t("not learned")}`;
}

// What a policy began with, as its first evaluation says: a skill, the oracle's demonstrations, or nothing.
function beginning(first) {
  if (first?.skill)
    return { label: ` · ${t("from a skill")}`, hint: t("Training began with the skill {name}", { name: first.skill }) };
  if (first?.cloned)
    return {
      label: ` · ${t("demonstrated")}`,
      hint: t("Training began by imitating {n} demonstrations and corrections of the oracle", { n: first.cloned }),
    };
  return { label: "", hint: "" };
}
