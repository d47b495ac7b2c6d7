// What is known about the viewed option, beside its comparison with the photograph, and the buttons that choose it.
import { centimetres, MatchConfidence } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";
import { optionTags, recolouredTag } from "./candidate_tiles.js";
import { fullName, isChosen } from "./candidates.js";

const SCORE_NAMES = { appearance: "pattern" };
const MATCHERS = { measured: t("the matcher"), human: t("you") };

function scoreBar([name, score]) {
  const what = t(SCORE_NAMES[name] ?? name),
    percent = Math.round(score * 100);
  return html`<div class="bar flow" title=${t("{name}: {score} of 100", { name: what, score: percent })}>
    <span class="what">${what}</span>
    <span class="track"><span class="fill" style=${`width:${percent}%`} /></span>
    <span class="number">${percent}</span>
  </div>`;
}

// For the option the twin uses, the same numbers as on the other pages.
function fitLine(object, option, facts) {
  if (facts?.state !== "ready") return null;
  const isPlaced = object.placed && object.fit && (object.placed.asset_id ?? "") === option.asset_id,
    { iou, depth_error } = isPlaced ? object.fit : { ...facts, iou: facts.overlap };
  return html`<p class="fit">
    ${t("{iou} % IoU", { iou: Math.round(iou * 100) })}
    ${depth_error !== null && t(", {depth_error} depth error", { depth_error: centimetres(depth_error) })}
    ${Math.abs(facts.scale - 1) > 0.005 && t(", scaled × {scale}", { scale: facts.scale.toFixed(2) })}
  </p>`;
}

function source({ match }) {
  const { machine } = match,
    matcher = MATCHERS[machine.source] ?? machine.source,
    machineChoice = machine.asset_id
      ? t("{matcher} chose {asset}", { matcher, asset: machine.name })
      : t("{matcher} found no match", { matcher }),
    sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;
  if (match.source === "human")
    return html`<span class="tag good">${t("Chosen by you")}</span> ${sentence(machineChoice)}`;
  if (machine.asset_id) return html`<span class="tag">${t("Chosen by {matcher}", { matcher })}</span>`;
  return html`<span class="tag">${t("No match")}</span> ${sentence(match.reason)}`;
}

function chooseForAll(cards, { identical = [] }, option) {
  if (identical.length < 2) return null;
  const count = identical.length,
    isChosenForAll = identical.every((id) => {
      const other = cards.objects.find((one) => one.id === id);
      return other && isChosen(other, option);
    });
  return html`<button class="studio-button choose-all" disabled=${isChosenForAll} data-sends="object-cards.decide"
    title=${t("Choose for all identical objects: {names}", { names: identical.join(", ") })}
    onclick=${() => cards.choose(option, identical)}>
    ${isChosenForAll ? t("✓ Chosen for all {count}", { count }) : t("Choose for all {count} identical", { count })}
  </button>`;
}

function misfit({ placed }, option) {
  const isReplaced = placed && option.asset_id && placed.asset_id === null && !placed.changed;
  return (
    isReplaced &&
    html`<p class="warn">
      ${t("This asset does not fit the measured points, so the twin uses a reconstruction from the view.")}
    </p>`
  );
}

export function side(cards, object, option) {
  if (!option)
    return html`<p class="muted">
      ${object.is_object ? t("Not matched yet.") : t("Not an object; not in the twin.")}</p>`;
  const { match } = object,
    isOn = isChosen(object, option),
    isRejected = match.asset_id === null && option === match.candidates[0],
    scores = Object.entries(option.scores ?? {});
  return html`<h3 class="title">${fullName(option)}
      ${option.score !== undefined && html`<span class="score">${Math.round(option.score * 100)} %</span>`}</h3>
    <div class="tags">${optionTags(object, option)}
      ${isRejected && html`<span class="tag">${t("Closest, no match")}</span>`}
      ${recolouredTag(object, option)}</div>
    ${
      scores.length
        ? html`<div class="bars">${scores.map(scoreBar)}</div>`
        : html`<p class="reason">${option.reason}</p>`
    }
    ${fitLine(object, option, cards.previews.renderOf(object, option))}
    ${isOn && misfit(object, option)}
    <div class="buttons">
      <button class="studio-button primary choose" disabled=${isOn} data-sends="object-cards.decide" title="Enter"
        onclick=${() => cards.choose(option)}>
        ${isOn ? t("✓ Chosen") : html`${t("Choose")}<kbd>↵</kbd>`}</button>
      ${chooseForAll(cards, object, option)}
    </div>
    <p class="source">${source(object)}
      ${
        match.confidence &&
        html` <${MatchConfidence} confidence=${match.confidence} first=${match.candidates[0].name} />`
      }</p>`;
}
