import { fill, h, plural } from "/static/studio/dom.js";
import { openCalls, openDrawer } from "/static/studio/drawer.js";

// Questions to a model that failed and wait for a person: one line each.
export default function mount({ element, trigger }) {
  const root = element.querySelector(".failures");
  let open = false, failures = [], asks = {};
  const row = (one) => h("div.row", { "data-call": one.id },
    h("span.about", { title: one.title }, one.about || one.title), h("span.error", { title: one.error }, one.error),
    h("span.actions", {}, h("button.studio-button.plain", { title: "What came back, word for word", onclick: () => openCalls({ id: one.id, tab: "Response" }) }, "Raw reply"),
      one.remedies.map((each) => h("button.studio-button", { title: each.title, onclick: () => (each.kind === "edit" ? openCalls({ id: one.id, edit: true }) : trigger("act", { kind: each.kind, id: one.id })) }, each.label))));
  const draw = () => {
    root.hidden = !failures.length && !asks.takes;
    const many = failures.length > 1;
    fill(root, asks.takes && h("div.row.asks", {}, h("span.error", {}, h("b", {}, `${asks.name} was not asked about this project yet: `), `${asks.takes}. Until then it stands as measured, and written rules propose the tasks.`),
      h("span.actions", {}, h("button.studio-button", { onclick: () => openDrawer("model") }, "Set a ceiling"), h("button.studio-button.primary", { onclick: () => trigger("agree") }, `Ask ${asks.name}`))), many && h("button.head", { "aria-expanded": String(open), onclick: () => { open = !open; draw(); } }, h("i", {}, "!"), h("b", {}, `${plural(failures.length, "question")} to the model failed`), h("span.muted", {}, "The rest of the scene goes on."), h("span.more", {}, open ? "Hide" : "Show")),
      (!many || open) && h("div.rows", { role: "list" }, failures.map(row)));
  };
  return (value) => { failures = value?.failures ?? []; asks = value?.asks ?? {}; draw(); };
}
