// A search box that shows assets of the library instead of the candidates.
import { LatestRequest } from "/static/studio/latest_request.js";
import { t } from "/static/studio/texts.js";
import { html, signal } from "/static/studio/view.js";

const TYPING_DELAY_MS = 180; // pause in typing before a search

export class AssetSearch {
  text = signal(""); // as typed
  answer = signal(/** @type {any} */ ({}));
  timer = 0;

  constructor(ask, token) {
    this.token = token;
    this.asking = new LatestRequest(ask, (answer) => (this.answer.value = answer));
  }

  get query() {
    return this.text.value.trim();
  }

  get found() {
    return this.answer.value.assets ?? [];
  }

  type(text) {
    clearTimeout(this.timer);
    this.text.value = text;
    if (!this.query) return this.clear();
    const question = { kind: "search", token: this.token(), words: this.query };
    this.timer = setTimeout(() => this.asking.send(question), TYPING_DELAY_MS);
  }

  clear() {
    clearTimeout(this.timer);
    this.asking.cancel();
    this.text.value = "";
    this.answer.value = {};
  }

  field() {
    const onKeyDown = (event) => {
      event.stopPropagation();
      if (event.key !== "Escape") return;
      this.clear();
      event.target.blur();
    };
    return html`<label class="search">
      <input type="search" placeholder=${t("Search the library …")} aria-label=${t("Search the library by words")}
        spellcheck=${false} value=${this.text.value} oninput=${({ target }) => this.type(target.value)}
        onkeydown=${onKeyDown} /><kbd>/</kbd>
    </label>`;
  }

  summary() {
    const { error, total, every_word } = this.answer.value,
      count = this.found.length;
    if (error) return error;
    if (total === undefined) return t("Searching …");
    if (!total)
      return t("No asset matches “{query}”. Try other words, or import an asset on the Library page.", {
        query: this.query,
      });
    const result = every_word === false ? t("match some of these words") : t("found"),
      shown = total > count ? t("; showing {count}", { count }) : "";
    return `${t("{n} asset|{n} assets", { n: total })} ${result}${shown}. ${t("Click one to preview it.")}`;
  }

  results(tiles) {
    const end = ({ currentTarget }) => {
      const tiles = currentTarget.closest(".tiles");
      this.clear();
      queueMicrotask(() => tiles.querySelector(".viewed")?.focus()); // the button is gone
    };
    return html`<p class="summary">${this.summary()}${" "}
        <button class="studio-button plain" onclick=${end}>${t("Show candidates")}</button></p>
      <div class="assets results">${tiles}</div>`;
  }
}
