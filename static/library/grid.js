// Virtual grid of the search results. Only cards near the viewport are in the page; pictures load as they come near.
import { t } from "/static/studio/texts.js";
import { classes, html, signal } from "/static/studio/view.js";

const CARD_WIDTH = 160,
  CARD_HEIGHT = 196,
  GAP = 12,
  PADDING = 12, // above and below the cards
  PAGE_SIZE = 100,
  EXTRA_ROWS = 2,
  POLL_MS = 350;

export class Grid {
  items = signal(/** @type {any[]} */ ([])); // the results; those that are not fetched yet are missing
  pictures = signal(/** @type {Map<string, string>} */ (new Map())); // addresses by digest, "" where there is none
  chosen = signal(""); // id of the asset that is open
  layout = signal({ first: 0, last: 0, columns: 1, cardWidth: CARD_WIDTH, height: 0 }); // cards first to last are drawn
  total = 0;
  requestedPages = new Set();
  version = 0;

  /** `fetchEntries(offset, limit)` returns entries, `fetchPictures(ids)` URLs by id, `onOpen(id)` opens an asset. */
  constructor({ fetchEntries, fetchPictures, onOpen }) {
    this.fetchEntries = fetchEntries;
    this.fetchPictures = fetchPictures;
    this.onOpen = onOpen;
  }

  take = (element) => {
    if (!element) return;
    this.element = element;
    new ResizeObserver(() => this.resize()).observe(element);
  };

  /** Shows the first entries of a new result; `keepScroll` keeps the scroll position. */
  show({ total, items }, keepScroll = false) {
    this.version++;
    this.total = total;
    this.items.value = [...items];
    this.requestedPages.clear();
    if (!keepScroll) this.element.scrollTop = 0;
    this.draw();
  }

  // Sizes are measured here, not while scrolling: reading them forces a layout. The first cards in view, or the end of
  // the list, stay in view when the number of columns changes.
  resize() {
    const { scrollTop, scrollHeight, clientWidth, clientHeight } = this.element,
      { columns: formerColumns } = this.layout.value;
    const isAtEnd = scrollTop > 0 && scrollTop + clientHeight >= scrollHeight - 1,
      firstIndex = Math.floor(scrollTop / (CARD_HEIGHT + GAP)) * formerColumns;
    this.width = clientWidth;
    this.height = clientHeight;
    this.draw();
    const { columns } = this.layout.value;
    if (isAtEnd) this.element.scrollTop = this.element.scrollHeight;
    else if (columns !== formerColumns) this.element.scrollTop = Math.floor(firstIndex / columns) * (CARD_HEIGHT + GAP);
  }

