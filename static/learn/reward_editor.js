// The success conditions and reward terms of a subtask: weights, deletion, and terms to add.
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

/** Fills `element`; `edit` gets {change, index, weight, row}. `allowed` says whether a person may edit now. */
export function drawReward(element, subtask, allowed, edit) {
  const remove = (change, index, text, few) =>
    subtask.can_edit &&
    h(
      "button.studio-button.plain",
      {
        "aria-label": `${t("Delete")}: ${text}`,
        title: t("Delete"),
        disabled: !allowed || few,
        "data-sends": "learn.edit",
        onclick: () => edit({ change, index }),
      },
      "✕",
    );
  const adder = (change, label, options) =>
    subtask.can_edit &&
    options.length > 0 &&
    h(
      "select.adder",
      {
        "aria-label": label,
        disabled: !allowed,
        "data-sends": "learn.edit",
        onchange: ({ target }) => edit({ change, row: options[Number(target.value)].row }),
      },
      h("option", { value: "" }, `+ ${label} …`),
      options.map((option, index) => h("option", { value: index }, option.text)),
    );
  fill(
    element,
    h("h3", {}, t("Success conditions")),
    h(
      "ul.rows",
      {},
      subtask.success.map((text, index) =>
        h("li", {}, h("span.text", {}, text), remove("remove_goal", index, text, subtask.success.length < 2)),
      ),
    ),
    adder("add_goal", t("Add a condition"), subtask.addable_goals),
    h("h3", {}, t("Reward terms")),
    h(
      "ul.rows",
      {},
      subtask.reward.map((term, index) =>
        h(
          "li",
          {},
          h("span.text", {}, term.text),
          h("input.weight", {
            type: "number",
            min: "0.1",
            max: "100",
            step: "0.1",
            value: String(Number(term.weight.toFixed(2))),
            "aria-label": t("Weight of {term}", { term: term.text }),
            title: t("Weight"),
            disabled: !allowed || !subtask.can_edit,
            "data-sends": "learn.edit",
            onchange: ({ target }) => edit({ change: "weight", index, weight: Number(target.value) }),
          }),
          remove("remove_term", index, term.text, subtask.reward.length < 2),
        ),
      ),
    ),
    adder("add_term", t("Add a term"), subtask.addable_terms),
    h("p.muted", {}, t("The success conditions alone decide about success; terms only lead the learner there.")),
  );
}
