import { h } from "/static/studio/dom.js";
import { count, dollars, seconds, total } from "/static/trace_view/formatting.js";
import { t } from "/static/studio/texts.js";

export const STATE_SIGNS = { answered: "✓", failed: "✕", running: "◐", interrupted: "!" };
export const STATE_TEXT = {
  answered: t("answered"),
  failed: t("failed"),
  running: t("waiting for a response"),
  interrupted: t("interrupted when the studio stopped"),
};

export function totalsLine(totals) {
  const tokens = total(totals.tokens, count),
    cost = total(totals.cost, dollars);
  return h(
    "div.totals",
    {},
    h("span", {}, h("b", {}, count(totals.calls)), ` ${t("call|calls", { n: totals.calls })}`),
    totals.failed ? h("span.bad", {}, h("b", {}, count(totals.failed)), ` ${t("failed")}`) : null,
    tokens && h("span", {}, `${t("tokens")} `, h("b", {}, tokens)),
    cost && h("span", {}, `${t("cost")} `, h("b", {}, cost)),
    totals.seconds.known ? h("span", {}, `${t("time")} `, h("b", {}, seconds(totals.seconds.sum))) : null,
  );
}

// Tree of stages, objects or rounds, and calls. A bar shows each call's duration relative to the slowest.
export function callTree(stages, { chosen, closed, wanted: isShown, pick: onPick, toggle: onToggle }) {
  const all = stages.flatMap((stage) => stage.groups.flatMap((group) => group.calls));
  const slowest = Math.max(0.001, ...all.map((call) => call.seconds ?? 0));
  const row = (call) =>
    h(
      `button.list-row.call.${call.state}${call.id === chosen ? ".on" : ""}`,
      {
        "data-call": call.id,
        "aria-current": String(call.id === chosen),
        title: call.error || `${call.title}: ${STATE_TEXT[call.state]}`,
        onclick: () => onPick(call.id),
      },
      h("i.sign", {}, STATE_SIGNS[call.state]),
      h("span.what", {}, call.title, call.is_retry && h("span.faint", {}, ` ${t("retry")}`)),
      h(
        "span.track",
        {},
        h("span.fill", { style: `width:${Math.max(2, ((call.seconds ?? 0) / slowest) * 100).toFixed(0)}%` }),
      ),
      h("span.duration", {}, call.seconds === null ? (call.state === "running" ? "…" : "?") : seconds(call.seconds)),
    );
  const group = (group_) => {
    const calls = group_.calls.filter(isShown);
    return calls.length ? [group_.about && h("div.about", {}, group_.about), calls.map(row)] : null;
  };
  const stage = (stage_) => {
    const calls = stage_.groups.flatMap((inner) => inner.calls).filter(isShown),
      isCollapsed = closed.has(stage_.stage);
    return calls.length
      ? [
          h(
            "button.list-row.stage",
            { "aria-expanded": String(!isCollapsed), onclick: () => onToggle(stage_.stage) },
            h("i", {}, isCollapsed ? "▸" : "▾"),
            stage_.title,
            h("span.faint", {}, t("{n} call|{n} calls", { n: calls.length })),
            h("span.duration", {}, seconds(calls.reduce((sum, call) => sum + (call.seconds ?? 0), 0))),
          ),
          isCollapsed ? null : stage_.groups.map(group),
        ]
      : null;
  };
  return stages.map(stage);
}
