// What the task builder shows: its forms, the goals by step, and buttons. `builder` is the TaskBuilder of script.js.
import { capitalised } from "/static/studio/parts.js";
import { isRefused } from "/static/studio/refused_controls.js";
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";
import { source, target } from "./dragging.js";
import { holeElement } from "./holes.js";
import { inStages, isComplete, placed, shifted } from "./rows.js";

// The forms: one stop of Tab; the arrow keys lead from form to form.
export function toolbar(builder) {
  const { forms } = builder.value,
    current = Math.max(0, forms.indexOf(builder.form.value));
  const lead = ({ key, target: button }) => {
    if (key === "ArrowRight") button.nextElementSibling?.focus();
    if (key === "ArrowLeft") button.previousElementSibling?.focus();
  };
  const button = (form, index) => html`<button class="form" data-act="add ${form.key}"
    tabindex=${index === current ? 0 : -1} onfocus=${() => (builder.form.value = form)}
    onclick=${() => builder.add(form)}>${capitalised(form.words)}</button>`;
  return html`<div class="forms" role="toolbar" aria-label=${t("Add a goal")} onkeydown=${lead}>
    ${forms.map(button)}
  </div>`;
}

export function steps(builder) {
  const rows = builder.rows.value,
    isNew = builder.inNewStep.value,
    count = 1 + Math.max(-1, ...rows.map((row) => row.stage)),
    title = (stage) => html`<h4>${t("Step {number}", { number: stage + 1 })}</h4>`;
  const stages = [...Array(count).keys()].map(
    (stage) => html`<div class="stage" key=${stage} ...${stageTarget(builder, stage)}>
      ${(isNew || count > 1) && title(stage)}
      ${rows.filter((row) => row.stage === stage).map((row) => goal(builder, row))}
    </div>`,
  );
  return html`<div class="steps">${stages}
    ${isNew && html`<div class="stage new" ...${stageTarget(builder, count)}>${title(count)}</div>`}
  </div>`;
}

function stageTarget(builder, stage) {
  const put = ({ row }) => {
    builder.inNewStep.value = false;
    builder.edit(placed(builder.rows.value, row, stage));
  };
  return target((what) => Boolean(what.row), put);
}

function goal(builder, row) {
  const rows = builder.rows.value,
    texts = capitalised(row.form.words).split("…");
  const before = target(
    (what) => what.row && what.row !== row.key,
    (what) => builder.edit(placed(rows, what.row, row.stage, row.key)),
  );
  const shift = (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    builder.edit(shifted(rows, row.key, step));
  };
  const remove = () => {
    builder.edit(inStages(rows.filter((one) => one !== row)));
    builder.focusSoon(".goal > .remove", rows.indexOf(row));
  };
  return html`<div class=${classes("goal", !isComplete(row) && "incomplete")} key=${row.key} ...${before}>
    <button class="handle" ...${source({ row: row.key })} data-act="move ${row.key}" aria-label=${t("Move this goal")}
      title=${t("Drag, or use the arrow keys")} onkeydown=${shift}>⠿</button>
    ${texts.map((text, index) => [
      text.trim() && html`<span>${text.trim()}</span>`,
      row.form.holes[index] && holeElement(builder, row, row.form.holes[index]),
    ])}
    <button class="remove" aria-label=${t("Remove this goal")} onclick=${remove}>×</button>
  </div>`;
}

export function foot(builder) {
  const { rows, inNewStep } = builder;
  return html`<div class="foot flow">
    <button class="studio-button" disabled=${!rows.value.length} aria-pressed=${inNewStep.value}
      onclick=${() => (inNewStep.value = !inNewStep.value)}>${t("New step")}</button>
    <button class="studio-button" disabled=${!builder.history.value.length} onclick=${() => builder.undo()}>
      ${t("Undo")}</button>
    <span class="verdict" role="status">${verdict(builder)}</span>
  </div>`;
}

function verdict(builder) {
  const answer = builder.answer.value,
    preview = builder.preview.value,
    rows = builder.rows.value,
    open = rows.filter((row) => !isComplete(row)).length,
    why = answer?.error || answer?.unread || answer?.why || preview?.error || preview?.why;
  if (why) return html`<span class="why" title=${why}>✕ ${why}</span>`;
  if (builder.active.value && open)
    return t("Click an object in the list, the twin or the photograph, or choose it here.");
  if (!rows.length) return t("Add a goal.");
  if (open) return t("{n} goal is not complete|{n} goals are not complete", { n: open });
  if (preview) return html`<span class="tag good">${t("✓ The robot can do it")}</span>`;
  return answer && !isRefused("task-builder.preview") && html`<i class="spin" />${t("Planning …")}`;
}
