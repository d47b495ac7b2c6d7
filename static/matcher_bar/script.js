import { fill, h } from "/static/studio/dom.js";
import { Scores } from "/static/matcher_bar/scores.js";

export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".matcher-bar");
  let value = {};
  const away = { error: "The server does not answer. Is it still running?" };
  const ask = (question) => server.ask({ ...question, door: value.door }).then((answer) => answer ?? away, () => away);
  const scores = new Scores(ask);

  const bar = h("div.bar.panel"), holder = h("div", {}, bar, scores.element);
  fill(root, holder);

  const draw = () => {
    const { matchers = [], chosen, note } = value;
    holder.hidden = !matchers.length;
    const now = matchers.find((one) => one.name === chosen);
    const pick = h("select", { id: "matcher", onchange: (event) => trigger("choose", { name: event.target.value }) }, matchers.map((one) =>
      h("option", { value: one.name, selected: one.name === chosen, disabled: Boolean(one.unavailable), title: one.unavailable ? `${one.title} ${one.unavailable}` : one.about }, one.unavailable ? `${one.title} (${one.unavailable.split(/[,;]/)[0]})` : one.title)));
    fill(bar, h("label", { for: "matcher" }, "Matched by"), pick, h("span.about", {}, now?.about ?? ""),
      h("button.studio-button", { title: "How often each matcher is right, on frames of yours whose objects are labelled", onclick: () => scores.open() }, "Score the matchers …"));
    holder.querySelector(".note")?.remove();
    if (note) bar.after(h("p.note", { role: "status" }, note));
  };
  return (next) => {
    value = next ?? {};
    scores.show(value);
    draw();
  };
}
