// The scores of the matchers, each with its interval.
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

const COLUMNS = [
  t("Matcher"),
  t("Exact"),
  t("Top 1 / top 5"),
  t("Category"),
  t("Top 1 / top 5"),
  t("No match"),
  t("Time per object"),
  t("Model"),
];
const decimals = (number) => (number === null || number === undefined ? "–" : number.toFixed(2));

function score({ f1, low = f1, high = f1 }) {
  if (f1 === null) return "–";
  const range = { f1: decimals(f1), low: decimals(low), high: decimals(high) };
  return html`<span class="whisker" title=${t("F1 {f1}, 95 % interval {low} to {high}", range)}>${decimals(f1)}
    <span class="axis">
      ${[0, 25, 50, 75, 100].map((tick) => html`<i style=${`left:${tick}%`} />`)}
      <span class="span" style=${`left:${100 * low}%;width:${100 * (high - low)}%`} />
      <span class="dot" style=${`left:${100 * f1}%`} />
    </span>
  </span>`;
}

function row({ title, unavailable, exact, category, no_match_kept, seconds, model }, best) {
  if (unavailable)
    return html`<tr class="off"><td>${title}</td>
      <td colspan="7">${t("Not measured: {unavailable}", { unavailable })}</td></tr>`;
  const hits = ({ first, five }) => html`<td class="number">${decimals(first)} / ${decimals(five)}</td>`;
  return html`<tr class=${exact.f1 === best && "best"}>
    <td>${title}</td>
    <td>${score(exact)}</td>${hits(exact)}
    <td>${score(category)}</td>${hits(category)}
    <td class="number">${decimals(no_match_kept)}</td>
    <td class="number">${seconds.toFixed(2)} s</td>
    <td>${model || "–"}</td>
  </tr>`;
}

export function scoreTable({ lines }) {
  const best = Math.max(...lines.map(({ exact }) => exact?.f1 ?? 0));
  return html`<table>
    <thead><tr>${COLUMNS.map((name) => html`<th>${name}</th>`)}</tr></thead>
    <tbody>${lines.map((line) => row(line, best))}</tbody>
  </table>`;
}
