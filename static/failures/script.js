import { fill, h, plural } from "/static/studio/dom.js";
import { openCalls } from "/static/studio/drawer.js";

// Failed model calls that wait for a decision, one line each.
export default function mount({ element, trigger }) {
  const root = element.querySelector(".failures");
  let open = false,
    failures = [];
  const row = (failure) =>
    h(
      "div.row",
      { "data-call": failure.id },
      h("span.about", { title: failure.title }, failure.about || failure.title),
      h("span.error", { title: failure.error }, failure.error),
      h(
        "span.actions",
        {},
        h(
          "button.studio-button.plain",
          { title: "Show the unparsed response", onclick: () => openCalls({ id: failure.id, tab: "Response" }) },
          "Show response",
        ),
        failure.remedies.map((remedy) =>
          h(
            "button.studio-button",
            {
              title: remedy.title,
              onclick: () =>
                remedy.kind === "edit"
                  ? openCalls({ id: failure.id, edit: true })
                  : trigger("act", { kind: remedy.kind, id: failure.id }),
            },
            remedy.label,
          ),
        ),
      ),
    );
  const draw = () => {
    root.hidden = !failures.length;
    const isList = failures.length > 1;
    fill(
      root,
      isList &&
        h(
          "button.head",
          {
            "aria-expanded": String(open),
            onclick: () => {
              open = !open;
              draw();
            },
          },
          h("i", {}, "!"),
          h("b", {}, `${plural(failures.length, "model call")} failed`),
          h("span.muted", {}, "Other objects are not affected."),
          h("span.more", {}, open ? "Hide" : "Show"),
        ),
      (!isList || open) && h("div.rows", { role: "list" }, failures.map(row)),
    );
  };
  return (value) => {
    failures = value?.failures ?? [];
    draw();
  };
}
