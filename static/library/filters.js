// Filters: category, collection, licence, size, joints.
import { fill, h } from "/static/studio/dom.js";
import { collectionName } from "/static/library/formatting.js";
import { t } from "/static/studio/texts.js";

const NO_FILTER = { category: "", licence: "", collection: "", smallest: "", largest: "", articulated: false };

export class Filters {
  constructor(onChange) {
    const select = (label) => h("select", { "aria-label": label, onchange: onChange });
    const number = (label, placeholder) =>
      h("input", { type: "number", min: "0", step: "1", "aria-label": label, placeholder, oninput: onChange });
    this.fields = {
      category: select(t("Category")),
      collection: select(t("Collection")),
      licence: select(t("Licence")),
      smallest: number(t("Longest side from, in cm"), "0"),
      largest: number(t("Longest side to, in cm"), t("any")),
      articulated: h("input", { type: "checkbox", onchange: onChange }),
    };
    const { category, collection, licence, smallest, largest, articulated } = this.fields;
    this.clear = h(
      "button.studio-button.plain",
      {
        onclick: () => {
          this.reset();
          onChange();
        },
      },
      t("Clear filters"),
    );
    this.element = h(
      "div.filters",
      {},
      h("label", {}, h("span", {}, t("Category")), category),
      h("label", {}, h("span", {}, t("Collection")), collection),
      h("label", {}, h("span", {}, t("Licence")), licence),
      h(
        "div.label",
        {},
        h("span", {}, t("Longest side, cm")),
        h("span.pair", {}, smallest, h("i", {}, t("to")), largest),
      ),
      h("label.tick", {}, articulated, t("Articulated only")),
      this.clear,
      h("p.hint", {}, t("Drop a model, folder or zip here to import it, or a picture to search by it.")),
    );
  }

  // Updates the choices and their counts; keeps the current choice.
  setOptions({ categories, licences, places }) {
    const fillSelect = (select, all, counts, label = (name) => name) => {
      const chosen = select.value;
      fill(
        select,
        h("option", { value: "" }, all),
        counts.map(([name, count]) => h("option", { value: name }, `${label(name)} (${count})`)),
      );
      select.value = counts.some(([name]) => name === chosen) ? chosen : "";
    };
    fillSelect(
      this.fields.category,
      t("All categories"),
      [...categories].sort(([a], [b]) => a.localeCompare(b)),
    );
    fillSelect(this.fields.licence, t("All licences"), licences);
    fillSelect(this.fields.collection, t("All collections"), places, collectionName);
  }

  reset() {
    for (const [name, value] of Object.entries(NO_FILTER))
      this.fields[name][name === "articulated" ? "checked" : "value"] = value;
  }

  get query() {
    const { category, collection, licence, smallest, largest, articulated } = this.fields;
    const metres = (field) => (field.value === "" ? null : Number(field.value) / 100);
    return {
      category: category.value,
      collection: collection.value,
      licence: licence.value,
      smallest: metres(smallest),
      largest: metres(largest),
      articulated: articulated.checked || null,
    };
  }

  get active() {
    return Object.values(this.query).some((value) => value !== "" && value !== null);
  }
}
