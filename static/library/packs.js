// Packs that others made: what they hold, what they weigh, under which terms.
import { fill, h } from "/static/studio/dom.js";

export class Packs {
  constructor({ ask, began }) {
    Object.assign(this, { ask, began });
    this.element = h("div.packs", { hidden: true });
  }

  async show() {
    this.element.hidden = false;
    const { packs = [], error } = await this.ask({ kind: "packs" });
    fill(this.element, h("div.packs-head", {}, h("h3", {}, "Packs"), h("button.studio-button.plain", { "aria-label": "Close the packs", onclick: () => this.hide() }, "✕")), error && h("p.fault", {}, error), packs.map((pack) => this.pack(pack)), this.objaverse());
  }

  hide() {
    this.element.hidden = true;
  }

  pack(pack) {
    const whole = pack.there >= pack.things, begun = pack.there > 0 && !whole;
    return h("section.pack.panel", { "data-pack": pack.name }, h("div", {}, h("strong", {}, pack.name), h("p", {}, pack.about),
      h("p.muted", {}, `${pack.things} things, ${pack.download ? `${Math.round(pack.download / 1e6)} MB to fetch with pip` : "on this machine already"}. Bringing them in takes minutes; you can go on working.`),
      h("p.muted", {}, "Licences, kept with each asset: ", pack.licences.map((one) => h("span.tag", {}, one)), " Read them before you share what you make.")),
      h("div.do", {}, whole ? h("span.tag.good", {}, `✓ all ${pack.there} here`) : h("button.studio-button.primary", { onclick: () => this.install(pack.name) }, begun ? "Go on" : "Install"), begun && h("span.muted", {}, `${pack.there} of ${pack.things} are here`)));
  }

  // One thing by its id: what it is and under which terms is asked first.
  objaverse() {
    const id = h("input", { "aria-label": "Objaverse id", placeholder: "Objaverse id, or the address of its page", spellcheck: false, onkeydown: (event) => { if (event.key === "Enter") look(); if (event.key !== "Escape") event.stopPropagation(); }, oninput: () => { wrong.hidden = true; } });
    const wrong = h("p.fault", { role: "alert", hidden: true });
    const button = h("button.studio-button.primary", { "data-act": "objaverse", onclick: () => look() }, "Look it up");
    const look = async () => {
      button.disabled = true;
      const answer = await this.ask({ kind: "objaverse", id: id.value });
      button.disabled = false;
      wrong.hidden = !answer.error;
      wrong.textContent = answer.error ?? "";
      if (answer.error) return id.focus();
      this.hide();
      this.began(answer);
    };
    return h("section.pack.panel", { "data-pack": "objaverse" }, h("div", {}, h("strong", {}, "one thing of Objaverse"),
      h("p", {}, "800,000 things of all kinds, each with its own author and licence. Needs the network: it first asks what the thing is and shows its licence; nothing of it is fetched before you agree."),
      h("div.by-id", {}, id, button), wrong));
  }

  async install(name) {
    const answer = await this.ask({ kind: "install", pack: name });
    this.hide();
    this.began(answer);
  }
}
