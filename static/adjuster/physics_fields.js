// Fields for an object's mass and friction, each with its plausible range and where the value comes from.
import { TypedInput } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

const SOURCES = {
  asset: t("from the asset"),
  "category table": t("typical of its category"),
  size: t("from its size"),
  "": t("computing …"),
  person: t("set by you"),
};

export function physicsFields(object, decide) {
  const { id, mass, friction } = object,
    save = (mass, friction) => decide("physics", { id, mass, friction }),
    override = (property) => (property.is_decided ? property.value : null);
  return html`<div class="line physics flow" key=${`physics ${id}`}>
    ${numberField(t("Mass"), mass, 1000, "g", 0, (value) => save(value, override(friction)))}
    ${numberField(t("Friction"), friction, 1, "", 2, (value) => save(override(mass), value))}
    ${
      (mass.is_decided || friction.is_decided) &&
      html`<button class="studio-button" data-sends="adjuster.decide" onclick=${() => save(null, null)}
        title=${t("Discard your mass and friction")}>${t("Reset")}</button>`
    }
  </div>`;
}

export function inertia({ inertia: moments }) {
  const title = t("Principal moments about the centre of mass, computed by MuJoCo from the collision geoms");
  return html`<div class="inertia flow" title=${title}><span class="label">${t("Inertia")}</span>
    <span>${moments ? `${moments.map((value) => significant(value * 1e4)).join(" · ")} kg cm²` : "…"}</span></div>`;
}

function numberField(name, { value, range: [low, high], source, range_source }, factor, unit, digits, save) {
  const format = (metric) => (digits ? (metric * factor).toFixed(digits) : significant(metric * factor)),
    range = { low: format(low), high: format(high) },
    hasRange = high > low,
    isOutside = hasRange && (value < low * 0.999 || value > high * 1.001),
    bounds = hasRange ? t("Plausible: {low} to {high} {unit}", { ...range, unit }).trim() : "",
    by = range_source && range_source !== source ? `(${range_source.replace("model ", "")}) ` : "",
    plausible = bounds && range_source ? t("{range}, says {source}", { range: bounds, source: range_source }) : bounds;
  const onChange = ({ target }) => {
    if (Number(target.value) > 0) save(Number(target.value) / factor);
    else target.value = target.defaultValue;
  };
  return html`<div class="property flow">
    <label class="label">${name}
      <${TypedInput} class="number" data-sends="adjuster.decide" type="number" min="0" step="any" value=${format(value)}
        aria-label=${unit ? t("{name} in {unit}", { name, unit }) : name} onkeydown=${leaveOnEnter}
        onchange=${onChange} />${unit}</label>
    ${hasRange && rangeBar(value, low, high, plausible)}
    <span class="source clip" title=${plausible}>
      ${
        isOutside
          ? html`<span class="tag warn">${t("! Outside {low}–{high}", range)}</span>`
          : `${range.low}–${range.high} ${unit} ${by}· `
      }
      ${!(isOutside && source === "person") && (SOURCES[source] ?? source)}
    </span>
  </div>`;
}

/** Keys in a number field are no shortcuts; Enter leaves it. */
export function leaveOnEnter(event) {
  event.stopPropagation();
  if (event.key === "Enter") event.target.blur();
}

// Logarithmic scale from 0.5 times the lower to 1.5 times the upper bound.
function rangeBar(value, low, high, plausible) {
  const [from, to] = [Math.log(low / 2), Math.log(high * 1.5)],
    at = (number) => `${Math.max(0, Math.min(100, ((Math.log(number) - from) / (to - from)) * 100))}%`;
  return html`<span class="range" title=${plausible} role="img" aria-label=${plausible}>
    <i class="band" style=${`left:${at(low)};right:calc(100% - ${at(high)})`} />
    <i class="mark" style=${`left:${at(value)}`} />
  </span>`;
}

const significant = (value) =>
  value >= 100
    ? value.toFixed(0)
    : value
        .toPrecision(2)
        .replace(/\.0+$/, "")
        .replace(/(\.\d*?)0+$/, "$1");
