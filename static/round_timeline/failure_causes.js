import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

// Why a round failed: facts that show their moment, and buttons for what to try. Null for a round that passed.
export function failureCauses({ number, causes }, timeline) {
  if (!causes?.facts.length) return null;
  const fact = ({ text, instant }) => html`<li>${text}
    ${
      instant !== null &&
      html`<button class="studio-button plain" title=${t("Show this moment")}
        onclick=${() => timeline.play(number, { instant })}>▶ ${instant.toFixed(1)} s</button>`
    }
  </li>`;
  const remedy = ({ kind, title, instruction }) => html`<button class="studio-button"
    title=${instruction || t("Double tolerances and zones, and continue as a new branch")}
    disabled=${timeline.value.running}
    onclick=${() => timeline.send("remedy", { number, kind, instruction })}>
    ${title}${instruction && html`<span class="faint"> ${instruction}</span>`}
  </button>`;
  return html`<section class="causes" aria-label=${t("Why it failed")}>
    <b>${t("Why it failed")}</b>
    <ol>${causes.facts.map(fact)}</ol>
    ${
      causes.remedies.length > 0 &&
      html`<div class="remedies" data-sends="round-timeline.remedy">${causes.remedies.map(remedy)}</div>`
    }
  </section>`;
}
