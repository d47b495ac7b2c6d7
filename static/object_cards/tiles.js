import { h, sizeText } from "/static/studio/dom.js";

export const FIRST = 4;
export const NAMES = { appearance: "pattern" };

// What an object may be taken for: the matcher's candidates, what a person chose beside them, and what the view shows.
// A way that is looked at stands in the place of what the view shows.
export function options(object, way) {
  const { match } = object, candidates = match?.candidates ?? [];
  if (!match) return [];
  const strange = match.asset && !candidates.some((one) => one.asset_id === match.asset_id) ? [{ ...match.asset, reason: "found by a person, not among the matcher's candidates" }] : [];
  const made = match.asset_id === null && object.placed?.made;
  return [...strange, ...candidates, way ?? { asset_id: "", name: "From the view", way: made ? made.as : "", reason: made ? made.says : "made from what the camera saw of it; the far side is guessed" }];
}

// "From the view: turned profile"
export const fullName = ({ name, way }) => (way ? `${name}: ${way}` : name);

export const WAY = "way:";

// One way to make it from the view, to be looked at before it is chosen; `drawn` as the server told.
export const madeSo = ({ way, title }, drawn) => ({ asset_id: `${WAY}${way}`, name: "From the view", way: title.split(/ \(|,/)[0].toLowerCase(), reason: drawn?.says ?? "made from what the camera saw of it; the far side is guessed" });

// Whether this is what stands for the object now, or is decided to.
export const chosen = (object, one) => (one.asset_id.startsWith(WAY) ? object.match?.asset_id === null && object.made === one.asset_id.slice(WAY.length) : (object.match?.asset_id ?? "") === one.asset_id);

export const machineChose = (object, one) => (object.match?.machine?.asset_id ?? "") === one.asset_id;

// {scene, drawn} as the server told; {look, choose} are called with an option.
export function tile(object, one, { scene, drawn }, looked, { look, choose }) {
  const on = chosen(object, one), ready = drawn?.state === "ready" && scene;
  const picture = ready ? [h("img.gone", { src: scene.gone, alt: "" }), h("img.candidate", { src: drawn.image, alt: one.name })]
    : one.image ? h("img.card", { src: one.image, alt: one.name, loading: "lazy" }) : h("div.unmade", { style: object.crop && `background-image:url("${object.crop}")` });
  return h(`button.asset${on ? ".on" : ""}${looked ? ".looked" : ""}`, {
    "data-asset": one.asset_id, "aria-pressed": String(on), title: `${fullName(one)}: ${one.reason}`,
    onclick: (event) => { event.stopPropagation(); looked && event.detail === 0 ? choose(one) : look(one); }, ondblclick: () => choose(one),
  },
  h("span.picture", {}, picture, drawn?.state === "drawing" && h("span.drawing", {}, "drawing …")),
  h("span.asset-name", {}, one.name),
  h("span.line", {}, one.score !== undefined && h("b", {}, `${Math.round(one.score * 100)} %`), one.way && h("span.faint", {}, one.way), one.size && h("span.faint", {}, sizeText(one.size).replace(" cm", "")), on && h("span.tag.good", {}, "✓ chosen"), !on && machineChose(object, one) && h("span.tag", {}, "machine's choice")));
}

export const bars = (scores = {}) => h("div.bars", {}, Object.entries(scores).map(([name, score]) =>
  h("div.bar", { title: `${NAMES[name] ?? name}: ${Math.round(score * 100)} of 100` }, h("span.what", {}, NAMES[name] ?? name), h("span.track", {}, h("span.fill", { style: `width:${Math.round(score * 100)}%` })), h("span.number", {}, String(Math.round(score * 100))))));
