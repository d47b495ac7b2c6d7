// What a comparison found, in words and tables: per joint, per phase, and per event.
import { eventName, phaseName } from "/static/compare/plots.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

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
  html`<table data-table=${name}>
    <thead><tr>${head.map((title) => html`<th>${title}</th>`)}</tr></thead>
    <tbody>${rows}</tbody>
  </table>`;
const number = (text) => html`<td class="number">${text}</td>`;

/** The error of each joint; `onSelect` gets the name of one that is to be plotted. */
export function jointTable({ arms }, selected, onSelect) {
  const row = ({ name, rmse, largest, range }) =>
    html`<tr class=${name === selected ? "on" : ""}>
      <td>
        <button class="link" aria-pressed=${name === selected} onclick=${() => onSelect(name)}>${name}</button>
      </td>
      ${[short(rmse), short(largest), percent(rmse / range)].map(number)}
    </tr>`;
  const rows = Object.values(arms).flatMap(({ joints }) => joints.map(row));
  return table("joints", [t("Joint"), t("RMSE (rad, m)"), t("Largest"), t("Of its range")], rows);
}

export function phaseTable({ arms }) {
  const row = (arm, { name, start_s, rmse_mean, growth_per_s }) =>
    html`<tr>
      <td>${arm}</td>
      <td>${phaseName(name)}</td>
      ${[seconds(start_s), rmse_mean.toFixed(4), growth_per_s.toFixed(4)].map(number)}
    </tr>`;
  const rows = Object.entries(arms).flatMap(([arm, { phases }]) => phases.map((phase) => row(arm, phase)));
  return table("phases", [t("Arm"), t("Phase"), t("From (s)"), t("Mean error"), t("Growth per s")], rows);
}

/** The events of both episodes; `onSeek` gets the time of one that was clicked. */
export function eventTable({ events }, onSeek) {
  const row = ({ arm, name, time_s, real_s, sim_on_real_s, delay_s }) =>
    html`<tr>
      <td>${arm}</td>
      <td><button class="link" onclick=${() => onSeek(time_s)}>${eventName(name)}</button></td>
      ${[seconds(real_s), seconds(sim_on_real_s), delay_s === null ? "–" : delay_s.toFixed(2)].map(number)}
    </tr>`;
  return table("events", [t("Arm"), t("Event"), t("Real (s)"), t("Simulated (s)"), t("Later by (s)")], events.map(row));
}
