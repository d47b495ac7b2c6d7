import { fill, h } from "/static/studio/dom.js";
import { diff } from "/static/studio/diff.js";

// Our prompts and the user's own copies of them.
export class Prompts {
  constructor(ask) {
    Object.assign(this, { ask, known: [], open: null, told: null, note: "", bad: false, comparing: false });
    this.list = h("div.kinds", { role: "navigation", "aria-label": "Prompts" });
    this.text = h("textarea", { "aria-label": "The prompt", spellcheck: false, oninput: () => this.buttons() });
    this.top = h("div.prompt-head");
    this.under = h("div.under");
    this.element = h("div.prompts", {}, this.list, h("section.prompt", {}, this.top, this.text, this.under));
  }

  show(known) {
    this.known = known ?? [];
    if (!this.open && this.known.length) return this.pick(this.known[0].kind);
    this.draw();
  }

  async pick(kind) {
    this.open = kind;
    this.take(await this.ask({ kind: "prompt", name: kind }));
  }

  take(told) {
    this.bad = Boolean(told.error);
    this.note = told.error ?? told.note ?? "";
    if (!told.error) {
      this.told = told;
      this.text.value = told.text;
      this.known = told.known ?? this.known;
    }
    this.comparing = false;
    this.draw();
  }

  buttons() {
    if (!this.told) return;
    const dirty = this.text.value !== this.told.text;
    fill(this.top, h("strong", {}, this.told.title), h("span.faint", {}, `${this.told.name}.md`), this.told.changed ? h("span.tag.warn", {}, "yours, changed against ours") : h("span.tag", {}, "ours"), dirty && h("span.tag", {}, "not saved"));
    fill(this.under, h("div.holes", {}, "Holes: ", this.told.holes.map((hole) => h("code", {}, `{{${hole}}}`))), this.note && h(this.bad ? "p.fault" : "p.note", { role: "status" }, this.note),
      h("div.actions", {}, h("button.studio-button.primary", { disabled: !dirty, onclick: async () => this.take(await this.ask({ kind: "keep prompt", name: this.open, text: this.text.value })) }, "Save as my copy"),
        this.told.changed && h("button.studio-button", { onclick: async () => this.take(await this.ask({ kind: "our prompt", name: this.open })) }, "Use ours again"),
        this.told.changed && h("button.studio-button", { onclick: () => { this.comparing = !this.comparing; this.buttons(); } }, this.comparing ? "Hide the changes" : "Show what is changed")),
      this.comparing && this.told.rows.length ? [h("div.sides", {}, h("span.faint", {}, "ours"), h("span.faint", {}, "yours")), diff(this.told.rows)] : null);
  }

  draw() {
    fill(this.list, this.known.map((one) => h(`button.kind${one.kind === this.open ? ".on" : ""}`, { "data-kind": one.kind, "aria-current": String(one.kind === this.open), onclick: () => this.pick(one.kind) }, one.title, one.changed && h("span.tag.warn", {}, "changed"))));
    this.text.hidden = !this.told;
    this.buttons();
  }
}
