import { Diff } from "/static/studio/diff.js";
import { capitalised } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

// Menu of what a round is compared with: other rounds, and its other layouts with the photographed one; null for none.
export function comparisonChoice(round, timeline) {
  const others = timeline.rounds.filter((other) => other.number !== round.number);
  if (!others.length && !round.layouts.length) return null;
  const compare = ({ target }) => {
    const [kind, number] = target.value.split(" ");
    target.value = ""; // the same can be chosen again
    timeline.send(
      "compare",
      kind === "round" ? { a: Number(number), b: round.number } : { a: round.number, seed: Number(number) },
    );
  };
  const group = (label, options) => options.length > 0 && html`<optgroup label=${label}>${options}</optgroup>`;
  const rounds = others.map(
    ({ number }) => html`<option value="round ${number}">${t("Round {number}", { number })}</option>`,
  );
  const layouts = round.layouts.map(
    (seed) => html`<option value="layout ${seed}">${t("Layout {seed}", { seed })}</option>`,
  );
  return html`<select class="studio-button compare" aria-label=${t("Compare with another round or layout")}
    onchange=${compare}>
    <option value="" disabled selected>${t("Compare with …")}</option>
    ${group(t("Rounds"), rounds)}
    ${group(t("As photographed beside"), layouts)}
  </select>`;
}

// Outcomes, reasons and changed code of the two rollouts that the viewers show side by side.
export function comparison({ titles, reasons, outcomes, changes }, close) {
  return html`<div class="detail panel comparison">
    <div class="top flow">
      <strong>${titles.join(t(" and "))}</strong>
      <button class="studio-button edit" onclick=${close}>${t("Close")}</button>
    </div>
    ${outcomes.length ? outcomeTable(titles, outcomes) : html`<p class="route">${t("Same outcome.")}</p>`}
    ${reasons.map(([title, text]) => html`<p class="route"><b>${title}: </b>${capitalised(text)}</p>`)}
    ${changes && !Object.keys(changes).length && html`<p class="route">${t("Same code.")}</p>`}
    ${Object.entries(changes ?? {}).map(
      ([file, rows]) => html`<details open key=${file}><summary>${file}</summary><${Diff} rows=${rows} /></details>`,
    )}
  </div>`;
}

function outcomeTable(titles, outcomes) {
  const heads = [t("Outcome"), ...titles];
  const row = ([name, ...ends]) => html`<tr><th scope="row">${name}</th>${ends.map(outcomeCell)}</tr>`;
  return html`<table class="outcomes">
    <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>${outcomes.map(row)}</tbody>
  </table>`;
}

const SIGNS = { met: t("✓ Met"), "not met": t("✕ Not met"), absent: "–" };
const TONES = { met: "passed", "not met": "failed" };
const outcomeCell = (end) => html`<td class=${TONES[end]}>${SIGNS[end] ?? end}</td>`;
