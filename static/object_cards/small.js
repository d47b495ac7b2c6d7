import { chip, h } from "/static/studio/dom.js";
import { badge } from "/static/studio/sure.js";

// Every object small, equal ones side by side in one frame.
export function overview(objects, others, pick) {
  const groups = [], seen = new Set();
  for (const one of objects) {
    if (seen.has(one.id)) continue;
    const group = one.alike?.length ? objects.filter(({ id }) => one.alike.includes(id)) : [one];
    group.forEach(({ id }) => seen.add(id));
    groups.push(group);
  }
  return [
    h("div.all", {}, groups.map((group) => group.length > 1 ? h("div.equal", { style: `--n:${Math.min(group.length, 3)}` }, h("div.count", {}, `${group.length} alike`), group.map((one) => small(one, pick))) : small(group[0], pick))),
    others.length ? [h("h4", {}, "Not objects"), h("div.all", {}, others.map((one) => small(one, pick)))] : null,
  ];
}

function small(one, pick) {
  const asset = one.match?.asset;
  return h("article", { "data-id": one.id, tabindex: "0", onclick: () => pick(one.id), onkeydown: (event) => { if (event.key === "Enter") { event.stopPropagation(); pick(one.id); } } },
    h("div.crop", { style: `background-image:url("${one.crop}")` }, chip(one)),
    h("div.stands", { style: asset && `background-image:url("${asset.image}")` }, asset ? "" : one.match ? "from the view" : "…"),
    h("div.words", {}, h("strong", {}, one.name), h("span.faint", {}, one.is_object ? asset?.name ?? (!one.match ? "not compared yet" : `${one.match.source === "human" ? "made from the view" : "no asset fits"}${one.placed?.made ? `: ${one.placed.made.as}` : ""}`) : "left out of the twin"), badge(one.sure)));
}
