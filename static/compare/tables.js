// What a comparison found, in words and tables: per joint, per phase, and per event.
import { h } from "/static/studio/dom.js";
import { eventName, phaseName } from "/static/compare/plots.js";
import { t } from "/static/studio/texts.js";

const seconds = (value) => (value === null ? t("missing") : value.toFixed(2));
const short = (value) => value.toPrecision(3);
const percent = (value) => `${(100 * value).toFixed(1)} %`;

const NAMED_GAPS = 5; // the plot shows them all

/** Returns the sentences that sum a comparison up. */
export function summary({ align, shift_s, overlap_s, overall, onset, gaps }) {
  const shift =
    align === "none"
      ? t("Times compared as they are.")
      : t("Shift of the simulation: {shift} s.", { shift: shift_s.toFixed(3) });
  const error = t("RMSE_norm {mean} on average, {max} at most, over {seconds} s.", {
    mean: overall.rmse.mean.toFixed(4),
    max: overall.rmse.max.toFixed(4),
    seconds: overlap_s.toFixed(1),
  });
  const begins = onset
    ? t("They diverge from {time} s on, in {phase} ({arm}, {joint}).", {
        time: onset.time_s.toFixed(2),
        phase: phaseName(onset.cause),
        arm: onset.arm,
        joint: onset.joint,
      })
    : t("The differences stay within the noise.");
  const missing = gaps.slice(0, NAMED_GAPS).map(({ episode, start_s, stop_s }) => {
    const ends = { start: start_s.toFixed(2), stop: stop_s.toFixed(2) };
    return episode === "real"
      ? t("The real episode has no samples from {start} to {stop} s.", ends)
      : t("The simulated episode has no samples from {start} to {stop} s.", ends);
  });
  if (missing.length) missing.push(t("Gaps are left out of the measures."));
  if (onset?.after_gap) missing.push(t("The divergence may have begun in the gap."));
  return [begins, error, shift, ...missing].join(" ");
}

const table = (name, head, rows) =>
  h(
    "table",
    { "data-table": name },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        head.map((title) => h("th", {}, title)),
      ),
    ),
    h("tbody", {}, rows),
  );

/** The error of each joint; `onSelect` gets the name of one that is to be plotted. */
export function jointTable({ arms }, selected, onSelect) {
  const rows = Object.entries(arms).flatMap(([, { joints }]) =>
    joints.map(({ name, rmse, largest, range }) =>
      h(
        `tr${name === selected ? ".on" : ""}`,
        {},
        h(
          "td",
          {},
          h("button.link", { "aria-pressed": String(name === selected), onclick: () => onSelect(name) }, name),
        ),
        h("td.number", {}, short(rmse)),
        h("td.number", {}, short(largest)),
        h("td.number", {}, percent(rmse / range)),
      ),
    ),
  );
  return table("joints", [t("Joint"), t("RMSE (rad, m)"), t("Largest"), t("Of its range")], rows);
}

export function phaseTable({ arms }) {
  const rows = Object.entries(arms).flatMap(([arm, { phases }]) =>
    phases.map((phase) =>
      h(
        "tr",
        {},
        h("td", {}, arm),
        h("td", {}, phaseName(phase.name)),
        h("td.number", {}, seconds(phase.start_s)),
        h("td.number", {}, phase.rmse_mean.toFixed(4)),
        h("td.number", {}, phase.growth_per_s.toFixed(4)),
      ),
    ),
  );
  return table("phases", [t("Arm"), t("Phase"), t("From (s)"), t("Mean error"), t("Growth per s")], rows);
}

/** The events of both episodes; `onSeek` gets the time of one that was clicked. */
export function eventTable({ events }, onSeek) {
  const rows = events.map((event) =>
    h(
      "tr",
      {},
      h("td", {}, event.arm),
      h("td", {}, h("button.link", { onclick: () => onSeek(event.time_s) }, eventName(event.name))),
      h("td.number", {}, seconds(event.real_s)),
      h("td.number", {}, seconds(event.sim_on_real_s)),
      h("td.number", {}, event.delay_s === null ? "–" : event.delay_s.toFixed(2)),
    ),
  );
  return table("events", [t("Arm"), t("Event"), t("Real (s)"), t("Simulated (s)"), t("Later by (s)")], rows);
}
