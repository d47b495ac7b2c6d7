// Plots of a comparison in plotly, on one time axis with one cursor: errors, one joint, and both episodes' events.
import { loadPlotly, themeColour } from "/static/studio/plotly.js";
import { t } from "/static/studio/texts.js";
import { html, render } from "/static/studio/view.js";

const ARM_COLOURS = ["#2f7fc1", "#d1622f", "#5b9a3a", "#9a64b5"],
  PHASE_COLOURS = { approach: "#6f8fae", grasp: "#e0a52c", transfer: "#6fb04a", release: "#a771b5" },
  PHASE_NAMES = { approach: t("approach"), grasp: t("grasp"), transfer: t("transfer"), release: t("release") },
  EVENT_NAMES = {
    home: t("home"),
    grasp: t("grasp"),
    lift: t("lift"),
    pass: t("pass"),
    release: t("release"),
    place: t("place"),
    return: t("return"),
  },
  ROWS = { errors: [0.7, 1], joint: [0.38, 0.62], events: [0, 0.3] };
const EPISODES = { real: t("real"), sim: t("simulated"), clock: t("Seconds (real episode)") };
const CROWDED = 0.07; // share of the time axis within which two words would overlap

export const phaseName = (name) => PHASE_NAMES[name] ?? name;
export const eventName = (name) => EVENT_NAMES[name] ?? name;

/** Returns where the word of each event stands: words that would overlap go to both sides. */
function textSides(times, duration) {
  const isNear = (a, b) => Math.abs(times[a] - times[b]) < CROWDED * duration;
  return times.map((_, i) => {
    if (i > 0 && isNear(i, i - 1)) return "top right";
    return i + 1 < times.length && isNear(i, i + 1) ? "top left" : "top center";
  });
}

export class Plots {
  /** `onSeek` gets a time in seconds that was clicked. */
  constructor(onSeek) {
    this.onSeek = onSeek;
    const holder = document.createElement("div");
    render(
      html`<section class="plots" role="img" aria-label=${t("Plots over time")}>
        <div class="plot" /><div class="cursor" hidden />
      </section>`,
      holder,
    );
    this.element = /** @type {HTMLElement} */ (holder.firstElementChild);
    this.plot = /** @type {any} */ (this.element.firstElementChild);
    this.cursor = /** @type {HTMLElement} */ (this.element.lastElementChild);
    new ResizeObserver(() => this.plot._fullLayout && globalThis.Plotly.Plots.resize(this.plot)).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.result && this.#draw());
  }

  /**
   * Plots a result, and one joint of it; `names` are what the episodes and their time are called. With `isCut` the time
   * axis ends where one of them ends.
   */
  async show(result, joint, names = EPISODES, isCut = false) {
    this.result = result;
    this.joint = joint;
    this.names = names;
    this.isCut = isCut;
    await this.#draw();
  }

  select(joint) {
    this.joint = joint;
    return this.#draw();
  }

  /** Moves the cursor to a time. */
  setTime(time) {
    this.time = time;
    const axis = this.plot._fullLayout?.xaxis;
    if (!axis) return;
    const inside = time >= axis.range[0] && time <= axis.range[1];
    this.cursor.hidden = !inside;
    this.cursor.dataset.time = time.toFixed(2);
    if (inside) this.cursor.style.left = `${axis._offset + axis.l2p(time)}px`;
  }

