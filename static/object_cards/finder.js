import { Asking } from "/static/mask_canvas/asking.js";
import { h, plural } from "/static/studio/dom.js";

const REST = 180; // milliseconds without typing

// Words typed, assets found: the library searched by hand.
export class Finder {
  constructor(ask, token, found) {
    this.found = [];
    this.asking = new Asking(ask, (answer) => {
      Object.assign(this, { found: answer.assets ?? [], total: answer.total ?? 0, every: answer.every_word, error: answer.error });
      found();
    });
    this.input = h("input", {
      type: "search", placeholder: "Search the library …", "aria-label": "Search the library by words", spellcheck: false,
      oninput: () => {
        clearTimeout(this.timer);
        if (!this.words) return this.clear(found);
        this.timer = setTimeout(() => this.asking.ask({ kind: "search", token: token(), words: this.words }), REST);
      },
      onkeydown: (event) => {
        event.stopPropagation();
        if (event.key === "Escape") { this.clear(found); this.input.blur(); }
      },
    });
    this.element = h("label.search", {}, this.input, h("kbd", {}, "/"));
  }

  get words() {
    return this.input.value.trim();
  }

  get searching() {
    return Boolean(this.words);
  }

  clear(found) {
    clearTimeout(this.timer);
    this.asking.forget();
    this.input.value = "";
    Object.assign(this, { found: [], total: undefined, error: "" });
    found?.();
  }

  // Above the thumbnails: how many there are.
  says() {
    if (this.error) return this.error;
    if (this.total === undefined) return "searching …";
    if (!this.total) return `Nothing in the library answers to “${this.words}”. Try fewer or other words, or bring your own thing in by the Library page.`;
    return `${this.every === false ? "No asset holds all these words; " : ""}${plural(this.total, "asset")} ${this.every === false ? "hold some" : "found"}${this.total > this.found.length ? `, the first ${this.found.length} shown` : ""}. Click one to see it in the photograph.`;
  }
}

export const hits = (finder, tiles) => [h("p.says", {}, finder.says(), " ", h("button.studio-button.plain", { onclick: () => finder.clear(finder.cleared) }, "Back to the candidates")), h("div.assets.hits", {}, tiles)];
