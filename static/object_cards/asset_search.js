import { LatestRequest } from "/static/studio/latest_request.js";
import { h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const TYPING_DELAY_MS = 180; // pause in typing before a search

// Search box that shows library assets instead of the candidates.
export class AssetSearch {
  constructor(ask, token, onResults) {
    this.found = [];
    this.asking = new LatestRequest(ask, (answer) => {
      Object.assign(this, {
        found: answer.assets ?? [],
        total: answer.total ?? 0,
        everyWord: answer.every_word,
        error: answer.error,
      });
      onResults();
    });
    this.input = h("input", {
      type: "search",
      placeholder: t("Search the library …"),
      "aria-label": t("Search the library by words"),
      spellcheck: false,
      oninput: () => {
        clearTimeout(this.timer);
        if (!this.query) return this.clear(onResults);
        this.timer = setTimeout(
          () => this.asking.send({ kind: "search", token: token(), words: this.query }),
          TYPING_DELAY_MS,
        );
      },
      onkeydown: (event) => {
        event.stopPropagation();
        if (event.key === "Escape") {
          this.clear(onResults);
          this.input.blur();
        }
      },
    });
    this.element = h("label.search", {}, this.input, h("kbd", {}, "/"));
  }

  get query() {
    return this.input.value.trim();
  }

  get isActive() {
    return Boolean(this.query);
  }

  clear(onResults) {
    clearTimeout(this.timer);
    this.asking.cancel();
    this.input.value = "";
    Object.assign(this, { found: [], total: undefined, error: "" });
    onResults?.();
  }

  // How many assets were found, shown above them.
  summary() {
    if (this.error) return this.error;
    if (this.total === undefined) return t("Searching …");
    if (!this.total)
      return t("No asset matches “{query}”. Try other words, or import an asset on the Library page.", {
        query: this.query,
      });
    const result = this.everyWord === false ? t("match some of these words") : t("found");
    const shown = this.total > this.found.length ? t("; showing {count}", { count: this.found.length }) : "";
    return `${t("{n} asset|{n} assets", { n: this.total })} ${result}${shown}. ${t("Click one to preview it.")}`;
  }
}

export const searchResults = (search, tiles) => [
  h(
    "p.summary",
    {},
    search.summary(),
    " ",
    h("button.studio-button.plain", { onclick: () => search.clear(search.onCleared) }, t("Show candidates")),
  ),
  h("div.assets.results", {}, tiles),
];
