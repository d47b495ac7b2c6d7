// How well the twin explains the photograph: what nothing explains, tinted, beside figures and doubts.
import { capitalised } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { classes, html, mounts, View } from "/static/studio/view.js";

class EvidenceCard extends View {
  template() {
    const { photo, unexplained, doubts, figures, objects } = this.value;
    if (!photo) return null;
    const isDoubtful = doubts.length > 0,
      verdict = isDoubtful ? t("? The twin may not show the photograph") : t("✓ The twin explains the photograph");
    return html`<div class=${classes("card", isDoubtful ? "doubtful" : "good")}>
      <figure>
        <div class="layers"><img src=${photo} alt=${t("Photograph")} />
          <img class="tint" src=${unexplained} alt=${t("What nothing in the twin explains")} /></div>
        <figcaption><i />${t("Nothing explains these pixels")}</figcaption>
      </figure>
      <div class="text">
        <h3>${verdict}</h3>
        ${doubts.map(
          ({ reason, cure }) =>
            html`<p class="doubt"><strong>${capitalised(reason)}. </strong>${cure && `${capitalised(cure)}.`}</p>`,
        )}
        <dl>
          ${figures.map(
            ({ name, text, doubtful }) => html`<dt>${name}</dt>
              <dd class=${doubtful && "low"}>${doubtful ? `! ${text}` : text}</dd>`,
          )}
        </dl>
        ${objects.map((text) => html`<p class="object">${capitalised(text)}.</p>`)}
      </div>
    </div>`;
  }
}

export default mounts(EvidenceCard);
