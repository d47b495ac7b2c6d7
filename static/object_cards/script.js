import { chip, fill, h, sizeText } from "/static/studio/dom.js";
import { onSelect, select, selected } from "/static/studio/selection.js";

const best = 4;

export default function mount({ element, trigger }) {
  const list = element.querySelector(".object-cards");
  const all = new Set();
  let objects = [], empty = "";
  const decide = (kind, data) => trigger("decide", { kind, ...data });

  const bars = (scores) => h("span.bars", {}, Object.entries(scores).map(([name, score]) =>
    h("span.bar", { title: `${name}: ${Math.round(score * 100)} of 100` }, h("span.what", {}, name === "appearance" ? "pattern" : name), h("span.track", {}, h("span.fill", { style: `width:${Math.round(score * 100)}%` })))));

  const candidate = (object, one, rank) => {
    const on = object.match.asset_id === one.asset_id, machine = rank === 0;
    return h(`button.asset${on ? ".on" : ""}`, { "aria-pressed": String(on), title: `${one.name}: ${one.reason}`, onclick: (event) => { event.stopPropagation(); select(object.id); if (!on) decide("choose_asset", { id: object.id, asset_id: one.asset_id }); } },
      h("img", { src: one.image, alt: one.name, loading: "lazy" }),
      h("span.asset-name", {}, one.name),
      h("span.line", {}, h("b", {}, `${Math.round(one.score * 100)} %`), machine && h("span.tag", {}, object.match.asset_id === null && object.match.source !== "human" ? "nearest" : "best match"), on && h("span.tag.good", {}, "✓ chosen")),
      bars(one.scores));
  };
  const card = (object) => {
    const candidates = object.match?.candidates ?? [], more = all.has(object.id) ? candidates : candidates.slice(0, best);
    const fromView = object.match && object.match.asset_id === null;
    return h("article.panel", { "data-id": object.id, onclick: () => select(object.id) },
      h("div.seen", {},
        h("div.crop", { style: `background-image:url("${object.crop}")` }, chip(object)),
        h("strong", {}, object.name),
        h("span.muted", {}, object.size ? object.caption.replace(/,? *[\d.]+ x [\d.]+ x [\d.]+ cm/, "") : object.caption),
        object.size && h("span.faint", {}, sizeText(object.size)),
        h("span", {}, h("span.tag", {}, object.source === "measured" ? "measured" : object.source === "human" ? "said by a person" : `said by ${object.source}`)),
        (object.warnings ?? []).map((text) => h("span.warn", {}, text))),
      h("div.found", {},
        !object.match ? h("p.muted", {}, object.is_object ? "Not compared with the library yet." : "Marked as not an object, so it is left out of the twin.") : [
          h("p.reason", {}, object.match.source === "human" ? [h("span.tag.good", {}, "chosen by a person"), " The matcher's best: ", candidates[0] ? `${candidates[0].name}, ${candidates[0].reason}` : "none"]
            : [h("span.tag", {}, `chosen by ${object.match.source === "measured" ? "the matcher" : object.match.source}`), " ", object.match.reason]),
          h("div.assets", {}, more.map((one, rank) => candidate(object, one, rank)))]),
      h("div.actions", {},
        object.match && h(`button.studio-button${fromView ? ".on" : ""}`, { disabled: fromView, onclick: (event) => { event.stopPropagation(); decide("choose_asset", { id: object.id, asset_id: null }); } }, fromView ? "✓ Made from the view" : "Make it from the view"),
        h("button.studio-button", { onclick: (event) => { event.stopPropagation(); decide("not_object", { id: object.id, value: object.is_object }); } }, object.is_object ? "Not an object" : "It is an object"),
        candidates.length > best && h("button.studio-button.plain", { onclick: (event) => { event.stopPropagation(); all.has(object.id) ? all.delete(object.id) : all.add(object.id); draw(); } }, all.has(object.id) ? "Fewer" : `${candidates.length - best} more`)));
  };
  const mark = () => list.querySelectorAll("article").forEach((one) => one.classList.toggle("selected", Number(one.dataset.id) === selected()));
  const draw = () => {
    fill(list, objects.length ? objects.map(card) : h("div.empty.panel", {}, empty));
    mark();
  };
  onSelect(element, (id) => { mark(); list.querySelector(`[data-id="${id}"]`)?.scrollIntoView({ block: "nearest", behavior: "smooth" }); });
  return (value) => { objects = value?.objects ?? []; empty = value?.waiting ?? ""; draw(); };
}
