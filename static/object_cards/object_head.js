// The head of the current object's card: what it is, what it may be a part of, and the way to the next object.
import { Chip, ConfidenceBadge, sizeText } from "/static/studio/parts.js";
import { select } from "/static/studio/selection.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

export function head(cards, object) {
  const order = cards.ordered,
    position = order.indexOf(object),
    caption = object.caption.replace(/,? *[\d.]+ x [\d.]+ x [\d.]+ cm/, ""),
    measured = object.size ? `${caption}, ${sizeText(object.size)}` : object.caption;
  return html`<div class="head flow">
    <${Chip} object=${object} />
    <h3 class="name">${object.words}</h3>
    <${ConfidenceBadge} confidence=${object.confidence} />
    <span class="why">${object.confidence?.reason ?? measured}</span>
    <button class="studio-button" data-sends="object-cards.decide"
      onclick=${() => cards.decide("not_object", { id: object.id, value: object.is_object })}>
      ${object.is_object ? t("Mark as not an object") : t("Mark as object")}</button>
    ${
      position >= 0 &&
      html`<span class="steps">
        <button class="studio-button plain" title=${t("Previous object (↑)")} aria-label=${t("Previous object")}
          onclick=${() => cards.step(-1)}>↑</button>
        ${t("{number} of {count}", { number: position + 1, count: order.length })}
        <button class="studio-button plain" title=${t("Next object (↓)")} aria-label=${t("Next object")}
          onclick=${() => cards.step(1)}>↓</button>
      </span>`
    }
  </div>`;
}

export function mergeHint(cards, { id, probably_part_of: target }) {
  const merge = () => {
    select(target.id);
    cards.decide("merge_segments", { ids: [target.id, id], into: target.id });
  };
  return (
    target &&
    html`<div class="warning merge-hint flow">
      <span>${target.note}</span>
      <button class="studio-button" data-sends="object-cards.decide" onclick=${merge}
        title=${t("Merge both masks into one. You can undo it.")}>
        ${t("Merge into {name}", { name: target.name })}</button>
    </div>`
  );
}
