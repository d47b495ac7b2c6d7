// Mass and friction of an object: the number, the plausible range with the number marked in it, and who says so.
import { h } from "/static/studio/dom.js";

const SOURCES = {
  asset: "from the asset", "category table": "typical of its kind", size: "from its size", "": "working …", person: "said by a person",
};

export function weights(one, decide) {
  const set = (mass, friction) => decide("physics", { id: one.id, mass, friction });
  const said = (what) => one[what].source === "person" || one[what].source.startsWith("model ");
  const own = (what) => (said(what) ? one[what].value : null);
  const byHand = said("mass") || said("friction");
  return [
    weight("Mass", one.mass, 1000, "g", 0, (value) => set(value, own("friction"))),
    weight("Friction", one.friction, 1, "", 2, (value) => set(own("mass"), value)),
    byHand && h("button.studio-button", { onclick: () => set(null, null), title: "Mass and friction as they were before a person gave them" }, "Reset"),
  ];
}

export const inertia = (one) => h("div.inertia", { title: "Principal moments of inertia about the centre of mass, as MuJoCo computes them from the collision shapes" },
  h("span.what", {}, "Inertia"),
  h("span", {}, one.inertia ? `${one.inertia.map((value) => short(value * 1e4)).join(" · ")} kg cm²` : "…"));

function weight(name, { value, range: [low, high], source }, factor, unit, digits, set) {
  const known = high > low, outside = known && (value < low * 0.999 || value > high * 1.001);
  const shown = (metric) => (digits ? (metric * factor).toFixed(digits) : short(metric * factor));
  const plausible = known ? `plausible ${shown(low)} to ${shown(high)} ${unit}`.trim() : "";
  return h("div.weight", {},
    h("label.what", {}, name, h("input.number", {
      type: "number", min: 0, step: "any", value: shown(value), "aria-label": unit ? `${name} in ${unit}` : name,
      onkeydown: (event) => { event.stopPropagation(); if (event.key === "Enter") event.target.blur(); },
      onchange: ({ target }) => { if (Number(target.value) > 0) set(Number(target.value) / factor); else target.value = shown(value); },
    }), unit),
    known && bar(value, low, high, plausible),
    h("span.why", { title: plausible }, outside ? h("span.tag.warn", {}, `! outside ${shown(low)}–${shown(high)}`) : `${shown(low)}–${shown(high)} ${unit} · `, outside && source === "person" ? "" : SOURCES[source] ?? source));
}

// From half the least to half as much again as the most, by ratio, so that 10 g and 1 kg are read alike.
function bar(value, low, high, plausible) {
  const [from, to] = [Math.log(low / 2), Math.log(high * 1.5)];
  const at = (number) => `${Math.max(0, Math.min(100, ((Math.log(number) - from) / (to - from)) * 100))}%`;
  return h("span.range", { title: plausible, role: "img", "aria-label": plausible },
    h("i.band", { style: `left:${at(low)};right:calc(100% - ${at(high)})` }), h("i.mark", { style: `left:${at(value)}` }));
}

const short = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(2).replace(/\.0+$/, "").replace(/(\.\d*?)0+$/, "$1"));
