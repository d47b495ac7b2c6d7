// Form to correct the camera's intrinsics. It shows how wide the picture and the table would be with the typed values.
import { t } from "/static/studio/texts.js";
import { html, signal } from "/static/studio/view.js";

const FIELDS = [
  ["fx", t("Focal length x")],
  ["fy", t("Focal length y")],
  ["cx", t("Principal point x")],
  ["cy", t("Principal point y")],
];
const NAMES = FIELDS.map(([name]) => name);
const degrees = (side, focal) => (2 * Math.atan(side / 2 / focal) * 180) / Math.PI;
const round = (value) => Math.round(value * 100) / 100;

export class CameraForm {
  typed = signal(/** @type {any} */ ({})); // texts by name, until another camera is in use

  /** `onUse` is called with {fx, fy, cx, cy, depth_factor} when a person applies them. */
  constructor(onUse) {
    this.onUse = onUse;
  }

  textsOf({ width, camera }) {
    const { depth_factor } = camera,
      texts = {
        ...Object.fromEntries(NAMES.map((name) => [name, round(camera[name])])),
        depth_factor,
        ...this.typed.value,
      },
      angle = degrees(width, parseFloat(texts.fx));
    return { angle: Number.isFinite(angle) ? angle.toFixed(1) : "", ...texts };
  }

  type(name, text) {
    const { angle: _, ...others } = this.typed.value;
    this.typed.value = { ...others, [name]: text };
  }

  typeAngle(text, { width }) {
    const focal = width / 2 / Math.tan((parseFloat(text) * Math.PI) / 360),
      sides = focal > 0 && { fx: focal.toFixed(1), fy: focal.toFixed(1) };
    this.typed.value = { ...this.typed.value, angle: text, ...sides };
  }

  template(value) {
    const { camera } = value,
      texts = this.textsOf(value),
      numbers = /** @type {any} */ (
        Object.fromEntries([...NAMES, "depth_factor"].map((name) => [name, parseFloat(texts[name])]))
      ),
      isUnchanged =
        numbers.depth_factor === camera.depth_factor &&
        NAMES.every((name) => Math.abs(numbers[name] - camera[name]) < 0.006),
      isUsable = !isUnchanged && Object.values(numbers).every(Number.isFinite);
    return html`<details class="camera" data-edit="camera" data-sends="frame-view.camera" key=${value.image}>
      <summary>${t("Correct the camera")}</summary>
      ${this.fields(value, texts)}
      <p class="estimate">${sizes(value, numbers, isUnchanged)}</p>
      <div class="row">
        <button class="studio-button primary" disabled=${!isUsable} onclick=${() => this.onUse(numbers)}>
          ${t("Apply")}</button>
        ${
          camera.changed &&
          html`<button class="studio-button" onclick=${() => this.onUse(camera.original)}>${t("Reset")}</button>`
        }
        <span class="faint">${t("Recomputes every measurement. You can undo this.")}</span>
      </div>
    </details>`;
  }

  fields(value, texts) {
    const { camera } = value,
      field = (/** @type {string[]} */ [name, title]) => html`<label>${title}
        <input type="number" step="any" value=${texts[name]} aria-label=${title}
          oninput=${({ target }) => this.type(name, target.value)} /></label>`;
    return html`<div class="numbers">
      ${FIELDS.map(field)}
      <label>${t("Field of view, °")}
        <input type="number" step="0.1" min="5" max="160" value=${texts.angle} aria-label=${t("Field of view")}
          oninput=${({ target }) => this.typeAngle(target.value, value)} /></label>
      ${
        camera.median_depth &&
        html`<label>${t("Median distance")}
          <select value=${texts.depth_factor} onchange=${({ target }) => this.type("depth_factor", target.value)}>
            ${camera.factors.map((factor) => distance(camera, factor))}
          </select></label>`
      }
    </div>`;
  }
}

function distance({ median_depth, depth_factor }, factor) {
  const depth = ((median_depth * factor) / depth_factor).toFixed(2);
  return html`<option value=${factor}>${depth} m${factor === 1 && ` (${t("as read")})`}</option>`;
}

// How wide the picture and the table are with these numbers.
function sizes({ width, height, camera }, { fx, fy, depth_factor }, isUnchanged) {
  const closer = depth_factor / camera.depth_factor,
    depth = camera.median_depth * closer,
    wide = [(width / fx) * depth, (height / fy) * depth].map((side) => side.toFixed(2)).join(" × "),
    picture = { sides: wide, depth: depth.toFixed(2) },
    scale = closer * Math.sqrt((camera.fx * camera.fy) / (fx * fy)),
    sides = camera.table?.map((side) => (side * scale).toFixed(2)).join(" × "),
    table = isUnchanged ? t("Visible table: {sides} m.", { sides }) : t("Visible table: about {sides} m.", { sides });
  return [depth > 0 && `${t("The picture is {sides} m at the median depth of {depth} m.", picture)} `, sides && table];
}
