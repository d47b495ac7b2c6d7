import { h, plural } from "/static/studio/dom.js";
import { count, dollars, seconds, total } from "/static/trace_view/numbers.js";

export const SIGNS = { answered: "✓", failed: "✕", running: "◐", lost: "!" };
export const SAYS = { answered: "answered", failed: "failed", running: "waiting for the answer", lost: "in flight when the studio stopped" };

export function sums(totals) {
  const tokens = total(totals.tokens, count), cost = total(totals.cost, dollars);
  return h("div.sums", {},
    h("span", {}, h("b", {}, count(totals.calls)), totals.calls === 1 ? " call" : " calls"), totals.failed ? h("span.bad", {}, h("b", {}, count(totals.failed)), " failed") : null,
    tokens && h("span", {}, "tokens ", h("b", {}, tokens)), cost && h("span", {}, "cost ", h("b", {}, cost)),
    totals.seconds.told ? h("span", {}, "time ", h("b", {}, seconds(totals.seconds.sum))) : null);
}

// Stages, in them objects or rounds, in them calls; a bar as long as its call took beside the slowest one.
export function tree(stages, { chosen, closed, wanted, pick, toggle }) {
  const all = stages.flatMap((stage) => stage.groups.flatMap((group) => group.calls));
  const slowest = Math.max(0.001, ...all.map((call) => call.seconds ?? 0));
  const row = (call) => h(`button.call.${call.state}${call.id === chosen ? ".on" : ""}`, { "data-call": call.id, "aria-current": String(call.id === chosen), title: call.error || `${call.title}: ${SAYS[call.state]}`, onclick: () => pick(call.id) },
    h("i.sign", {}, SIGNS[call.state]), h("span.what", {}, call.title, call.again && h("span.faint", {}, " again")),
    h("span.bar", {}, h("span.fill", { style: `width:${Math.max(2, ((call.seconds ?? 0) / slowest) * 100).toFixed(0)}%` })),
    h("span.took", {}, call.seconds === null ? (call.state === "running" ? "…" : "?") : seconds(call.seconds)));
  const group = (one) => { const calls = one.calls.filter(wanted); return calls.length ? [one.about && h("div.about", {}, one.about), calls.map(row)] : null; };
  const stage = (one) => {
    const calls = one.groups.flatMap((each) => each.calls).filter(wanted), shut = closed.has(one.stage);
    return calls.length ? [h("button.stage", { "aria-expanded": String(!shut), onclick: () => toggle(one.stage) }, h("i", {}, shut ? "▸" : "▾"), one.title, h("span.faint", {}, plural(calls.length, "call")), h("span.took", {}, seconds(calls.reduce((sum, call) => sum + (call.seconds ?? 0), 0)))),
      shut ? null : one.groups.map(group)] : null;
  };
  return stages.map(stage);
}
