// Virtual grid of the search results. Only cards near the viewport are in the page; pictures load as they come near.
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const CARD_WIDTH = 160,
  CARD_HEIGHT = 196,
  GAP = 12,
  PAGE_SIZE = 100,
  EXTRA_ROWS = 2,
  POLL_MS = 350;

export class Grid {
  // `fetchEntries(offset, limit)` returns entries, `fetchPictures(ids)` URLs by id, `onOpen(id)` opens an asset.
  constructor({ fetchEntries, fetchPictures, onOpen }) {
    Object.assign(this, {
      fetchEntries,
      fetchPictures,
      onOpen,
      total: 0,
      items: [],
      cards: new Map(),
      pictureUrls: new Map(),
      requestedPages: new Set(),
      selectedId: "",
      version: 0,
    });
    this.inner = h("div.inner");
    this.element = h(
      "div.grid",
      {
        tabindex: "0",
        "aria-label": t("Assets"),
        onscroll: () => this.scheduleDraw(),
        onkeydown: (event) => this.onKeyDown(event),
      },
      this.inner,
    );
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  // Shows the first entries of a new result; `keepScroll` keeps the scroll position.
  show({ total, items }, keepScroll = false) {
    this.version++;
    this.total = total;
    this.items = [...items];
    this.requestedPages.clear();
    this.cards.clear();
    fill(this.inner);
    if (!keepScroll) this.element.scrollTop = 0;
    this.draw();
  }

  // Sizes are measured here, not while scrolling: reading them forces a layout. The first cards in view, or the end of
  // the list, stay in view when the number of columns changes.
  resize() {
    const { scrollTop, scrollHeight, clientWidth, clientHeight } = this.element;
    const isAtEnd = scrollTop > 0 && scrollTop + clientHeight >= scrollHeight - 1,
      firstIndex = Math.floor(scrollTop / (CARD_HEIGHT + GAP)) * (this.columns ?? 1),
      formerColumns = this.columns;
    [this.width, this.height] = [clientWidth, clientHeight];
    for (const card of this.cards.values()) card.remove();
    this.cards.clear();
    this.draw();
    if (isAtEnd) this.element.scrollTop = this.element.scrollHeight;
    else if (this.columns !== formerColumns)
      this.element.scrollTop = Math.floor(firstIndex / this.columns) * (CARD_HEIGHT + GAP);
  }

  markSelected(id) {
    this.selectedId = id;
    for (const [index, card] of this.cards) card.classList.toggle("on", this.items[index]?.id === id);
  }

  scheduleDraw() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      this.draw();
    });
  }

  draw() {
    const { width, height } = this;
    if (!width) return;
    this.columns = Math.max(1, Math.floor((width - 24 + GAP) / (CARD_WIDTH + GAP)));
    this.cardWidth = Math.floor((width - 24 + GAP) / this.columns) - GAP;
    const rows = Math.ceil(this.total / this.columns);
    const gridHeight = `${Math.max(0, rows * (CARD_HEIGHT + GAP) - GAP)}px`;
    if (this.inner.style.height !== gridHeight) this.inner.style.height = gridHeight;
    const firstRow = Math.max(0, Math.floor(this.element.scrollTop / (CARD_HEIGHT + GAP)) - EXTRA_ROWS);
    const end = Math.ceil((this.element.scrollTop + height) / (CARD_HEIGHT + GAP)) + EXTRA_ROWS;
    const [first, last] = [firstRow * this.columns, Math.min(this.total, end * this.columns)];
    for (const [index, card] of this.cards)
      if (index < first || index >= last) {
        card.remove();
        this.cards.delete(index);
      }
    const newCards = [];
    for (let index = first; index < last; index++) {
      if (!this.items[index]) {
        this.fetch(index);
        continue;
      }
      if (!this.cards.has(index)) newCards.push(this.card(index));
    }
    if (newCards.length) this.inner.append(...newCards);
    this.pollPictures();
  }

  card(index) {
    const asset = this.items[index],
      left = (index % this.columns) * (this.cardWidth + GAP),
      top = Math.floor(index / this.columns) * (CARD_HEIGHT + GAP);
    const size = asset.size.map((side) => (side * 100).toFixed(side < 0.1 ? 1 : 0)).join(" × ");
    const picture = h("span.picture"),
      url = this.pictureUrls.get(asset.digest);
    const card = h(
      `button.tile${asset.id === this.selectedId ? ".on" : ""}`,
      {
        "data-id": asset.id,
        title: `${asset.name}: ${asset.licence || "Unknown licence"}`,
        style: `width:${this.cardWidth}px;transform:translate(${left}px,${top}px)`,
        onclick: () => this.onOpen(asset.id),
      },
      picture,
      h("strong", {}, asset.name),
      h("span.size", {}, `${size} cm`),
      h(
        "span.tags",
        {},
        h("span.tag", {}, asset.licence.replace(/ \(.*/, "") || t("Unknown licence")),
        asset.articulated && h("span.tag.articulated", { title: t("Articulated") }, t("⟲ Joints")),
        asset.collection === "own" && h("span.tag.good", {}, t("Mine")),
      ),
    );
    if (url !== undefined) this.showPicture(picture, url);
    this.cards.set(index, card);
    return card;
  }

  showPicture(picture, url) {
    if (url) picture.style.backgroundImage = `url("${url}")`;
    else picture.textContent = t("No picture");
    picture.classList.add("drawn");
  }

  async fetch(index) {
    const offset = Math.floor(index / PAGE_SIZE) * PAGE_SIZE,
      version = this.version;
    if (this.requestedPages.has(offset)) return;
    this.requestedPages.add(offset);
    const answer = await this.fetchEntries(offset, PAGE_SIZE);
    if (version !== this.version) return;
    if (answer.error) return this.requestedPages.delete(offset); // the next scroll asks again
    answer.items.forEach((item, i) => {
      this.items[offset + i] = item;
    });
    this.draw();
  }

  // Polls for pictures of the visible cards until all have been drawn.
  async pollPictures() {
    if (this.isPolling) return;
    const missing = [...this.cards.keys()]
      .map((index) => this.items[index])
      .filter((asset) => asset && !this.pictureUrls.has(asset.digest));
    if (!missing.length || !this.element.isConnected || !this.element.clientWidth) return;
    this.isPolling = true;
    const { pictures = {} } = await this.fetchPictures(missing.map((asset) => asset.id));
    for (const asset of missing) if (asset.id in pictures) this.pictureUrls.set(asset.digest, pictures[asset.id]);
    for (const [index, card] of this.cards) {
      const picture = card.firstChild,
        url = this.pictureUrls.get(this.items[index]?.digest);
      if (url !== undefined && !picture.classList.contains("drawn")) this.showPicture(picture, url);
    }
    setTimeout(
      () => {
        this.isPolling = false;
        this.pollPictures();
      },
      missing.every((asset) => asset.id in pictures) ? 0 : POLL_MS,
    );
  }

  onKeyDown(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns }[event.key];
    const focusedIndex = [...this.cards].find(([, card]) => card === document.activeElement)?.[0];
    if (!step) return;
    event.preventDefault();
    const nextIndex = Math.min(this.total - 1, Math.max(0, (focusedIndex ?? -step) + step)),
      row = Math.floor(nextIndex / this.columns) * (CARD_HEIGHT + GAP);
    const { scrollTop, clientHeight } = this.element;
    if (row < scrollTop) this.element.scrollTop = row;
    if (row + CARD_HEIGHT > scrollTop + clientHeight) this.element.scrollTop = row + CARD_HEIGHT - clientHeight + GAP;
    this.draw();
    this.cards.get(nextIndex)?.focus({ preventScroll: true });
  }
}