  scheduleDraw() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      this.draw();
    });
  }

  // Lays out the cards near the viewport, and fetches what is missing of them.
  draw() {
    const { width } = this;
    if (!width) return;
    const columns = Math.max(1, Math.floor((width - 24 + GAP) / (CARD_WIDTH + GAP))),
      height = Math.max(0, Math.ceil(this.total / columns) * (CARD_HEIGHT + GAP) - GAP),
      scrollTop = Math.max(0, Math.min(this.element.scrollTop, height - this.height + 2 * PADDING)),
      firstRow = Math.max(0, Math.floor(scrollTop / (CARD_HEIGHT + GAP)) - EXTRA_ROWS),
      endRow = Math.ceil((scrollTop + this.height) / (CARD_HEIGHT + GAP)) + EXTRA_ROWS;
    const layout = {
      first: firstRow * columns,
      last: Math.min(this.total, endRow * columns),
      columns,
      cardWidth: Math.floor((width - 24 + GAP) / columns) - GAP,
      height,
    };
    if (Object.entries(layout).some(([name, value]) => this.layout.value[name] !== value)) this.layout.value = layout;
    for (let index = layout.first; index < layout.last; index++) if (!this.items.value[index]) this.fetch(index);
    this.pollPictures();
  }

  async fetch(index) {
    const offset = Math.floor(index / PAGE_SIZE) * PAGE_SIZE,
      { version } = this;
    if (this.requestedPages.has(offset)) return;
    this.requestedPages.add(offset);
    const answer = await this.fetchEntries(offset, PAGE_SIZE);
    if (version !== this.version) return;
    if (answer.error) return this.requestedPages.delete(offset); // the next scroll asks again
    const items = [...this.items.value];
    answer.items.forEach((item, i) => {
      items[offset + i] = item;
    });
    this.items.value = items;
    this.pollPictures();
  }

  // Polls for pictures of the visible cards until all have been drawn.
  async pollPictures() {
    if (this.isPolling) return;
    const { first, last } = this.layout.value,
      near = this.items.value.slice(first, last),
      missing = near.filter((asset) => asset && !this.pictures.value.has(asset.digest));
    if (!missing.length || !this.element.isConnected || !this.element.clientWidth) return;
    this.isPolling = true;
    const { pictures = {} } = await this.fetchPictures(missing.map((asset) => asset.id)),
      drawn = missing.filter((asset) => asset.id in pictures);
    const all = new Map(this.pictures.value);
    for (const { digest, id } of drawn) all.set(digest, pictures[id]);
    this.pictures.value = all;
    const pollAgain = () => {
      this.isPolling = false;
      this.pollPictures();
    };
    setTimeout(pollAgain, drawn.length === missing.length ? 0 : POLL_MS);
  }

  onKeyDown(event) {
    const { columns } = this.layout.value,
      step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    if (!step) return;
    event.preventDefault();
    const focused = event.target.dataset.id,
      index = focused ? this.items.value.findIndex((asset) => asset?.id === focused) : -step,
      next = Math.min(this.total - 1, Math.max(0, index + step)),
      row = Math.floor(next / columns) * (CARD_HEIGHT + GAP);
    const { scrollTop, clientHeight } = this.element;
    if (row < scrollTop) this.element.scrollTop = row;
    if (row + CARD_HEIGHT > scrollTop + clientHeight) this.element.scrollTop = row + CARD_HEIGHT - clientHeight + GAP;
    this.draw();
    const id = CSS.escape(this.items.value[next]?.id ?? "");
    // when the listener is done and the card is drawn
    queueMicrotask(() => this.element.querySelector(`[data-id="${id}"]`)?.focus({ preventScroll: true }));
  }

  template() {
    const { first, last, height } = this.layout.value,
      near = this.items.value.slice(first, last).map((asset, i) => asset && this.card(asset, first + i));
    return html`<div class="grid" tabindex="0" aria-label=${t("Assets")} ref=${this.take}
      onscroll=${() => this.scheduleDraw()} onkeydown=${(event) => this.onKeyDown(event)}>
      <div class="inner" style=${`height:${height}px`}>${near}</div>
    </div>`;
  }

  card(asset, index) {
    const { columns, cardWidth } = this.layout.value,
      left = (index % columns) * (cardWidth + GAP),
      top = Math.floor(index / columns) * (CARD_HEIGHT + GAP),
      size = asset.size.map((side) => (side * 100).toFixed(side < 0.1 ? 1 : 0)).join(" × ");
    return html`<button class=${classes("tile", asset.id === this.chosen.value && "on")} key=${asset.id}
      data-id=${asset.id} title=${`${asset.name}: ${asset.licence || t("Unknown licence")}`}
      style=${`width:${cardWidth}px;transform:translate(${left}px,${top}px)`} onclick=${() => this.onOpen(asset.id)}>
      ${this.picture(asset)}
      <strong>${asset.name}</strong>
      <span class="size">${size} cm</span>
      <span class="tags">
        <span class="tag">${asset.licence.replace(/ \(.*/, "") || t("Unknown licence")}</span>
        ${asset.articulated && html`<span class="tag articulated" title=${t("Articulated")}>${t("⟲ Joints")}</span>`}
        ${asset.collection === "own" && html`<span class="tag good">${t("Mine")}</span>`}
      </span>
    </button>`;
  }

  picture({ digest }) {
    const url = this.pictures.value.get(digest);
    if (url === undefined) return html`<span class="picture" />`;
    return html`<span class="picture drawn" style=${url && `background-image:url("${url}")`}>
      ${!url && t("No picture")}</span>`;
  }
}
