import { fill, h } from "/static/studio/dom.js";

export default function mount({ element, trigger }) {
  const root = element.querySelector(".asked-back");
  return (value) => {
    const { reason, instead } = value ?? {};
    root.hidden = !reason;
    fill(root, reason && h("p", { role: "alert" }, h("span.sign", {}, "?"), ` ${reason.replace(/^./, (letter) => letter.toUpperCase())}`),
      instead && h("button.studio-button", { title: "Take these words", onclick: () => trigger("pick", { instruction: instead }) }, `Yes: ${instead}`));
  };
}
