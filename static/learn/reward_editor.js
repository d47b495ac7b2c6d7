// The success conditions and reward terms of a subtask: weights, deletion, and terms to add.
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const TEMPLATE = `def compute_reward(env):
    """What it leads to"""
    hand = env.get_robot_gripper_pose()
    cube = env.get_pose_by_link_name("name of an object", "base")
    return -norm(hand - cube)`;

/** Fills `element`; `edit` gets {change, index, weight, row}. `allowed` says whether a person may edit now. */
export function drawReward(element, subtask, allowed, edit) {
  const typed = [...element.querySelectorAll("textarea")].some((area) => area.value !== area.defaultValue);
  if (typed && element.dataset.subtask === subtask.name) return; // code that a person is writing stays
  element.dataset.subtask = subtask.name;
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
  const coder = (label, source, index) =>
    subtask.can_edit &&
    h(
      "details.code",
      {},
      h("summary", {}, label),
      h("textarea", { rows: "9", spellcheck: "false", "aria-label": label, disabled: !allowed }, source),
      h(
        "button.studio-button",
        {
          disabled: !allowed,
          "data-sends": "learn.edit",
          onclick: ({ target }) => {
            const area = target.previousElementSibling;
            area.defaultValue = area.value;
            edit({ change: "code", index, source: area.value });
          },
        },
        t("Use this code"),
      ),
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
          term.code && coder(t("Code"), term.code, index),
        ),
      ),
    ),
    adder("add_term", t("Add a term"), subtask.addable_terms),
    coder(t("Add a term as code"), TEMPLATE, null),
    h("p.muted", {}, t("The success conditions alone decide about success; terms only lead the learner there.")),
  );
}
