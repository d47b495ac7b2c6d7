// Fields for an object's mass and friction, each with its plausible range and where the value comes from.
import { h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const SOURCES = {
  asset: t("from the asset"),
  "category table": t("typical of its category"),
  size: t("from its size"),
  "": t("computing …"),
  person: t("set by you"),
};

export function physicsFields(object, decide) {
  const save = (mass, friction) => decide("physics", { id: object.id, mass, friction });
  const isOverridden = (field) => object[field].source === "person" || object[field].source.startsWith("model ");
  const override = (field) => (isOverridden(field) ? object[field].value : null);
  const hasOverride = isOverridden("mass") || isOverridden("friction");
  return [
    numberField(t("Mass"), object.mass, 1000, "g", 0, (value) => save(value, override("friction"))),
    numberField(t("Friction"), object.friction, 1, "", 2, (value) => save(override("mass"), value)),
    hasOverride &&
      h(
        "button.studio-button",
        {
          "data-sends": "adjuster.decide",
          onclick: () => save(null, null),
          title: t("Discard your mass and friction"),
        },
        t("Reset"),
      ),
  ];
}

export const inertia = (object) =>
  h(
    "div.inertia",
    {
      title: t("Principal moments about the centre of mass, computed by MuJoCo from the collision geoms"),
    },
    h("span.label", {}, t("Inertia")),
    h(
      "span",
      {},
      object.inertia ? `${object.inertia.map((value) => significant(value * 1e4)).join(" · ")} kg cm²` : "…",
    ),
  );

function numberField(name, { value, range: [low, high], source }, factor, unit, digits, save) {
  const hasRange = high > low,
    isOutside = hasRange && (value < low * 0.999 || value > high * 1.001);
  const format = (metric) => (digits ? (metric * factor).toFixed(digits) : significant(metric * factor));
  const plausible = hasRange
    ? t("Plausible: {low} to {high} {unit}", { low: format(low), high: format(high), unit }).trim()
    : "";
  return h(
    "div.property",
    {},
    h(
      "label.label",
      {},
      name,
      h("input.number", {
        "data-sends": "adjuster.decide",
        type: "number",
        min: 0,
        step: "any",
        value: format(value),
        "aria-label": unit ? t("{name} in {unit}", { name, unit }) : name,
        onkeydown: (event) => {
          event.stopPropagation();
          if (event.key === "Enter") event.target.blur();
        },
        onchange: ({ target }) => {
          if (Number(target.value) > 0) save(Number(target.value) / factor);
          else target.value = format(value);
        },
      }),
      unit,
    ),
    hasRange && rangeBar(value, low, high, plausible),
    h(
      "span.source",
      { title: plausible },
      isOutside
        ? h("span.tag.warn", {}, t("! Outside {low}–{high}", { low: format(low), high: format(high) }))
        : `${format(low)}–${format(high)} ${unit} · `,
      isOutside && source === "person" ? "" : (SOURCES[source] ?? source),
    ),
  );
}

// Logarithmic scale from 0.5 times the lower to 1.5 times the upper bound.
function rangeBar(value, low, high, plausible) {
  const [from, to] = [Math.log(low / 2), Math.log(high * 1.5)];
  const at = (number) => `${Math.max(0, Math.min(100, ((Math.log(number) - from) / (to - from)) * 100))}%`;
  return h(
    "span.range",
    { title: plausible, role: "img", "aria-label": plausible },
    h("i.band", { style: `left:${at(low)};right:calc(100% - ${at(high)})` }),
    h("i.mark", { style: `left:${at(value)}` }),
  );
}

const significant = (value) =>
  value >= 100
    ? value.toFixed(0)
    : value
        .toPrecision(2)
        .replace(/\.0+$/, "")
        .replace(/(\.\d*?)0+$/, "$1");
