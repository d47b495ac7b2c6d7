// What can be done with a round: replay, compare, pin it, and begin a branch from it.
import { comparisonChoice } from "/static/round_timeline/comparison.js";
import { openCalls } from "/static/studio/drawer.js";
import { focusWhenShown } from "/static/studio/covering.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

export function roundTools(round, timeline) {
  const { number } = round,
    { running, arranging } = timeline.value;
  const edit = () => {
    timeline.send("edit", { number });
    focusWhenShown("#edited-task :is(input, textarea)");
  };
  return html`<div class="tools">
    ${replayButton(number, timeline)}
    ${comparisonChoice(round, timeline)}
    ${pinButton(number, timeline)}
    <button class="studio-button" title=${t("Arrange the objects as they should end, then continue as a new branch")}
      disabled=${running || arranging} data-sends="round-timeline.arrange_goal"
      onclick=${() => timeline.send("arrange_goal", { number })}>${t("Set goal layout")}</button>
    <button class="studio-button" title=${t("Show this round's model calls")}
      onclick=${() => openCalls({ about: `round ${number}` })}>${t("Model calls")}</button>
    <button class="studio-button edit" title=${t("Edit the task, simulation or checks and continue as a new branch")}
      onclick=${edit}>${t("Edit and branch")}</button>
  </div>`;
}

function replayButton(number, timeline) {
  const { replayed_round, arranging, replaying } = timeline.value;
  if (replayed_round === number && !arranging)
    return html`<button class="studio-button on" onclick=${() => timeline.send("close_replay", {})}>
      ${replaying ? t("Replaying …") : t("■ Close replay")}</button>`;
  return html`<button class="studio-button" title=${t("Replay this round's simulation")}
    onclick=${() => timeline.play(number)}>${t("▶ Replay")}</button>`;
}

function pinButton(number, timeline) {
  const { best, pinned, running } = timeline.value;
  if (number === best && pinned)
    return html`<button class="studio-button on" data-sends="round-timeline.pin"
      title=${t("Unpin: use the last round that passed")}
      onclick=${() => timeline.send("pin", { number: null })}>${t("★ Pinned")}</button>`;
  return html`<button class="studio-button" data-sends="round-timeline.pin" disabled=${running}
    title=${t("Use this round as the result and solve its seeds")}
    onclick=${() => timeline.send("pin", { number })}>${t("☆ Pin")}</button>`;
}
