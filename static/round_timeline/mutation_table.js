import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

const MUTATIONS = {
  nothing: t("Moves nothing"),
  inverted: t("Does the opposite"),
  swapped: t("Swaps two objects"),
  "another object": t("Moves another object"),
  "another part": t("Uses another drawer or door"),
  misplaced: t("Misplaces an object"),
  "half done": t("Partially completed"),
  order: t("Order off by one"),
  steps: t("Reverses the steps"),
  displaced: t("Ends with an object elsewhere"),
};

export const mutationCheckTitle = (kind) => t("Checks detect the fault: {kind}", { kind: MUTATIONS[kind] ?? kind });

// Table of mutations of the solution and the check that caught each; null if none was tried.
export function mutationTable(round) {
  const missed = round.checks
    .filter((check) => !check.passed && MUTATIONS[check.name.replace(/^meaning /, "")])
    .map((check) => check.name.replace(/^meaning /, ""));
  const rows = [...Object.entries(round.mutations), ...missed.map((kind) => [kind, null])];
  if (!rows.length) return null;
  const titles = new Map(round.checks.map(({ name, title }) => [name, title]));
  const row = ([kind, check]) => html`<tr>
    <th scope="row">${MUTATIONS[kind] ?? kind}</th>
    ${
      check
        ? html`<td class="passed">✓ <span title=${check}>${titles.get(check) ?? check}</span></td>`
        : html`<td class="failed">${t("✕ No check")}</td>`
    }
  </tr>`;
  return html`<div class="mutations">
    <table>
      <thead><tr><th scope="col">${t("Injected fault")}</th><th scope="col">${t("Detected by")}</th></tr></thead>
      <tbody>${rows.map(row)}</tbody>
    </table>
  </div>`;
}
