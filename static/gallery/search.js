// The search for projects: words, filters and order, by which the server's index finds them one page at a time.
import { GROUPS, isDescendingFirst, ORDERS, STATES, VERDICTS } from "/static/gallery/project_views.js";
import { t } from "/static/studio/texts.js";
import { batch, html, signal } from "/static/studio/view.js";

const SEARCH_DELAY_MS = 120,
  UNREAD_POLL_MS = 300,
  PAGE_SIZE = 60;
const NEWEST_FIRST = { group: "", sort: "changed", descending: true };

export class ProjectSearch {
  words = signal("");
  filters = { state: signal(""), verdict: signal(""), tag: signal("") };
  order = signal(NEWEST_FIRST);
  found = signal(/** @type {any} */ (null)); // the newest answer, with the order that it was asked for in
  offset = 0;
  number = 0; // of the newest request

  /** `ask(request)` asks the server, `isShown()` says whether a person sees the board; the others get its answers. */
  constructor({ ask, isShown, onFound, onError }) {
    this.ask = ask;
    this.isShown = isShown;
    this.onFound = onFound;
    this.onError = onError;
  }

  get query() {
    const { state, verdict, tag } = this.filters;
    return { words: this.words.value, state: state.value, verdict: verdict.value, tag: tag.value };
  }

  isFiltered = () => Object.values(this.query).some((text) => text.trim());

  /** Shows the gallery's value, or finds again what a person had searched for. */
  show(value) {
    const isReordered = Object.entries(NEWEST_FIRST).some(([name, first]) => this.order.value[name] !== first);
    if (this.found.value && (this.isFiltered() || this.offset || isReordered)) this.find({ refresh: true });
    else {
      this.leave();
      this.take(value);
    }
  }

  restart(changes = {}) {
    this.order.value = { ...this.order.value, ...changes };
    this.offset = 0;
    this.find({});
  }

  sortBy(sort) {
    const { sort: former, descending } = this.order.value;
    this.restart({ sort, descending: sort === former ? !descending : isDescendingFirst(sort) });
  }

  type(words) {
    this.words.value = words;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.restart(), SEARCH_DELAY_MS);
  }

  clear() {
    for (const one of [this.words, ...Object.values(this.filters)]) one.value = "";
    this.restart();
    this.field.focus();
  }

  async find({ refresh = false }) {
    const number = ++this.number,
      order = this.order.value,
      { offset } = this;
    const answer = await this.ask({ kind: "find", ...this.query, ...order, offset, limit: PAGE_SIZE, refresh });
    if (number !== this.number) return;
    if (answer.error) return this.onError(answer);
    if (!answer.projects.length && offset) {
      this.offset = Math.max(0, Math.floor((answer.total - 1) / PAGE_SIZE) * PAGE_SIZE);
      return this.find({});
    }
    this.take(answer, order);
  }

  take(answer, order = NEWEST_FIRST) {
    batch(() => {
      this.found.value = { ...answer, ...order };
      this.onFound(answer);
    });
    clearTimeout(this.unreadTimer);
    if (answer.outdated) return this.find({ refresh: true });
    if (answer.unread)
      this.unreadTimer = setTimeout(() => this.isShown() && this.find({ refresh: true }), UNREAD_POLL_MS);
  }

  /** Takes no answer that is still on its way. */
  leave() {
    this.number++;
  }

  // ---------------------------------------------------------------- what is shown

  /** The fields of the board's head; `views` chooses cards or a table, and a table is ordered by its columns. */
  template(isTable, views) {
    return html`<input class="search" type="search" placeholder=${t("Search projects …")}
        aria-label=${t("Search projects")} value=${this.words.value} ref=${(field) => (this.field = field)}
        oninput=${({ target }) => this.type(target.value)} />
      ${this.filterSelects()}
      <button class="studio-button plain" hidden=${!this.isFiltered()} onclick=${() => this.clear()}>
        ${t("Clear filters")}</button>
      <span class="right">${this.groupSelect()}${this.orderSelect(isTable)}${views}</span>`;
  }

  filterSelects() {
    const { states, verdicts, tags } = this.found.value.facets,
      known = (titles, numbers) =>
        Object.entries(titles).map(([value, title]) => [value, title, numbers[value === "none" ? "" : value] ?? 0]);
    const all = Object.entries(tags).map(([tag, number]) => [tag, tag, number]);
    return [
      this.filter("state", t("State"), t("Any state"), known(STATES(), states)),
      this.filter("verdict", t("Verdict"), t("Any verdict"), known(VERDICTS(), verdicts)),
      this.filter("tag", t("Tag"), t("Any tag"), all, !all.length && !this.filters.tag.value),
    ];
  }

  filter(name, label, any, entries, isHidden = false) {
    const chosen = this.filters[name],
      isUnknown = chosen.value && !entries.some(([value]) => value === chosen.value);
    const choose = ({ target }) => {
      chosen.value = target.value;
      this.restart();
    };
    return html`<select aria-label=${label} value=${chosen.value} hidden=${isHidden} onchange=${choose}>
      <option value="">${any}</option>
      ${entries.map(
        ([value, title, number]) => html`<option value=${value}>${title} (${number.toLocaleString()})</option>`,
      )}
      ${isUnknown && html`<option value=${chosen.value}>${chosen.value}</option>`}
    </select>`;
  }

  groupSelect() {
    return html`<select aria-label=${t("Group by")} value=${this.order.value.group}
      onchange=${({ target }) => this.restart({ group: target.value })}>
      <option value="">${t("No groups")}</option>
      ${Object.entries(GROUPS()).map(
        ([value, { title }]) => html`<option value=${value}>${t("Group by: {title}", { title })}</option>`,
      )}
    </select>`;
  }

  orderSelect(isHidden) {
    return html`<select aria-label=${t("Sort by")} value=${this.order.value.sort} hidden=${isHidden}
      onchange=${({ target }) => this.sortBy(target.value)}>
      ${Object.entries(ORDERS()).map(
        ([value, order]) => html`<option value=${value}>${t("Sort by: {order}", { order })}</option>`,
      )}
    </select>`;
  }

  /** Leads from page to page; `onTurned` is called when one is shown. */
  pager(isHidden, onTurned) {
    const { total, offset, projects } = this.found.value,
      last = Math.min(total, offset + projects.length);
    const go = async (to) => {
      this.offset = to;
      await this.find({});
      onTurned();
    };
    return html`<nav class="pager" aria-label=${t("Pages of projects")} hidden=${isHidden || total <= PAGE_SIZE}>
      <button class="studio-button" disabled=${!offset} onclick=${() => go(Math.max(0, offset - PAGE_SIZE))}>
        ${t("‹ Previous")}</button>
      <span>${t("{first} to {last} of {total}", {
        first: (offset + 1).toLocaleString(),
        last: last.toLocaleString(),
        total: total.toLocaleString(),
      })}</span>
      <button class="studio-button" disabled=${last >= total} onclick=${() => go(offset + PAGE_SIZE)}>
        ${t("Next ›")}</button>
    </nav>`;
  }
}
