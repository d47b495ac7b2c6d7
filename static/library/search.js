// The search for assets: words, a picture, filters, and the grid of what they find.
import { Filters } from "/static/library/filters.js";
import { Grid } from "/static/library/grid.js";
import { libraryOpen } from "/static/library/library_state.js";
import { Chip } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { batch, html, signal } from "/static/studio/view.js";

const SEARCH_DELAY_MS = 120,
  FIRST_PAGE = 100,
  RENEWED = 200, // entries that are asked for again
  INDEXING_POLL_MS = 5000;

export class AssetSearch {
  words = signal("");
  image = signal(/** @type {any} */ (null)); // {request, image, text} of the picture that is searched by
  results = signal(/** @type {any} */ (null));
  number = 0; // of the newest search

  /** `ask` sends a request, `digest()` is the library's, `showNote(text, isError)` tells, `onOpen(id)` opens one. */
  constructor({ ask, digest, showNote, onOpen }) {
    this.ask = ask;
    this.digest = digest;
    this.showNote = showNote;
    this.filters = new Filters(() => this.schedule());
    this.grid = new Grid({
      fetchEntries: (offset, limit) => ask(this.query(offset, limit)),
      fetchPictures: (ids) => ask({ kind: "thumbnails", ids }),
      onOpen,
    });
  }

  query(offset, limit) {
    const like = this.image.value?.request ?? null;
    return { kind: "find", words: this.words.value, like, ...this.filters.query, offset, limit };
  }

  async find(keepScroll = false) {
    const number = ++this.number,
      answer = await this.ask(this.query(0, keepScroll ? RENEWED : FIRST_PAGE));
    if (number !== this.number) return;
    if (answer.error) return this.showNote(answer.error, true);
    this.foundDigest = this.digest();
    batch(() => {
      this.results.value = answer;
      this.filters.setOptions(answer.facets);
      this.grid.show(answer, keepScroll);
    });
    clearTimeout(this.indexingTimer);
    if (answer.indexing && libraryOpen()) this.indexingTimer = setTimeout(() => this.find(true), INDEXING_POLL_MS);
  }

  // Whether the library has changed since it was searched.
  isOutdated = () => Boolean(this.results.value) && this.foundDigest !== this.digest();

  schedule() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.find(), SEARCH_DELAY_MS);
  }

  searchByImage(image) {
    this.image.value = image;
    this.find();
  }

  reset() {
    this.filters.reset();
    this.words.value = "";
    this.searchByImage(null);
  }

  setUndo(undo) {
    if (this.results.value) this.results.value = { ...this.results.value, undo };
  }

  // ---------------------------------------------------------------- what is shown

  /** The count, the field for words, and the picture or the `target` to search by, which `searchLike()` does. */
  head(target, searchLike) {
    const search = ({ currentTarget }) => {
      this.words.value = currentTarget.value;
      this.schedule();
    };
    return html`${this.count()}
      <input class="search" type="search" placeholder=${t("Search: red mug, bottle, cabinet with drawers …")}
        aria-label=${t("Search assets")} value=${this.words.value} ref=${(field) => (this.field = field)}
        oninput=${search} onkeydown=${(event) => event.key !== "Escape" && event.stopPropagation()} />
      <span class="image-query-slot">
        ${this.image.value ? this.imageQuery(this.image.value) : target && similarTo(target, searchLike)}
      </span>`;
  }

  count() {
    const { total, all, skipped = [] } = this.results.value ?? {},
      title = skipped.length ? t("Left out: {skipped}", { skipped: skipped.join("; ") }) : "";
    return html`<span class="count" role="status" title=${title}>
      ${
        all !== undefined &&
        (total === all ? t("{n} asset|{n} assets", { n: all }) : t("{total} of {all} assets", { total, all }))
      }
    </span>`;
  }

  imageQuery({ image, text }) {
    return html`<span class="image-query">
      <img src=${image} alt="" />
      ${t("Similar to {picture}", { picture: text })}
      <button aria-label=${t("Clear picture")} onclick=${() => this.searchByImage(null)}>✕</button>
    </span>`;
  }

  template() {
    const { total, every_word: hasEveryWord, indexing } = this.results.value ?? {};
    return html`<div class="middle">
      <p class="hint-line" hidden=${!(total && (!hasEveryWord || indexing))}>
        ${
          indexing
            ? t("New assets are still being indexed; more may be found in a minute.")
            : t("No asset matches all words; showing partial matches.")
        }
      </p>
      ${this.grid.template()}
      <div class="empty" hidden=${total !== 0}>${total === 0 && this.nothing()}</div>
    </div>`;
  }

  nothing() {
    if (!this.results.value.all)
      return t(
        "No assets yet. Drop a model here (.glb .obj .stl .ply .urdf .xml, a folder or a .zip), or install a pack.",
      );
    const isNarrowed = this.filters.active || this.image.value || this.words.value;
    return html`${t("No assets match.")}${" "}
      ${isNarrowed && html`<button class="studio-button" onclick=${() => this.reset()}>${t("Show all")}</button>`}`;
  }
}

const similarTo = (target, search) =>
  html`<button class="studio-button" onclick=${search}>
    ${t("Similar to")} <${Chip} object=${target} /> ${target.words}</button>`;
