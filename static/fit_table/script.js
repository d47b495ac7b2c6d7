import { centimetres, chip, fill, h } from "/static/studio/dom.js";
import { badge } from "/static/studio/sure.js";
import { onSelect, select, selected } from "/static/studio/selection.js";

export default function mount({ element }) {
  const table = element.querySelector(".fit-table");
  const mark = () => table.querySelectorAll("tr[data-id]").forEach((row) => row.classList.toggle("selected", Number(row.dataset.id) === selected()));
  onSelect(element, mark);
  return (value) => {
    const rows = value?.rows ?? [];
    if (!rows.length) return fill(table, value?.waiting ? h("div.empty.panel", {}, value.waiting) : null);
    fill(table, h("table", {},
      h("thead", {}, h("tr", {}, ["Object", "Sure", "Outline", "Depth", "Verdict"].map((name) => h("th", {}, name)))),
      h("tbody", {}, rows.map((row) => h("tr", { "data-id": row.id, onclick: () => select(row.id) },
        h("td", {}, chip(row), " ", row.name),
        h("td", {}, row.sure ? badge(row.sure) : ""),
        h("td", {}, row.iou === null ? "" : `${Math.round(row.iou * 100)} % overlap`),
        h("td", {}, row.depth_error === null ? "" : `${centimetres(row.depth_error)} off`),
        h("td", {}, h(`span.tag.${row.ok ? "good" : "warn"}`, {}, row.ok ? "✓" : "!"), " ", row.short ?? row.verdict))))),
      (value.notes ?? []).map((note) => h("p.note", {}, note)));
    mark();
  };
}
