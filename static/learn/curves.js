// Curves of a subtask's training, and the terms of one episode over time, in plotly.
import { loadPlotly, themeColour } from "/static/studio/plotly.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

const COLOURS = ["#2f7fc1", "#d1622f", "#5b9a3a", "#9a64b5", "#b58a1f", "#3aa0a0", "#c0507a", "#7a7a7a"];
const DASHES = ["solid", "dot", "dash", "dashdot"];

const line = (name, x, y, index, more = {}) => ({
  name,
  x,
  y,
  type: "scatter",
  mode: x.length < 40 ? "lines+markers" : "lines",
  line: { color: COLOURS[index % COLOURS.length], width: 1.7, dash: DASHES[Math.floor(index / COLOURS.length) % 4] },
  marker: { size: 4 },
  ...more,
});

class Plot {
  constructor(label, onPoint = (_) => {}) {
    this.label = label;
    this.onPoint = onPoint;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.last && this.draw(...this.last));
  }

  take = (element) => {
    if (!element) return;
    this.element = element;
    this.plot = element.firstElementChild;
    new ResizeObserver(() => this.plot._fullLayout && globalThis.Plotly.Plots.resize(this.plot)).observe(element);
  };

  template(isHidden = false) {
    return html`<div class="plot-box" role="img" aria-label=${this.label} hidden=${isHidden} ref=${this.take}>
      <div class="plot cover" />
    </div>`;
  }

  async draw(traces, layout) {
    this.last = [traces, layout];
    const Plotly = await loadPlotly();
    const grid = { gridcolor: themeColour(this.element, "--line"), zeroline: false };
    const axes = Object.fromEntries(
      Object.entries(layout)
        .filter(([key]) => /axis/.test(key))
        .map(([key, axis]) => [key, { ...grid, ...axis, title: { text: axis.title, font: { size: 12 } } }]),
    );
    const settings = { displayModeBar: false, responsive: true, plotlyServerURL: "" };
    const common = {
      margin: { l: 52, r: 52, t: 8, b: 34 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: themeColour(this.element, "--ink-2"), size: 12, family: "system-ui, sans-serif" },
      hoverlabel: { bgcolor: themeColour(this.element, "--paper"), font: { size: 12 } },
      hovermode: "x unified",
      legend: { orientation: "h", x: 0, y: -0.28, yanchor: "top", font: { size: 12 } },
    };
    await Plotly.react(this.plot, traces, { ...common, ...layout, ...axes }, settings);
    if (!this.isListening) {
      this.isListening = true;
      this.plot.on("plotly_click", ({ points }) => this.onPoint(points[0].x));
    }
  }
}

/** Success, return and terms over steps; `onPoint` gets the steps of a point that was clicked. */
export class TrainingCurves extends Plot {
  constructor(onPoint) {
    super(t("Success, return and reward terms over control steps"), onPoint);
  }

  show({ curve, reward }) {
    const steps = curve.map((point) => point.steps);
    const terms = reward.map((term, index) =>
      line(
        term.text,
        steps,
        curve.map((point) => point.terms?.[index] ?? null),
        index + 2,
        { yaxis: "y2", line: { width: 1.2, color: COLOURS[(index + 2) % COLOURS.length] } },
      ),
    );
    const success = line(
      t("Success"),
      steps,
      curve.map((point) => 100 * point.success),
      0,
      { line: { width: 3, color: COLOURS[0] } },
    );
    const earned = line(
      t("Return"),
      steps,
      curve.map((point) => point.return),
      1,
      { yaxis: "y2", line: { width: 2, dash: "dash", color: COLOURS[1] } },
    );
    return this.draw([success, earned, ...terms], {
      xaxis: { title: t("Control steps"), rangemode: "tozero" },
      yaxis: { title: t("Success (%)"), range: [-3, 103] },
      yaxis2: {
        title: t("Return, terms"),
        overlaying: "y",
        side: "right",
        showgrid: false,
        tickmode: "auto",
        nticks: 5,
      },
    });
  }
}

/** The terms of one episode over time, and how far its goals are missed. */
export class EpisodeTerms extends Plot {
  constructor() {
    super(t("Reward terms over time"));
  }

  show({ times, terms, misses, failed_at }) {
    const rows = terms.map((term, index) => line(term.text, times, term.values, index + 2, { mode: "lines" }));
    const missed = line(
      t("Goal missed by (cm)"),
      times,
      misses.map((miss) => 100 * miss),
      0,
      {
        mode: "lines",
        yaxis: "y2",
        line: { width: 2.4, color: COLOURS[0] },
      },
    );
    const mark = { type: "line", x0: failed_at, x1: failed_at, yref: "paper", y0: 0, y1: 1 };
    return this.draw([missed, ...rows], {
      xaxis: { title: t("Seconds"), rangemode: "tozero" },
      yaxis: { title: t("Terms"), rangemode: "tozero" },
      yaxis2: {
        title: t("Missed by (cm)"),
        overlaying: "y",
        side: "right",
        showgrid: false,
        tickmode: "auto",
        nticks: 5,
        rangemode: "tozero",
      },
      shapes: failed_at === null ? [] : [{ ...mark, line: { color: "#c0392b", width: 1.5, dash: "dot" } }],
    });
  }
}

/** Success of each kind of training with its interval over seeds. */
export class AblationPlot extends Plot {
  constructor() {
    super(t("Success of each kind of training"));
  }

  show({ rows }) {
    const names = rows.map((row) => row.title);
    const bars = {
      x: names,
      y: rows.map((row) => 100 * row.success),
      type: "bar",
      marker: { color: names.map((_, i) => COLOURS[i % COLOURS.length]) },
      error_y: {
        type: "data",
        symmetric: false,
        array: rows.map((row) => 100 * (row.high - row.success)),
        arrayminus: rows.map((row) => 100 * (row.success - row.low)),
      },
      showlegend: false,
    };
    return this.draw([bars], { xaxis: { title: "" }, yaxis: { title: t("Success (%)"), range: [0, 103] } });
  }
}
