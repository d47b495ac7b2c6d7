// What one round was, how it was judged, and its code.
import { checkCode, measuring } from "/static/round_timeline/check_code.js";
import { checkTitle } from "/static/round_timeline/check_matrix.js";
import { failureCauses } from "/static/round_timeline/failure_causes.js";
import { mutationTable } from "/static/round_timeline/mutation_table.js";
import { outcome, ROUTES, tone } from "/static/round_timeline/outcome.js";
import { roundTools } from "/static/round_timeline/round_tools.js";
import { Diff } from "/static/studio/diff.js";
import { capitalised } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";

export function roundDetail(round, timeline) {
  const { number, task, changed, violation, crash, route, reason } = round;
  const fault = (title, text) => text && html`<p class="fault"><b>${title}: </b>${text}</p>`;
  return html`<div class="detail panel" key=${number}>
    ${head(round, timeline)}
    ${task && html`<p class="task"><b>${t("Task:")} </b>${task}</p>`}
    ${
      changed.length > 0 &&
      html`<p class="changed"><b>${t("Changed from the photograph")}: </b>${changed.join("; ")}.</p>`
    }
    ${fault(t("Refused"), violation)}
    ${fault(t("Crashed"), crash)}
    ${failureCauses(round, timeline)}
    <div class="checks">${round.checks.map((check) => checkRow(check, number, timeline))}</div>
    <p class=${classes("route", route === "ask" && "warning")}><b>${routeText(round)} </b>${capitalised(reason)}</p>
    ${mutationTable(round)}
    ${Object.entries(round.changes).map((change, index) => changes(change, index, round))}
    ${code(round, timeline)}
  </div>`;
}

function head(round, timeline) {
  const { number, parent, reward, seconds } = round,
    rewards = reward.map((other) => other.toFixed(2)).join(", ");
  return html`<div class="top flow">
    <strong>${t("Round {number}", { number })}</strong>
    <span class="tag ${tone(round)}">${outcome(round)}</span>
    ${parent !== null && html`<span class="faint">${t("from round {parent}", { parent })}</span>`}
    ${rewards && html`<span class="faint">${t("reward {rewards}", { rewards })}</span>`}
    <span class="faint">${seconds.toFixed(1)} s</span>
    ${roundTools(round, timeline)}
  </div>`;
}

function checkRow(check, number, timeline) {
  const { passed, message, line, instant } = check;
  return html`<div class=${classes("check", !passed && "failed")} ...${measuring(check.name)}>
    <span class="sign">${passed ? "✓" : "✕"}</span><span class="check-name">${checkTitle(check)}</span>
    ${
      !passed &&
      html`<span class="message">${message}
        ${line && html`<span class="faint"> ${t("checks.py, line {line}", { line })}</span>`}${" "}
        <button class="studio-button plain" title=${t("Replay the round at this time")}
          onclick=${() => timeline.play(number, check)}>
          ${instant === null ? t("▶ Replay end") : t("▶ Replay at {instant} s", { instant: instant.toFixed(1) })}
        </button>
      </span>`
    }
  </div>`;
}

function routeText({ route, confidence, clean }) {
  const confidence_text =
    confidence < 1 && !clean
      ? ` ${t("({confidence} % confidence)", { confidence: Math.round(100 * confidence) })}`
      : "";
  return t("Router: {route}{confidence_text}.", {
    route: ROUTES[route] ?? (route || t("no decision")),
    confidence_text,
  });
}

function changes([file, rows], index, round) {
  const change = !index && round.change ? `: ${round.change}` : "",
    title = t("Changes in {file} since round {parent}{change}", { file, parent: round.parent, change });
  return html`<details open key=${file}><summary>${title}</summary><${Diff} rows=${rows} /></details>`;
}

const code = (round, timeline) => html`<details class="code">
  <summary>${t("Code")}</summary>
  <div class="file">simulation.py</div>
  <pre>${round.code["simulation.py"]}</pre>
  <div class="file">${t("checks.py: click a line to see its moment")}</div>
  ${checkCode(round, timeline)}
</details>`;
