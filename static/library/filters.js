// Filters: category, collection, licence, size, joints.
import { collectionName } from "/static/library/formatting.js";
import { TickBox } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { html, signal } from "/static/studio/view.js";

const NO_FILTER = { category: "", licence: "", collection: "", smallest: "", largest: "", articulated: false };

export class Filters {
  chosen = signal(NO_FILTER);
  facets = signal(/** @type {any} */ ({ categories: [], licences: [], places: [] }));

  constructor(onChange) {
    this.onChange = onChange;
  }

  /** Updates the choices and their counts; keeps the current choice where it is still there. */
  setOptions(facets) {
    const { category, licence, collection } = this.chosen.value,
      kept = (counts, one) => (counts.some(([name]) => name === one) ? one : "");
    this.facets.value = facets;
    this.chosen.value = {
      ...this.chosen.value,
      category: kept(facets.categories, category),
      licence: kept(facets.licences, licence),
      collection: kept(facets.places, collection),
    };
  }

  reset() {
    this.chosen.value = NO_FILTER;
  }

  get query() {
    const { smallest, largest, articulated, ...names } = this.chosen.value,
      metres = (text) => (text === "" ? null : Number(text) / 100);
    return { ...names, smallest: metres(smallest), largest: metres(largest), articulated: articulated || null };
  }

  get active() {
    return Object.values(this.query).some((value) => value !== "" && value !== null);
  }

  set(changes) {
    this.chosen.value = { ...this.chosen.value, ...changes };
    this.onChange();
  }

  template() {
    const { categories, licences, places } = this.facets.value,
      sorted = [...categories].sort(([a], [b]) => a.localeCompare(b));
    return html`<div class="filters">
      ${this.select("category", t("Category"), t("All categories"), sorted)}
      ${this.select("collection", t("Collection"), t("All collections"), places, collectionName)}
      ${this.select("licence", t("Licence"), t("All licences"), licences)}
      <div class="label">
        <span>${t("Longest side, cm")}</span>
        <span class="pair flow">
          ${this.number("smallest", t("Longest side from, in cm"), "0")}
          <i>${t("to")}</i>
          ${this.number("largest", t("Longest side to, in cm"), t("any"))}
        </span>
      </div>
      <${TickBox} label=${t("Articulated only")} checked=${this.chosen.value.articulated}
        onChange=${(articulated) => this.set({ articulated })} />
      <button class="studio-button plain" hidden=${!this.active} onclick=${() => this.set(NO_FILTER)}>
        ${t("Clear filters")}</button>
      <p class="hint">${t("Drop a model, folder or zip here to import it, or a picture to search by it.")}</p>
    </div>`;
  }

  select(name, label, all, counts, labelOf = (one) => one) {
    return html`<label>
      <span>${label}</span>
      <select aria-label=${label} value=${this.chosen.value[name]}
        onchange=${({ target }) => this.set({ [name]: target.value })}>
        <option value="">${all}</option>
        ${counts.map(([value, count]) => html`<option value=${value}>${labelOf(value)} (${count})</option>`)}
      </select>
    </label>`;
  }

  number(name, label, placeholder) {
    return html`<input type="number" min="0" step="1" aria-label=${label} placeholder=${placeholder}
      value=${this.chosen.value[name]} oninput=${({ target }) => this.set({ [name]: target.value })} />`;
  }
}
