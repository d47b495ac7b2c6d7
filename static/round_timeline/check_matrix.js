import { mutationCheckTitle } from "/static/round_timeline/mutation_table.js";
import { meanReward } from "/static/round_timeline/outcome.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

const ROUTER_CHECKS = {
  task: t("Goals match the task"),
  objects: t("Goals name every object of the task"),
  start: t("Goals are not met at the start"),
  goals: t("Tolerances are strict enough"),
  table: t("Zones lie on the table"),
  reward: t("Oracle reaches every goal"),
  photograph: t("As hard as photographed"),
  layouts: t("Oracle solves other layouts"),
};

// Title of a check {name, title}. Checks of the router begin with "meaning ": whether the program fits its task, and
// whether its checks catch mutations of the solution.
export function checkTitle({ name, title }) {
  const kind = name.replace(/^meaning /, "");
  return kind === name ? title : (ROUTER_CHECKS[kind] ?? mutationCheckTitle(kind));
}

// Table of checks by round for the rounds of one task. A failed check plays its round at the moment of failure.
export function checkMatrix(timeline) {
  const { rounds, round: chosen } = timeline,
    shown = rounds.filter((round) => round.task === chosen.task),
    checks = new Map(shown.flatMap((round) => round.checks.map((check) => [check.name, check])));
  const head = ({ number }) => html`<th class=${number === chosen.number ? "on" : null} scope="col">
    <button onclick=${() => timeline.choose(number)}>${t("Round {number}", { number })}</button>
  </th>`;
  const row = ([name, check]) => html`<tr>
    <th scope="row">${checkTitle(check)}</th>
    ${shown.map((round) => cell(round, name, timeline))}
  </tr>`;
  return html`<div class="matrix panel">
    <table>
      <thead><tr><th scope="col">${t("Check")}</th>${shown.map(head)}</tr></thead>
      <tbody>
        ${[...checks].map(row)}
        <tr class="reward">
          <th scope="row">${t("Reward")}</th>
          ${shown.map((round) => html`<td>${meanReward(round)?.toFixed(2) ?? "–"}</td>`)}
        </tr>
      </tbody>
    </table>
  </div>`;
}

function cell(round, name, timeline) {
  const check = round.checks.find((other) => other.name === name),
    { number } = round;
  if (!check) return html`<td class="missing" title=${t("Not in this round")}>·</td>`;
  if (check.passed) return html`<td class="passed" title=${t("Passed")}>✓</td>`;
  const replay = () => {
    timeline.choose(number);
    timeline.play(number, check);
  };
  return html`<td class="failed">
    <button title=${t("{message} Click to replay.", { message: check.message })} onclick=${replay}
      aria-label=${t("{name} failed in round {number}: replay", { name: checkTitle(check), number })}>✕</button>
  </td>`;
}
