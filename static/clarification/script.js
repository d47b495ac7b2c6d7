import { fill, h } from "/static/studio/dom.js";

export default function mount({ element, trigger }) {
  const root = element.querySelector(".clarification");
  const instructionButton = (instruction, label) =>
    h(
      "button.studio-button",
      { title: "Use this instruction", onclick: () => trigger("pick", { instruction }) },
      label,
    );
  return (value) => {
    const { reason, suggestion: correction, alternatives = [] } = value ?? {};
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
          correction ? instructionButton(correction, `Use: ${correction}`) : h("span.label", {}, "Try:"),
          alternatives.map((suggestion) => instructionButton(suggestion, suggestion)),
        ),
    );
  };
}
