// What came of training: of the task, and of one subtask.
import { percent } from "/static/learn/strip.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

const LISTED_FAILURES = 30;

export const hasCurve = ({ curve: [first, ...others] }) => others.length > 0 || (Boolean(first) && !first.cloned);

export function summary({ task, chain, whole, variants }) {
  const parts = [
    chain && t("Chain: {share} of {n} unseen layouts.", { share: percent(chain.success), n: chain.layouts }),
    variants && t("On unseen variants: {share} of {n}.", { share: percent(variants.success), n: variants.layouts }),
    whole && t("One policy for the whole task: {share}.", { share: percent(whole.success) }),
  ];
  return html`<strong>${task}</strong>${parts.map((part) => part && ` ${part}`)}`;
}

export function noCurveText({ curve: [first], way }) {
  if (way === "plan") return t("The oracle plans this subtask; no policy acts in it");
  if (!first?.cloned)
    return t("Not learned yet. The curve appears after the first evaluation, about half a minute in.");
  return t(
    "{share} of the validation layouts after {n} demonstrations and corrections of the oracle. No step by reward.",
    { share: percent(first.success), n: first.cloned },
  );
}

export const tunedText = ({ steps, before, after, layouts }) =>
  t("Trained on for {steps} steps from where the former subtask ends: {before} to {after} of {n} such states.", {
    steps: steps.toLocaleString(),
    before: percent(before),
    after: percent(after),
    n: layouts,
  });

/** What can be played of a subtask: [steps, title] each, with no steps for the evaluation. */
export function policies({ measured, checkpoints, curve: [first] }) {
  const title = (steps) =>
    !steps && first?.cloned
      ? t("After imitating the oracle")
      : t("After {steps} steps", { steps: steps.toLocaleString() });
  return [
    ...(measured ? [[null, t("Evaluation, best policy")]] : []),
    ...[...checkpoints].reverse().map((steps) => [steps, title(steps)]),
  ];
}

/** A way round the task that the policy found, on a LearnPage. */
export function shortcut(found, page) {
  return html`<div class="shortcut" hidden=${!found}>
    ${
      found &&
      html`<strong>! ${t("Shortcut")}: </strong>${found.text} ${found.advice}
        <span class="buttons">
          <button class="studio-button" onclick=${() => page.playEvaluated(found.layout, found.time)}>
            ${t("▶ Show")}</button>
          ${
            found.can_fix &&
            html`<button class="studio-button primary" data-act="fix" data-sends="learn.fix"
              disabled=${!page.mayChange} onclick=${() => page.act({ kind: "fix", subtask: page.chosen.value })}>
              ${t("Make this change")}</button>`
          }
        </span>`
    }
  </div>`;
}

/** A reward that a model proposes for a subtask, on a LearnPage. */
export function proposal(found, page) {
  const term = ({ text, weight, code }) =>
    html`<li>${text} <span class="muted">× ${Number(weight.toFixed(2))}</span>
      ${code && html`<details><summary>${t("Code")}</summary><pre>${code}</pre></details>`}</li>`;
  return html`<div class="shortcut" hidden=${!found}>
    ${
      found &&
      html`<strong>${t("{model} proposes another reward", { model: found.model })}: </strong>${found.reason}
        <ul>${found.reward.map(term)}</ul>
        <span>
          <button class="studio-button primary" data-act="take" data-sends="learn.take"
            disabled=${!page.mayChange} onclick=${() => page.act({ kind: "take", subtask: page.chosen.value })}>
            ${t("Make this change")}</button>
        </span>`
    }
  </div>`;
}

/** Where the policy failed on unseen layouts, on a LearnPage. */
export function failures({ failures: all, measured }, page) {
  const row = ({ layout, time, text }) =>
    html`<li>
      <button class="link" onclick=${() => page.playEvaluated(layout, time)}>${time.toFixed(1)} s · ${text}</button>
    </li>`;
  return html`<h3>${t("Failures on unseen layouts")}</h3>
    ${
      all.length
        ? html`<ul class="rows">${all.slice(0, LISTED_FAILURES).map(row)}</ul>`
        : html`<p class="muted">${measured ? t("None.") : t("Not evaluated yet.")}</p>`
    }`;
}
