// What the task builder shows: its forms, the goals by step, and buttons. `builder` is the TaskBuilder of script.js.
import { capitalised, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";
import { source, target } from "./dragging.js";
import { holeElement } from "./holes.js";
import { inStages, isComplete, placed, shifted } from "./rows.js";

// The forms: one stop of Tab; the arrow keys lead from form to form.
export function toolbar(builder) {
  const { forms } = builder.value,
    current = Math.max(0, forms.indexOf(builder.form));
  return h(
    "div.forms",
    {
      role: "toolbar",
      "aria-label": t("Add a goal"),
      onkeydown: ({ key, target: button }) => {
        if (key === "ArrowRight") button.nextSibling?.focus();
        if (key === "ArrowLeft") button.previousSibling?.focus();
      },
    },
    forms.map((form, index) =>
      h(
        "button.form",
        {
          "data-act": `add ${form.key}`,
          tabIndex: index === current ? 0 : -1,
          onfocus: ({ target: button }) => {
            for (const one of button.parentNode.children) one.tabIndex = one === button ? 0 : -1;
            builder.form = form;
          },
          onclick: () => builder.add(form),
        },
        capitalised(form.words),
      ),
    ),
  );
}

export function steps(builder) {
  const count = 1 + Math.max(-1, ...builder.rows.map((row) => row.stage));
  const stages = [...Array(count).keys()].map((stage) => builder.rows.filter((row) => row.stage === stage));
  return h(
    "div.steps",
    {},
    stages.map((rows, stage) =>
      h(
        "div.stage",
        stageTarget(builder, stage),
        count + builder.inNewStep > 1 && h("h4", {}, t("Step {number}", { number: stage + 1 })),
        rows.map((row) => rowElement(builder, row)),
      ),
    ),
    builder.inNewStep &&
      h("div.stage.new", stageTarget(builder, count), h("h4", {}, t("Step {number}", { number: count + 1 }))),
  );
}

function stageTarget(builder, stage) {
  const put = ({ row }) => {
    builder.inNewStep = false;
    builder.edit(placed(builder.rows, row, stage));
  };
  return target((what) => Boolean(what.row), put);
}

function rowElement(builder, row) {
  const texts = capitalised(row.form.words).split("…");
  return h(
    `div.goal${isComplete(row) ? "" : ".incomplete"}`,
    target(
      (what) => what.row && what.row !== row.key,
      (what) => builder.edit(placed(builder.rows, what.row, row.stage, row.key)),
    ),
    h(
      "button.handle",
      {
        ...source({ row: row.key }),
        "data-act": `move ${row.key}`,
        "aria-label": t("Move this goal"),
        title: t("Drag, or use the arrow keys"),
        onkeydown: (event) => {
          const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
          if (!step) return;
          event.preventDefault();
          builder.edit(shifted(builder.rows, row.key, step));
        },
      },
      "⠿",
    ),
    texts.map((text, index) => [
      text.trim() && h("span", {}, text.trim()),
      row.form.holes[index] && holeElement(builder, row, row.form.holes[index]),
    ]),
    h(
      "button.remove",
      {
        "aria-label": t("Remove this goal"),
        onclick: () => builder.edit(inStages(builder.rows.filter((one) => one !== row))),
      },
      "×",
    ),
  );
}

export function foot(builder) {
  return h(
    "div.foot",
    {},
    h(
      "button.studio-button",
      {
        disabled: !builder.rows.length,
        "aria-pressed": String(builder.inNewStep),
        onclick: () => {
          builder.inNewStep = !builder.inNewStep;
          builder.draw();
        },
      },
      t("New step"),
    ),
    h("button.studio-button", { disabled: !builder.history.length, onclick: () => builder.undo() }, t("Undo")),
    h("span.verdict", { role: "status" }),
  );
}
