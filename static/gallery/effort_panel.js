// Human effort: what frames and objects cost, what is corrected most, and how well two people agree.
import { fill, h } from "/static/studio/dom.js";
import { loadPlotly, themeColour } from "/static/studio/plotly.js";
import { t } from "/static/studio/texts.js";

const UNKNOWN = "–";
const number = (value, digits = 0) => (value === null || value === undefined ? UNKNOWN : value.toFixed(digits));

// Returns the panel's content; `ask(request)` asks the server, `search` are the board's words and filters.
export async function effortPanel(ask, search) {
  const answer = await ask({ kind: "effort", ...search });
  if (answer.error) return h("p.muted", {}, answer.error);
  const { summary, frames, looked_at, total } = answer;
  if (!frames.length) return h("p.muted", {}, t("Nobody has decided anything about these projects yet."));
  const plots = h("div.plots"),
    pairs = h("div", {}, h("p.muted", {}, t("Comparing projects of the same frame …")));
  ask({ kind: "agreement" }).then((found) => fill(pairs, agreementTable(found)));
  setTimeout(() => drawPlots(plots, summary, frames).catch((error) => fill(plots, error.message)));
  return h(
    "div.effort",
    {},
    total > looked_at && h("p.muted", {}, t("The {n} projects changed last are counted.", { n: looked_at })),
    figures(summary),
    plots,
    h("h3", {}, t("Agreement of two people on the same frame")),
    pairs,
  );
}

function figures(summary) {
  const figure = (value, unit, label) =>
    h("div.figure", {}, h("strong", {}, value), " ", unit, h("span.muted", {}, label));
  const { measured, frames } = summary;
  return h(
    "div.figures",
    {},
    figure(number(summary.seconds / 60, 1), "min", t("on {n} frame|on {n} frames", { n: frames })),
    figure(number(summary.seconds_per_frame, 1), "s", t("per frame, median of {n} reviewed", { n: measured })),
    figure(number(summary.presses_per_frame), "", t("clicks and keys per frame")),
    figure(number(summary.seconds_per_object, 1), "s", t("per object reviewed")),
    figure(number(summary.presses_per_object), "", t("clicks and keys per object")),
  );
}

async function drawPlots(element, summary, frames) {
  const bars = (title, entries) => entries.length && { title, entries };
  const charts = [
    bars(t("Corrected most"), summary.corrections),
    bars(t("Objects corrected most"), summary.corrected_names),
    bars(t("Reasons of rejections"), summary.reasons),
  ].filter(Boolean);
  const measured = frames.filter((one) => one.measured).map((one) => one.seconds);
  const Plotly = await loadPlotly();
  const layout = (title, more) => ({
    title: { text: title, font: { size: 13 }, x: 0.02 },
    height: 230,
    margin: { l: 36, r: 12, t: 36, b: 34 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: themeColour(element, "--ink-2"), size: 12, family: "system-ui, sans-serif" },
    ...more,
  });
  const grid = { gridcolor: themeColour(element, "--line"), zeroline: false };
  const marker = { color: themeColour(element, "--accent") };
  const whole = (counts) => ({ ...grid, rangemode: "tozero", dtick: Math.max(...counts) < 9 ? 1 : undefined });
  const plots = charts.map(({ title, entries }) => {
    const shown = [...entries].reverse(),
      counts = shown.map(([, count]) => count),
      names = shown.map(([name]) => name);
    return [
      { type: "bar", orientation: "h", y: names, x: counts, marker },
      layout(title, { xaxis: whole(counts), yaxis: { automargin: true, type: "category" } }),
    ];
  });
  if (measured.length) {
    const axes = { xaxis: { ...grid, rangemode: "tozero" }, yaxis: whole([measured.length]) };
    plots.unshift([{ type: "histogram", x: measured, marker }, layout(t("Seconds per frame"), axes)]);
  }
  const places = plots.map(([, { title }]) => h("div.plot", { role: "img", "aria-label": title.text }));
  fill(element, places); // all at once: a plot takes the width that it finds
  for (const [index, [data, shape]] of plots.entries())
    await Plotly.newPlot(places[index], [data], shape, {
      displayModeBar: false,
      responsive: true,
      plotlyServerURL: "",
    });
}

function agreementTable({ pairs = [], error }) {
  if (error) return h("p.muted", {}, error);
  if (!pairs.length)
    return h("p.muted", {}, t("No frame was worked on in two projects. Duplicate one, or open its frame again."));
  const columns = [
    t("First"),
    t("Second"),
    t("Mask IoU"),
    t("Found by both"),
    t("Only one"),
    t("Kappa of pixels"),
    t("Kappa of names"),
  ];
  return h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        columns.map((name) => h("th", { scope: "col" }, name)),
      ),
    ),
    h(
      "tbody",
      {},
      pairs.map((one) =>
        h(
          "tr",
          {},
          one.titles.map((title) => h("td", {}, title)),
          [
            number(one.iou, 2),
            String(one.both),
            String(one.only_first + one.only_second),
            number(one.pixel_kappa, 2),
            number(one.label_kappa, 2),
          ].map((text) => h("td.number", {}, text)),
        ),
      ),
    ),
  );
}
