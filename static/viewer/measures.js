// Goals over time as bands below the timeline, and the quantity of a goal or a check as a line above it.
import { t } from "../studio/texts.js";

const COLOURS = ["#7bd88f", "#ffb86b", "#e6b8ff", "#5fd4d0", "#ff8f7a", "#f2e07a"]; // not the clock's blue
const FAILED = "#ff8f7a",
  PASSED = "#7bd88f";
const MAX_BANDS = 6,
  CHART_HEIGHT = 84,
  SVG = "http://www.w3.org/2000/svg";

export class Measures {
  constructor(timeline) {
    this.timeline = timeline;
    this.bands = document.getElementById("bands");
    this.panel = document.getElementById("measure");
    this.value = { goals: [], checks: [] };
    new ResizeObserver(() => this.#drawBands()).observe(this.bands);
  }

  show(value) {
    this.value = value;
    this.hide();
    const goals = value.goals.slice(0, MAX_BANDS);
    document.body.style.setProperty("--bands", goals.length);
    this.bands.replaceChildren(
      ...goals.map((goal, index) => {
        const canvas = document.createElement("canvas");
        canvas.title = goal.met
          ? t("{name}: met at the end", { name: goal.name })
          : t("{name}: not met at the end", { name: goal.name });
        canvas.onpointerenter = () => this.#draw(goal.quantity, COLOURS[index % COLOURS.length]);
        canvas.onpointerleave = () => this.hide();
        return canvas;
      }),
    );
    this.#drawBands();
  }

  /** Shows the quantity of a check by name; hides the line for a name that has none. */
  showCheck(name) {
    const check = this.value.checks.find((other) => other.name === name);
    if (!check?.quantity) return this.hide();
    this.#draw(check.quantity, check.passed ? PASSED : FAILED);
  }

  hide() {
    this.panel.hidden = true;
  }

  // A band is solid where its goal is met, else the fainter the farther away it is.
  #drawBands() {
    [...this.bands.children].forEach((canvas, index) => {
      const { times, values } = this.value.goals[index].quantity;
      canvas.style.width = `${(100 * (times.at(-1) - times[0])) / (this.timeline.length || times.at(-1))}%`;
      const width = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio));
      Object.assign(canvas, { width, height: 1 });
      const context = canvas.getContext("2d");
      const [begin, end] = [times[0], times.at(-1)];
      const farthest = Math.max(...values, 1e-6);
      let row = 0;
      for (let x = 0; x < width; x++) {
        const time = begin + (x / width) * (end - begin);
        while (row + 1 < times.length && times[row + 1] <= time) row++;
        context.globalAlpha = values[row] <= 0 ? 1 : 0.12 + 0.33 * (1 - values[row] / farthest);
        context.fillStyle = COLOURS[index % COLOURS.length];
        context.fillRect(x, 0, 1, 1);
      }
    });
  }

  #draw({ label, unit, times, values, tolerance }, colour) {
    const { left, width } = this.timeline.track.getBoundingClientRect();
    Object.assign(this.panel.style, { left: `${left}px`, width: `${width}px` });
    const all = tolerance === null ? values : [...values, tolerance];
    const [low, high] = [Math.min(0, ...all), Math.max(...all, 1e-3)];
    const { begin, length } = this.timeline;
    const x = (time) => ((time - begin) / length) * width;
    const y = (value) => 22 + (1 - (value - low) / (high - low)) * (CHART_HEIGHT - 30);
    const line = (name, attributes) => {
      const element = document.createElementNS(SVG, name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      return element;
    };
    const chart = line("svg", { viewBox: `0 0 ${width} ${CHART_HEIGHT}`, height: CHART_HEIGHT });
    if (tolerance !== null)
      chart.append(line("line", { class: "tolerance", x1: 0, x2: width, y1: y(tolerance), y2: y(tolerance) }));
    const points = times.map((time, i) => `${x(time).toFixed(1)},${y(values[i]).toFixed(1)}`);
    chart.append(line("polyline", { points: points.join(" "), stroke: colour }));
    chart.append(line("line", { class: "now", x1: x(this.timeline.time), x2: x(this.timeline.time), y1: 18, y2: 200 }));
    const text = document.createElement("span");
    const bound = tolerance === null ? "" : ` ${t("· tolerance {tolerance} {unit}", { tolerance, unit })}`;
    text.textContent = t("{label} · {value} {unit} at the end{bound}", {
      label,
      value: format(values.at(-1)),
      unit,
      bound,
    });
    this.panel.replaceChildren(chart, text);
    this.panel.hidden = false;
  }
}

const format = (value) => (Math.abs(value) < 10 ? value.toFixed(1) : value.toFixed(0));
