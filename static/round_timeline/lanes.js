// The rounds as buttons, a row for each branch.
import { meanReward, outcome, ROUTES, tone } from "/static/round_timeline/outcome.js";
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";

export function lanes(timeline) {
  const { rounds, value } = timeline,
    { running, judging } = value;
  if (rounds.length) return value.lanes.map((numbers, index) => branch(numbers, index, timeline));
  if (!running) return null;
  const doing = judging ? t("Judging round {number} …", { number: 0 }) : t("Writing the simulation and its checks …");
  return html`<div class="rounds">${working(doing)}</div>`;
}

const working = (doing) => html`<div class="round running"><i class="spin" />${doing}</div>`;

function branch(numbers, index, timeline) {
  const { running, judging, lanes } = timeline.value,
    rounds = numbers.map((number) => timeline.numbered(number)).filter(Boolean),
    doing = judging ? t("Judging round {number} …", { number: judging.number }) : t("Working …");
  return html`<div class="branch-row flow">
    ${lanes.length > 1 && html`<span class="branch">${branchName(rounds[0]?.parent ?? null, index)}</span>`}
    <div class="rounds">
      ${rounds.map((round) => roundButton(round, timeline))}${running && index === lanes.length - 1 && working(doing)}
    </div>
  </div>`;
}

function branchName(parent, index) {
  if (parent === null) return index ? t("New task") : t("First");
  return t("↳ from {parent}", { parent });
}

function roundButton(round, timeline) {
  const { number, clean, reason, route } = round,
    isOn = number === timeline.chosen,
    reward = meanReward(round);
  return html`<button class=${classes("round", tone(round), isOn && "on")} key=${number} aria-current=${isOn}
    data-round=${number} title=${reason} onclick=${() => timeline.choose(number)}>
    <b>${t("Round {number}", { number })}${star(number, timeline.value)}
      ${reward !== null && html`<span class="next"> ${rewardText(clean, reward)}</span>`}</b>
    <span>${outcome(round)}${!clean && ROUTES[route] && html`<span class="next"> → ${ROUTES[route]}</span>`}</span>
  </button>`;
}

const star = (number, { best, pinned }) =>
  number === best &&
  html`<span class="star" title=${pinned ? t("Pinned as result") : t("Result")}>${pinned ? " ★" : " ☆"}</span>`;

// A full reward alone would look like success.
const rewardText = (isClean, reward) =>
  !isClean && reward > 0.99 ? t("goals met, not the checks") : t("reward {reward}", { reward: reward.toFixed(2) });
