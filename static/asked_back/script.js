import { fill, h } from "/static/studio/dom.js";

export default function mount({ element, trigger }) {
  const root = element.querySelector(".asked-back");
  const offer = (instruction, said) => h("button.studio-button", { title: "Take these words", onclick: () => trigger("pick", { instruction }) }, said);
  return (value) => {
    const { reason, instead, works = [] } = value ?? {};
    root.hidden = !reason;
    fill(root, reason && h("p", { role: "alert" }, h("span.sign", {}, "?"), ` ${reason.replace(/^./, (letter) => letter.toUpperCase())}`),
      (instead || works.length > 0) && h("div.answers", {}, instead ? offer(instead, `Yes: ${instead}`) : h("span.what", {}, "This would work:"), works.map((one) => offer(one, one))));
  };
}
