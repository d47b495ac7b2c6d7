import { capitalised, h } from "/static/studio/dom.js";
import { diff } from "/static/studio/diff.js";
import { t } from "/static/studio/texts.js";

// Menu of what a round is compared with: other rounds, and its other layouts with the photographed one; null for none.
export function comparisonChoice(round, others, compare) {
  if (!others.length && !round.layouts.length) return null;
  const group = (label, options) => options.length > 0 && h("optgroup", { label }, options);
  return h(
    "select.studio-button.compare",
    {
      "aria-label": t("Compare with another round or layout"),
      onchange: ({ target }) => {
        const [kind, number] = target.value.split(" ");
        compare(kind === "round" ? { a: Number(number), b: round.number } : { a: round.number, seed: Number(number) });
      },
    },
    h("option", { value: "", disabled: true, selected: true }, t("Compare with …")),
    group(
      t("Rounds"),
      others.map((other) =>
        h("option", { value: `round ${other.number}` }, t("Round {number}", { number: other.number })),
      ),
    ),
    group(
      t("As photographed beside"),
      round.layouts.map((seed) => h("option", { value: `layout ${seed}` }, t("Layout {seed}", { seed }))),
    ),
  );
}

// Outcomes, reasons and changed code of the two rollouts that the viewers show side by side.
export function comparison({ titles, reasons, outcomes, changes }, close) {
  const heads = [t("Outcome"), ...titles];
  return h(
    "div.detail.panel.comparison",
    {},
    h(
      "div.top",
      {},
      h("strong", {}, titles.join(t(" and "))),
      h("button.studio-button.edit", { onclick: close }, t("Close")),
    ),
    outcomes.length
      ? h(
          "table.outcomes",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              heads.map((head) => h("th", { scope: "col" }, head)),
            ),
          ),
          h(
            "tbody",
            {},
            outcomes.map(([name, ...ends]) => h("tr", {}, h("th", { scope: "row" }, name), ends.map(outcomeCell))),
          ),
        )
      : h("p.route", {}, t("Same outcome.")),
    reasons.map(([title, text]) => h("p.route", {}, h("b", {}, `${title}: `), capitalised(text))),
    changes && !Object.keys(changes).length && h("p.route", {}, t("Same code.")),
    Object.entries(changes ?? {}).map(([file, rows]) =>
      h("details", { open: true }, h("summary", {}, file), diff(rows)),
    ),
  );
}

const SIGNS = { met: t("✓ Met"), "not met": t("✕ Not met"), absent: "–" };
const outcomeCell = (end) =>
  h(`td${end === "met" ? ".passed" : end === "not met" ? ".failed" : ""}`, {}, SIGNS[end] ?? end);
