// A slider for each joint of the selected object. The server moves the joint; the slider follows where it really is.

const UNITS = { hinge: ["°", 180 / Math.PI, 0], slide: [" cm", 100, 1] };

const words = (name) => name.replaceAll(/[_/]+/g, " ").trim();

export class Joints {
  /** `wish(op, more)` asks the server; `panel` is filled and hidden where nothing selected has joints. */
  constructor(panel, wish) {
    this.panel = panel;
    this.wish = wish;
    this.all = [];
    this.values = [];
    this.rows = [];
    this.called = {}; // what a person calls the part of a joint: {object: {joint: words}}
    this.held = -1;
  }

  /** Of a new view; what stands there alone needs no selecting. */
  show(joints, names) {
    this.all = joints ?? [];
    this.alone = names.length === 1 ? names[0] : "";
    this.values = this.all.map(() => 0);
    this.select(this.object ?? "");
  }

  select(object) {
    this.object = object;
    const shown = object || this.alone;
    this.rows = this.all.flatMap((joint, at) => (joint.object === shown ? [this.#row(joint, at)] : []));
    this.panel.replaceChildren(...this.rows.map((row) => row.label));
    this.panel.hidden = !this.rows.length;
    this.follow(this.values);
  }

  /** Where every joint is, in radians and metres, in the order of the header's joints. */
  follow(values) {
    this.values = values ?? this.values;
    for (const row of this.rows) if (row.at !== this.held) row.set(this.values[row.at] ?? 0);
  }

  #row(joint, at) {
    const [unit, factor, digits] = UNITS[joint.kind];
    const [low, high] = joint.range;
    const label = document.createElement("label");
    const [name, slider, told] = ["span", "input", "output"].map((tag) => label.appendChild(document.createElement(tag)));
    const length = (value) => `${(factor * value).toFixed(digits).replace(/^-(0\.?0*)$/, "$1")}${unit}`;
    name.textContent = words(this.called[joint.object]?.[joint.name] ?? joint.name);
    label.title = `${name.textContent}: ${joint.kind === "hinge" ? "turns" : "slides"} from ${length(low)} to ${length(high)}`;
    Object.assign(slider, { type: "range", min: low, max: high, step: (high - low) / 200, ariaLabel: label.title });
    slider.addEventListener("input", () => {
      this.held = at;
      told.textContent = length(slider.valueAsNumber);
      this.wish("joint", { number: joint.number, value: slider.valueAsNumber });
    });
    slider.addEventListener("change", () => (this.held = -1));
    const set = (value) => {
      slider.value = String(value);
      told.textContent = length(value);
    };
    return { at, label, set };
  }
}
