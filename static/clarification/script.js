// Why an instruction is unclear, and instructions that are not.
import { fillField } from "/static/studio/fill_field.js";
import { t } from "/static/studio/texts.js";
import { follow, html, mounts, View } from "/static/studio/view.js";

class Clarification extends View {
  constructor(context) {
    super(context);
    follow(this.root, () => {
      this.root.hidden = !this.value.reason;
    });
  }

  template() {
    const { reason, suggestion, alternatives = [] } = this.value;
    return html`${
      reason &&
      html`<p role="alert"><span class="sign">?</span> ${reason.replace(/^./, (letter) => letter.toUpperCase())}</p>`
    }
      ${
        (suggestion || alternatives.length > 0) &&
        html`<div class="answers flow">
          ${
            suggestion
              ? this.use(suggestion, t("Use: {correction}", { correction: suggestion }))
              : html`<span class="label">${t("Try:")}</span>`
          }
          ${alternatives.map((one) => this.use(one, one))}
        </div>`
      }`;
  }

  use(instruction, label) {
    return html`<button class="studio-button" key=${instruction} title=${t("Use this instruction")}
      onclick=${() => fillField(this.value.fills, instruction)}>${label}</button>`;
  }
}

export default mounts(Clarification);
