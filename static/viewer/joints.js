// A slider per joint of the selected object. The server moves the joint; the slider follows its position.
import { t } from "../studio/texts.js";
import { batch, html, signal } from "../studio/view.js";

const UNITS = { hinge: ["°", 180 / Math.PI, 0], slide: [" cm", 100, 1] };
const STEPS = 200; // of a slider

const readable = (name) => name.replaceAll(/[_/]+/g, " ").trim();

export class Joints {
  all = signal(/** @type {any[]} */ ([]));
  values = signal(/** @type {number[]} */ ([])); // radians and metres, in the order of the header's joints
  object = signal("");
  displayNames = signal(/** @type {any} */ ({})); // display names of joints: {object: {joint: name}}
  dragged = signal(/** @type {{index: number, value: number} | null} */ (null));
  singleObject = ""; // needs no selection

  /** `send(op, fields)` sends a command to the server. */
  constructor(send) {
    this.send = send;
  }

  /** Sets the joints of a new view. */
  show(joints, names) {
    batch(() => {
      this.singleObject = names.length === 1 ? names[0] : "";
      this.all.value = joints ?? [];
      this.values.value = this.all.value.map(() => 0);
    });
  }

  /** Hidden if the selected object has no joints. */
  template() {
    const object = this.object.value || this.singleObject,
      rows = this.all.value.map((joint, index) => joint.object === object && this.#row(joint, index)).filter(Boolean);
    return html`<div class="panel" id="joints" role="group" aria-label=${t("Joints of the selected object")}
      hidden=${!rows.length}>${rows}</div>`;
  }

  #row(joint, index) {
    const [unit, factor, digits] = UNITS[joint.kind],
      [low, high] = joint.range,
      dragged = this.dragged.value,
      value = dragged?.index === index ? dragged.value : (this.values.value[index] ?? 0);
    const length = (amount) => `${(factor * amount).toFixed(digits).replace(/^-(0\.?0*)$/, "$1")}${unit}`;
    const name = readable(this.displayNames.value[joint.object]?.[joint.name] ?? joint.name),
      motion = joint.kind === "hinge" ? t("rotates") : t("slides"),
      title = t("{name}: {motion} from {low} to {high}", { name, motion, low: length(low), high: length(high) });
    const drag = ({ target: { valueAsNumber } }) => {
      this.dragged.value = { index, value: valueAsNumber };
      this.send("joint", { number: joint.number, value: valueAsNumber });
    };
    return html`<label title=${title} key=${index}>
      <span>${name}</span>
      <input type="range" min=${low} max=${high} step=${(high - low) / STEPS} value=${value} aria-label=${title}
        oninput=${drag} onchange=${() => (this.dragged.value = null)} />
      <output>${length(value)}</output>
    </label>`;
  }
}
