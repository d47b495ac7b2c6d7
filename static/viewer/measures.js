// Goals over time as bands below the timeline, and the quantity of a goal or a check as a line above it.
import { t } from "../studio/texts.js";
import { html, signal } from "../studio/view.js";

const COLOURS = ["#7bd88f", "#ffb86b", "#e6b8ff", "#5fd4d0", "#ff8f7a", "#f2e07a"]; // not the clock's blue
const FAILED = "#ff8f7a",
  PASSED = "#7bd88f";
const MAX_BANDS = 6,
  CHART_HEIGHT = 84;

export class Measures {
  goals = signal(/** @type {any[]} */ ([]));
  chart = signal(/** @type {any} */ (null)); // the line that is shown
  checks = [];
  #bands = /** @type {HTMLElement} */ (null);
  #resized = new ResizeObserver(() => this.#drawBands());

  constructor(timeline) {
    this.timeline = timeline;
  }

  show({ goals, checks }) {
    this.hide();
    this.checks = checks;
    this.goals.value = goals.slice(0, MAX_BANDS);
    document.body.style.setProperty("--bands", String(this.goals.value.length));
    this.#drawBands();
  }

  /** Shows the quantity of a check by name; hides the line for a name that has none. */
  showCheck(name) {
    const check = this.checks.find((other) => other.name === name);
    if (check?.quantity) this.#draw(check.quantity, check.passed ? PASSED : FAILED);
    else this.hide();
  }

  hide() {
    this.chart.value = null;
  }

  /** The bands, for the timeline's track. */
  bands() {
    const band = ({ name, met, quantity }, index) => html`<canvas
      title=${met ? t("{name}: met at the end", { name }) : t("{name}: not met at the end", { name })}
      onpointerenter=${() => this.#draw(quantity, COLOURS[index])} onpointerleave=${() => this.hide()} />`;
    return html`<div id="bands" ref=${this.#keepBands}>${this.goals.value.map(band)}</div>`;
  }

  #keepBands = (element) => {
    this.#bands = element;
    this.#resized.disconnect();
    if (element) this.#resized.observe(element);
  };

  // A band is solid where its goal is met, else the fainter the farther away it is.
  #drawBands() {
    this.#bands.querySelectorAll("canvas").forEach((canvas, index) => {
      const { times, values } = this.goals.value[index].quantity,
        [begin, end] = [times[0], times.at(-1)];
      canvas.style.width = `${(100 * (end - begin)) / (this.timeline.length.value || end)}%`;
      const width = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio));
      Object.assign(canvas, { width, height: 1 });
      const context = canvas.getContext("2d"),
        farthest = Math.max(...values, 1e-6);
      context.fillStyle = COLOURS[index];
      for (let x = 0, row = 0; x < width; x++) {
        const time = begin + (x / width) * (end - begin);
        while (row + 1 < times.length && times[row + 1] <= time) row++;
        context.globalAlpha = values[row] <= 0 ? 1 : 0.12 + 0.33 * (1 - values[row] / farthest);
        context.fillRect(x, 0, 1, 1);
      }
    });
  }

  /** Draws the line above the track as it is now. */
  #draw({ label, unit, times, values, tolerance }, colour) {
    const { left, width } = this.timeline.track.getBoundingClientRect(),
      { begin, time: now } = this.timeline.frame.value,
      all = tolerance === null ? values : [...values, tolerance],
      [low, high] = [Math.min(0, ...all), Math.max(...all, 1e-3)];
    const x = (time) => ((time - begin) / this.timeline.length.value) * width,
      y = (value) => 22 + (1 - (value - low) / (high - low)) * (CHART_HEIGHT - 30);
    const bound = tolerance === null ? "" : ` ${t("· tolerance {tolerance} {unit}", { tolerance, unit })}`;
    this.chart.value = {
      left,
      width,
      colour,
      points: times.map((time, i) => `${x(time).toFixed(1)},${y(values[i]).toFixed(1)}`).join(" "),
      bound: tolerance === null ? null : y(tolerance),
      now: x(now),
      text: t("{label} · {value} {unit} at the end{bound}", { label, value: format(values.at(-1)), unit, bound }),
    };
  }

  template() {
    const chart = this.chart.value;
    if (!chart) return html`<div id="measure" role="status" hidden />`;
    const { left, width, colour, points, bound, now, text } = chart;
    return html`<div id="measure" role="status" style="left:${left}px;width:${width}px">
      <svg viewBox="0 0 ${width} ${CHART_HEIGHT}" height=${CHART_HEIGHT}>
        ${bound !== null && html`<line class="tolerance" x1="0" x2=${width} y1=${bound} y2=${bound} />`}
        <polyline points=${points} stroke=${colour} />
        <line class="now" x1=${now} x2=${now} y1="18" y2="200" />
      </svg>
      <span>${text}</span>
    </div>`;
  }
}

const format = (value) => (Math.abs(value) < 10 ? value.toFixed(1) : value.toFixed(0));
