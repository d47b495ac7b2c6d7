import { fill, h } from "/static/studio/dom.js";
import { asker } from "/static/studio/server.js";
import { MatcherEvaluation } from "/static/matcher_bar/evaluation.js";
import { t } from "/static/studio/texts.js";

export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".matcher-bar");
  let value = {};
  const evaluation = new MatcherEvaluation(asker(server, () => ({ page_token: value.page_token })));

  const bar = h("div.bar.panel"),
    holder = h("div", {}, bar, evaluation.element);
  fill(root, holder);

  const draw = () => {
    const { matchers = [], chosen, note } = value;
    holder.hidden = !matchers.length;
    const current = matchers.find((matcher) => matcher.name === chosen);
    const select = h(
      "select",
      {
        id: "matcher",
        "data-sends": "matcher-bar.choose",
        onchange: (event) => trigger("choose", { name: event.target.value }),
      },
      matchers.map((matcher) =>
        h(
          "option",
          {
            value: matcher.name,
            selected: matcher.name === chosen,
            disabled: Boolean(matcher.unavailable),
            title: matcher.unavailable ? `${matcher.title} ${matcher.unavailable}` : matcher.about,
          },
          matcher.unavailable ? `${matcher.title} (${matcher.unavailable.split(/[,;]/)[0]})` : matcher.title,
        ),
      ),
    );
    fill(
      bar,
      h("label", { for: "matcher" }, t("Matcher")),
      select,
      h("span.about", {}, current?.about ?? ""),
      h(
        "button.studio-button",
        {
          title: t("Measure the matchers on labelled frames"),
          onclick: () => evaluation.open(),
        },
        t("Evaluate matchers …"),
      ),
    );
    holder.querySelector(".note")?.remove();
    if (note) bar.after(h("p.note", { role: "status" }, note));
  };
  return (next) => {
    value = next ?? {};
    evaluation.show(value);
    draw();
  };
}
