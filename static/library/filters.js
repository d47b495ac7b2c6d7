// What an asset shall be: kind, whose, licence, how large, with joints.
import { fill, h } from "/static/studio/dom.js";
import { place } from "/static/library/words.js";

const NONE = { category: "", licence: "", place: "", smallest: "", largest: "", articulated: false };

export class Filters {
  constructor(changed) {
    this.changed = changed;
    const select = (label) => h("select", { "aria-label": label, onchange: changed });
    const number = (label, placeholder) => h("input", { type: "number", min: "0", step: "1", "aria-label": label, placeholder, oninput: changed });
    this.fields = { category: select("Kind"), place: select("Whose"), licence: select("Licence"), smallest: number("Longest side from, in cm", "0"), largest: number("Longest side to, in cm", "any"), articulated: h("input", { type: "checkbox", onchange: changed }) };
    const { category, place: whose, licence, smallest, largest, articulated } = this.fields;
    this.clear = h("button.studio-button.plain", { onclick: () => { this.reset(); changed(); } }, "Clear filters");
    this.element = h("div.filters", {},
      h("label", {}, h("span", {}, "Kind"), category), h("label", {}, h("span", {}, "Whose"), whose), h("label", {}, h("span", {}, "Licence"), licence),
      h("div.label", {}, h("span", {}, "Longest side, cm"), h("span.pair", {}, smallest, h("i", {}, "to"), largest)),
      h("label.tick", {}, articulated, "with joints only"), this.clear,
      h("p.hint", {}, "Drop a model, a folder or a zip anywhere here to bring it in, or a picture to look for what is on it."));
  }

  // How many there are of each; what is chosen stays.
  offer({ categories, licences, places }) {
    const options = (select, all, rows, told = (name) => name) => {
      const chosen = select.value;
      fill(select, h("option", { value: "" }, all), rows.map(([name, count]) => h("option", { value: name }, `${told(name)} (${count})`)));
      select.value = rows.some(([name]) => name === chosen) ? chosen : "";
    };
    options(this.fields.category, "all kinds", [...categories].sort(([a], [b]) => a.localeCompare(b)));
    options(this.fields.licence, "all licences", licences);
    options(this.fields.place, "everybody's", places, place);
  }

  reset() {
    for (const [name, value] of Object.entries(NONE)) name === "articulated" ? (this.fields[name].checked = value) : (this.fields[name].value = value);
  }

  get said() {
    const { category, place: whose, licence, smallest, largest, articulated } = this.fields;
    const metres = (field) => (field.value === "" ? null : Number(field.value) / 100);
    return { category: category.value, place: whose.value, licence: licence.value, smallest: metres(smallest), largest: metres(largest), articulated: articulated.checked || null };
  }

  get any() {
    return Object.values(this.said).some((value) => value !== "" && value !== null);
  }
}
