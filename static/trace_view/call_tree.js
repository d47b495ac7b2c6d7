// The calls as a tree of stages, objects or rounds, and calls, with what all of them cost.
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";
import { count, dollars, seconds, total } from "/static/trace_view/formatting.js";

export const STATE_SIGNS = { answered: "✓", failed: "✕", running: "◐", interrupted: "!" };
export const STATE_TEXT = {
  answered: t("answered"),
  failed: t("failed"),
  running: t("waiting for a response"),
  interrupted: t("interrupted when the studio stopped"),
};
export const isFailed = ({ state }) => state === "failed" || state === "interrupted";
export const callsOf = (stage) => stage.groups.flatMap((group) => group.calls);

export function totalsLine(totals) {
  const tokens = total(totals.tokens, count),
    cost = total(totals.cost, dollars);
  return html`<div class="totals">
    <span><b>${count(totals.calls)}</b> ${t("call|calls", { n: totals.calls })}</span>
    ${totals.failed > 0 && html`<span class="bad"><b>${count(totals.failed)}</b> ${t("failed")}</span>`}
    ${tokens && html`<span>${t("tokens")} <b>${tokens}</b></span>`}
    ${cost && html`<span>${t("cost")} <b>${cost}</b></span>`}
    ${totals.seconds.known > 0 && html`<span>${t("time")} <b>${seconds(totals.seconds.sum)}</b></span>`}
  </div>`;
}

export function filters(view) {
  const filter = view.filter.value,
    failedCount = view.calls.filter(isFailed).length,
    button = (name, label) => html`<button class=${classes("studio-button", filter === name && "on")} key=${name}
      onclick=${() => (view.filter.value = name)}>${label}</button>`;
  return html`<div class="filters">
    ${button("all", t("All"))}
    ${failedCount > 0 && button("failed", t("Failed ({count})", { count: failedCount }))}
    ${filter !== "all" && filter !== "failed" && button(filter, filter)}
  </div>`;
}

export function callTree(view) {
  const durations = view.stages.flatMap(callsOf).map((call) => call.seconds ?? 0),
    slowest = Math.max(0.001, ...durations);
  return view.stages.map((stage) => {
    const calls = callsOf(stage).filter(view.isShown),
      isClosed = view.closed.value.has(stage.stage);
    if (!calls.length) return null;
    return html`<button class="list-row stage" key=${`stage ${stage.stage}`} aria-expanded=${!isClosed}
        onclick=${() => view.toggle(stage.stage)}>
        <i>${isClosed ? "▸" : "▾"}</i>${stage.title}
        <span class="faint">${t("{n} call|{n} calls", { n: calls.length })}</span>
        <span class="duration">${seconds(calls.reduce((sum, call) => sum + (call.seconds ?? 0), 0))}</span>
      </button>
      ${!isClosed && stage.groups.map((group) => groupRows(view, group, slowest))}`;
  });
}

function groupRows(view, { about, calls }, slowest) {
  const shown = calls.filter(view.isShown);
  if (!shown.length) return null;
  return html`${about && html`<div class="about">${about}</div>`}${shown.map((call) => callRow(view, call, slowest))}`;
}

// The bar is the call's duration relative to the slowest.
function callRow(view, call, slowest) {
  const isOn = call.id === view.chosen.value,
    unknown = call.state === "running" ? "…" : "?",
    width = Math.max(2, ((call.seconds ?? 0) / slowest) * 100).toFixed(0);
  return html`<button class=${classes("list-row call", call.state, isOn && "on")} key=${call.id} data-call=${call.id}
    aria-current=${isOn} title=${call.error || `${call.title}: ${STATE_TEXT[call.state]}`}
    onclick=${() => view.openCall(call.id)}>
    <i class="sign">${STATE_SIGNS[call.state]}</i>
    <span class="what clip">${call.title}${call.is_retry && html`<span class="faint"> ${t("retry")}</span>`}</span>
    <span class="track"><span class="fill" style=${`width:${width}%`} /></span>
    <span class="duration">${call.seconds === null ? unknown : seconds(call.seconds)}</span>
  </button>`;
}