  async #draw() {
    const Plotly = await loadPlotly();
    const { traces, categories } = this.#traces();
    await Plotly.react(this.plot, traces, this.#layout(categories), {
      displayModeBar: false,
      responsive: true,
      plotlyServerURL: "",
    });
    if (!this.isListening) {
      this.isListening = true;
      this.plot.on("plotly_click", ({ points }) => this.onSeek(points[0].x));
      this.plot.on("plotly_afterplot", () => this.setTime(this.time ?? 0));
    }
    this.setTime(this.time ?? 0);
  }

  get #duration() {
    return this.result.comparison.overlap_s;
  }

  get #arms() {
    return Object.keys(this.result.comparison.arms);
  }

  #traces() {
    const { curves, joints, comparison } = this.result;
    const arms = this.#arms;
    const line = (name, x, y, color, more = {}) => ({
      name,
      x,
      y,
      type: "scatter",
      mode: "lines",
      line: { color, width: 1.5, ...more.line },
      ...more.trace,
    });
    const errors = arms.map((arm, i) =>
      line(arm, curves[`rmse_${arm}`].t, curves[`rmse_${arm}`].y, ARM_COLOURS[i % ARM_COLOURS.length]),
    );
    if (arms.length > 1)
      errors.push(
        line(t("overall"), curves.rmse_overall.t, curves.rmse_overall.y, themeColour(this.element, "--ink-3")),
      );
    const joint = joints[this.joint];
    const onJoint = { trace: { yaxis: "y2", showlegend: false } };
    const values = [
      line(this.names.real, joint.t, joint.real, themeColour(this.element, "--ink"), onJoint),
      line(this.names.sim, joint.t_sim, joint.sim, themeColour(this.element, "--accent"), {
        ...onJoint,
        line: { dash: "dot" },
      }),
    ];
    const categories = [];
    const strips = arms.flatMap((arm, i) =>
      [
        ["real_s", this.names.real, "circle"],
        ["sim_on_real_s", this.names.sim, "diamond-open"],
      ].map(([key, name, symbol]) => {
        const row = arms.length > 1 ? `${arm} ${name}` : name;
        categories.push(row);
        const events = comparison.events.filter((event) => event.arm === arm && event[key] !== null);
        return {
          name: row,
          x: events.map((event) => event[key]),
          y: events.map(() => row),
          text: events.map((event) => eventName(event.name)),
          type: "scatter",
          mode: key === "real_s" ? "markers+text" : "markers",
          textposition: textSides(
            events.map((event) => event[key]),
            this.#duration,
          ),
          textfont: { size: 12 },
          marker: { color: ARM_COLOURS[i % ARM_COLOURS.length], size: 8, symbol },
          yaxis: "y3",
          showlegend: false,
          hovertemplate: "%{text}, %{x:.2f} s",
        };
      }),
    );
    return { traces: [...errors, ...values, ...strips], categories };
  }

  #layout(categories) {
    const grid = {
      gridcolor: themeColour(this.element, "--line"),
      zeroline: false,
      linecolor: themeColour(this.element, "--line-2"),
    };
    const { onset } = this.result.comparison;
    const axis = (domain, title, more = {}) => ({
      domain,
      title: { text: title, font: { size: 12 } },
      ...grid,
      ...more,
    });
    return {
      margin: { l: 104, r: 12, t: 22, b: 34 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: themeColour(this.element, "--ink-2"), size: 12, family: "system-ui, sans-serif" },
      hovermode: "x unified",
      hoverlabel: {
        bgcolor: themeColour(this.element, "--paper"),
        bordercolor: themeColour(this.element, "--line-2"),
        font: { size: 12 },
      },
      legend: { orientation: "h", x: 1, xanchor: "right", y: 1, yanchor: "bottom" },
      xaxis: { ...grid, anchor: "y3", title: { text: this.names.clock, font: { size: 12 } }, ...this.#range() },
      yaxis: axis(ROWS.errors, "RMSE_norm", { rangemode: "tozero" }),
      yaxis2: axis(ROWS.joint, this.joint),
      yaxis3: axis(ROWS.events, "", {
        type: "category",
        categoryorder: "array",
        categoryarray: [...categories].reverse(),
        dtick: 1,
        automargin: true,
        range: [-0.5, categories.length - 0.1],
      }),
      shapes: [...this.#phases(), ...this.#gaps(), ...(onset ? [this.#onset(onset)] : [])],
    };
  }

  #range() {
    const { t: times } = this.result.curves.rmse_overall;
    return this.isCut ? { range: [times[0], times.at(-1)] } : {};
  }

  /** The phases of the arm whose joint is shown, behind the errors. */
  #phases() {
    const { arms } = this.result.comparison;
    const arm = this.#arms.find((name) => arms[name].joints.some((joint) => joint.name === this.joint));
    return arms[arm].phases.map((phase) => ({
      type: "rect",
      xref: "x",
      yref: "y domain",
      x0: phase.start_s,
      x1: phase.stop_s,
      y0: 0,
      y1: 1,
      line: { width: 0 },
      fillcolor: PHASE_COLOURS[phase.name],
      opacity: 0.16,
      layer: "below",
      label: {
        text: phase.stop_s - phase.start_s > CROWDED * this.#duration ? phaseName(phase.name) : "",
        textposition: "top left",
        font: { size: 12 },
      },
    }));
  }

  /** Where an episode has no samples, behind all plots. */
  #gaps() {
    return this.result.comparison.gaps.map(({ start_s, stop_s }) => ({
      type: "rect",
      xref: "x",
      yref: "paper",
      x0: start_s,
      x1: stop_s,
      y0: 0,
      y1: 1,
      line: { width: 0 },
      fillcolor: themeColour(this.element, "--ink-3"),
      opacity: 0.22,
      layer: "below",
      label: { text: t("no samples"), textposition: "bottom center", font: { size: 12 } },
    }));
  }

  #onset(onset) {
    return {
      type: "line",
      xref: "x",
      yref: "paper",
      x0: onset.time_s,
      x1: onset.time_s,
      y0: 0,
      y1: 1,
      line: { color: themeColour(this.element, "--bad"), width: 1.5, dash: "dash" },
      label: {
        text: t("onset"),
        textposition: "start",
        textangle: 0,
        font: { size: 12, color: themeColour(this.element, "--bad") },
      },
    };
  }
}
