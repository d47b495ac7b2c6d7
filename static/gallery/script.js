import { fill, h } from "/static/studio/dom.js";

const LONGEST = 20_000; // milliseconds

export default function mount({ element, trigger }) {
  const gallery = element.querySelector(".gallery");
  const card = (kind, one) => h("button.card", { "data-name": one.name, onclick: ({ currentTarget }) => { opening(currentTarget); trigger("open", { kind, name: one.name }); } },
    h("span.picture", { style: one.image ? `background-image:url("${one.image}")` : "" }, kind === "sample" && h("span.label", {}, "synthetic")),
    h("strong", {}, one.title), h("span.about", {}, one.about));
  // Until the gallery gives way to what is opened, or something was wrong with it.
  const opening = (one) => {
    one.setAttribute("aria-busy", "true");
    setTimeout(() => one.removeAttribute("aria-busy"), LONGEST);
  };
  return (value) => {
    if (!value) return fill(gallery);
    const { samples = [], projects = [] } = value;
    fill(gallery,
      projects.length ? h("section", {}, h("h3", {}, "Your projects"), h("div.cards", {}, projects.map((one) => card("project", one)))) : null,
      h("section", {}, h("h3", {}, "Sample scenes", h("span.faint", {}, " rendered, with camera noise; not photographs")),
        samples.length ? h("div.cards", {}, samples.map((one) => card("sample", one))) : h("p.muted", {}, "There are no sample scenes in this installation.")),
    );
  };
}
