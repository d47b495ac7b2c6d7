// The menu of methods that reconstruct an object from its visible side.
import { hear } from "/static/studio/page_events.js";
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";
import { METHOD_PREFIX } from "./candidates.js";

export class MethodMenu {
  /** @param {any} cards */
  constructor(cards) {
    this.cards = cards;
    hear(cards.root, document, "pointerdown", ({ target }) => !this.details?.contains(target) && this.close());
  }

  /** @returns {HTMLDetailsElement} */
  get details() {
    return this.cards.root.querySelector(".method-menu details");
  }

  close() {
    if (this.details) this.details.open = false;
  }

  // A method is previewed like a candidate. An external service is only called when chosen.
  view(object, method) {
    const { cards } = this;
    this.close();
    if (method !== "provider") return cards.look({ asset_id: `${METHOD_PREFIX}${method}` });
    cards.previews.view(object, "");
    cards.decide("make", { id: object.id, way: method });
  }

  template(object) {
    const leave = ({ key }) => {
      if (key !== "Escape" || !this.details.open) return;
      this.close();
      this.details.querySelector("summary").focus();
    };
    const choice = ({ method, title }) => {
      const isOn = object.method === method;
      return html`<button class=${classes("list-row choice", isOn && "on")}
        onclick=${() => this.view(object, method)}>${title}${isOn && " ✓"}</button>`;
    };
    return html`<details class="menu" onkeydown=${leave}>
      <summary class="studio-button">${t("Reconstruct from view ▾")}</summary>
      <div class="sheet">
        <p class="hint">${t("Preview a method, then choose it.")}</p>
        ${(this.cards.value.methods ?? []).map(choice)}
      </div>
    </details>`;
  }
}
