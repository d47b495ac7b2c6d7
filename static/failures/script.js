import { fill, h } from "/static/studio/dom.js";
import { openCalls } from "/static/studio/drawer.js";
import { t } from "/static/studio/texts.js";

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
          { title: t("Show the unparsed response"), onclick: () => openCalls({ id: failure.id, tab: t("Response") }) },
          t("Show response"),
        ),
        failure.remedies.map((remedy) =>
          h(
            "button.studio-button",
            {
              title: remedy.title,
              "data-sends": "failures.act",
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
          h("b", {}, t("{n} model call failed|{n} model calls failed", { n: failures.length })),
          h("span.muted", {}, t("Other objects are not affected.")),
          h("span.more", {}, open ? t("Hide") : t("Show")),
        ),
      (!isList || open) && h("div.rows", { role: "list" }, failures.map(row)),
    );
  };
  return (value) => {
    failures = value?.failures ?? [];
    draw();
  };
}
