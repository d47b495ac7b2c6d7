import { fillField } from "/static/studio/fill_field.js";
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

export default function mount({ element }) {
  const root = element.querySelector(".clarification");
  let field = "";
  const instructionButton = (instruction, label) =>
    h(
      "button.studio-button",
      { title: t("Use this instruction"), onclick: () => fillField(field, instruction) },
      label,
    );
  return (value) => {
    const { reason, suggestion: correction, alternatives = [] } = value ?? {};
    field = value?.fills ?? "";
    root.hidden = !reason;
    fill(
      root,
      reason &&
        h(
          "p",
          { role: "alert" },
          h("span.sign", {}, "?"),
          ` ${reason.replace(/^./, (letter) => letter.toUpperCase())}`,
        ),
      (correction || alternatives.length > 0) &&
        h(
          "div.answers",
          {},
          correction
            ? instructionButton(correction, t("Use: {correction}", { correction }))
            : h("span.label", {}, t("Try:")),
          alternatives.map((suggestion) => instructionButton(suggestion, suggestion)),
        ),
    );
  };
}
