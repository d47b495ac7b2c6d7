import { centimetres, chip, fill, h } from "/static/studio/dom.js";
import { confidenceBadge } from "/static/studio/confidence.js";
import { onSelect, select, selected } from "/static/studio/selection.js";
import { t } from "/static/studio/texts.js";

export default function mount({ element }) {
  const table = element.querySelector(".fit-table");
  const markSelected = () => {
    for (const row of table.querySelectorAll("tr[data-id]"))
      row.classList.toggle("selected", Number(row.dataset.id) === selected());
  };
  onSelect(element, markSelected);
  return (value) => {
    const rows = value?.rows ?? [];
    if (!rows.length) return fill(table, value?.waiting ? h("div.empty.panel", {}, value.waiting) : null);
    fill(
      table,
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            [t("Object"), t("Confidence"), t("Outline"), t("Depth"), t("Verdict")].map((name) => h("th", {}, name)),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row) =>
            h(
              "tr",
              { "data-id": row.id, onclick: () => select(row.id) },
              h("td", {}, chip(row), " ", row.name),
              h("td", {}, row.confidence ? confidenceBadge(row.confidence) : ""),
              h("td", {}, row.iou === null ? "" : t("{iou} % IoU", { iou: Math.round(row.iou * 100) })),
              h(
                "td",
                {},
                row.depth_error === null ? "" : t("{depth_error} error", { depth_error: centimetres(row.depth_error) }),
              ),
              h(
                "td",
                {},
                h(`span.tag.${row.ok ? "good" : "warn"}`, {}, row.ok ? "✓" : "!"),
                " ",
                row.short ?? row.verdict,
              ),
            ),
          ),
        ),
      ),
      (value.notes ?? []).map((note) => h("p.note", {}, note)),
    );
    markSelected();
  };
}
