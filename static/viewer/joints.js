// A slider per joint of the selected object. The server moves the joint; the slider follows its position.
import { t } from "../studio/texts.js";

const UNITS = { hinge: ["°", 180 / Math.PI, 0], slide: [" cm", 100, 1] };

const readable = (name) => name.replaceAll(/[_/]+/g, " ").trim();

export class Joints {
  /** `send(op, fields)` sends a command to the server. `panel` is hidden if the selected object has no joints. */
  constructor(panel, send) {
    this.panel = panel;
    this.send = send;
    this.all = [];
    this.values = [];
    this.rows = [];
    this.displayNames = {}; // display names of joints: {object: {joint: name}}
    this.draggedIndex = -1;
  }

  /** Sets the joints of a new view. A single object needs no selection. */
  show(joints, names) {
    this.all = joints ?? [];
    this.singleObject = names.length === 1 ? names[0] : "";
    this.values = this.all.map(() => 0);
    this.select(this.object ?? "");
  }

  select(object) {
    this.object = object;
    const shownObject = object || this.singleObject;
    this.rows = this.all.flatMap((joint, index) => (joint.object === shownObject ? [this.#row(joint, index)] : []));
    this.panel.replaceChildren(...this.rows.map((row) => row.label));
    this.panel.hidden = !this.rows.length;
    this.update(this.values);
  }

  /** Updates the sliders; values in radians and metres, in the order of the header's joints. */
  update(values) {
    this.values = values ?? this.values;
    for (const row of this.rows) if (row.at !== this.draggedIndex) row.set(this.values[row.at] ?? 0);
  }

  #row(joint, index) {
    const [unit, factor, digits] = UNITS[joint.kind];
    const [low, high] = joint.range;
    const label = document.createElement("label");
    const [name, slider, output] = ["span", "input", "output"].map((tag) =>
      label.appendChild(document.createElement(tag)),
    );
    const length = (value) => `${(factor * value).toFixed(digits).replace(/^-(0\.?0*)$/, "$1")}${unit}`;
    name.textContent = readable(this.displayNames[joint.object]?.[joint.name] ?? joint.name);
    const motion = joint.kind === "hinge" ? t("rotates") : t("slides");
    label.title = t("{name}: {motion} from {low} to {high}", {
      name: name.textContent,
      motion,
      low: length(low),
      high: length(high),
    });
    Object.assign(slider, { type: "range", min: low, max: high, step: (high - low) / 200, ariaLabel: label.title });
    slider.addEventListener("input", () => {
      this.draggedIndex = index;
      output.textContent = length(slider.valueAsNumber);
      this.send("joint", { number: joint.number, value: slider.valueAsNumber });
    });
    slider.addEventListener("change", () => (this.draggedIndex = -1));
    const set = (value) => {
      slider.value = String(value);
      output.textContent = length(value);
    };
    return { at: index, label, set };
  }
}
