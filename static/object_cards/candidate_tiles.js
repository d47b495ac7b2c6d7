// The options for an object as tiles, each as it looks in the photograph once it is rendered.
import { sizeText } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";
import { fullName, isChosen, isMatcherChoice, isPrinted, isRecoloured } from "./candidates.js";

/** Whether an option is chosen, and by whom. */
export const optionTags = (object, option) => html`
  ${isChosen(object, option) && html`<span class="tag good">${t("✓ Chosen")}</span>`}
  ${
    !isChosen(object, option) &&
    isMatcherChoice(object, option) &&
    html`<span class="tag">${t("Matcher's choice")}</span>`
  }`;

const RECOLOURED = t(
  "Its shape fits; its texture is tinted to the colour in the photograph. The inspector switches it off.",
);

const PRINTED = t(
  "Its shape fits and its print does not: what the photograph shows is printed on it. The inspector switches it off.",
);

export const recolouredTag = (object, option) =>
  isPrinted(object, option)
    ? html`<span class="tag recoloured" title=${PRINTED}>${t("Photograph's print")}</span>`
    : isRecoloured(object, option) &&
      html`<span class="tag recoloured" title=${RECOLOURED}>
        <i class="swatch" style=${`background:rgb(${object.placed.recolour})`} />${t("Recoloured")}</span>`;

function picture(object, option, scene, render) {
  if (render?.state === "ready" && scene)
    return html`<img class="background" src=${scene.background} alt="" />
      <img class="candidate" src=${render.image} alt=${option.name} />`;
  if (option.image) return html`<img class="card" src=${option.image} alt=${option.name} loading="lazy" />`;
  return html`<div class="placeholder cover" style=${object.crop && `background-image:url("${object.crop}")`} />`;
}

/** An option as a tile; a click views it, a double click or Enter chooses it. */
export function tile(cards, object, option, isViewed) {
  const isOn = isChosen(object, option),
    scene = cards.previews.comparisonOf(object),
    render = cards.previews.renderOf(object, option),
    press = (event) => {
      event.stopPropagation();
      isViewed && event.detail === 0 ? cards.choose(option) : cards.look(option);
    };
  return html`<button class=${classes("tile asset", isOn && "on", isViewed && "viewed")} key=${option.asset_id}
    data-asset=${option.asset_id} aria-pressed=${isOn} onclick=${press}
    title=${[fullName(option), option.reason].filter(Boolean).join(": ")} ondblclick=${() => cards.choose(option)}>
    <span class="picture">${picture(object, option, scene, render)}
      ${render?.state === "drawing" && html`<span class="drawing">${t("Rendering …")}</span>`}</span>
    <span class="asset-name clip">${option.name}</span>
    <span class="line">
      ${option.score !== undefined && html`<b>${Math.round(option.score * 100)} %</b>`}
      ${option.method && html`<span class="faint">${option.method}</span>`}
      ${option.size && html`<span class="faint">${sizeText(option.size).replace(" cm", "")}</span>`}
      ${optionTags(object, option)}
      ${recolouredTag(object, option)}
    </span>
  </button>`;
}
