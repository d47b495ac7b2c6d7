// All that was found, as cards. Only those near the window are in the page; pictures are asked for as they come near.
import { fill, h } from "/static/studio/dom.js";

const WIDE = 160, TALL = 196, GAP = 12, PAGE = 100, AHEAD = 2, AGAIN = 350;

export class Grid {
  // `more` answers with the entries from an index on, `pictures` with addresses by id, `open` is told which was chosen.
  constructor({ more, pictures, open }) {
    Object.assign(this, { more, pictures, open, total: 0, items: [], cards: new Map(), known: new Map(), asked: new Set(), chosen: "", version: 0 });
    this.inner = h("div.inner");
    this.element = h("div.grid", { tabindex: "0", "aria-label": "Assets", onscroll: () => this.soon(), onkeydown: (event) => this.key(event) }, this.inner);
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  // The first entries of a new answer; `stay` keeps the place that is looked at.
  show({ total, items }, stay = false) {
    this.version++;
    this.total = total;
    this.items = [...items];
    this.asked.clear();
    this.cards.clear();
    fill(this.inner);
    if (!stay) this.element.scrollTop = 0;
    this.draw();
  }

  // Measured here and not while scrolling: asking the page for sizes makes it lay itself out.
  resize() {
    [this.width, this.height] = [this.element.clientWidth, this.element.clientHeight];
    this.cards.forEach((card) => card.remove());
    this.cards.clear();
    this.draw();
  }

  choose(id) {
    this.chosen = id;
    for (const [index, card] of this.cards) card.classList.toggle("on", this.items[index]?.id === id);
  }

  soon() {
    this.pending ??= requestAnimationFrame(() => { this.pending = null; this.draw(); });
  }

  draw() {
    const { width, height } = this;
    if (!width) return;
    this.columns = Math.max(1, Math.floor((width - 24 + GAP) / (WIDE + GAP)));
    this.wide = Math.floor((width - 24 + GAP) / this.columns) - GAP;
    const rows = Math.ceil(this.total / this.columns);
    const tall = `${Math.max(0, rows * (TALL + GAP) - GAP)}px`;
    if (this.inner.style.height !== tall) this.inner.style.height = tall;
    const top = Math.max(0, Math.floor(this.element.scrollTop / (TALL + GAP)) - AHEAD);
    const end = Math.ceil((this.element.scrollTop + height) / (TALL + GAP)) + AHEAD;
    const [first, last] = [top * this.columns, Math.min(this.total, end * this.columns)];
    for (const [index, card] of this.cards)
      if (index < first || index >= last) { card.remove(); this.cards.delete(index); }
    const fresh = [];
    for (let index = first; index < last; index++) {
      if (!this.items[index]) { this.fetch(index); continue; }
      if (!this.cards.has(index)) fresh.push(this.card(index));
    }
    if (fresh.length) this.inner.append(...fresh);
    this.look();
  }

  card(index) {
    const one = this.items[index], row = Math.floor(index / this.columns), column = index % this.columns;
    const size = one.size.map((side) => (side * 100).toFixed(side < 0.1 ? 1 : 0)).join(" × ");
    const picture = h("span.picture"), address = this.known.get(one.digest);
    const card = h(`button.card${one.id === this.chosen ? ".on" : ""}`, {
      "data-id": one.id, title: `${one.name}: ${one.licence || "licence unknown"}`,
      style: `width:${this.wide}px;transform:translate(${column * (this.wide + GAP)}px,${row * (TALL + GAP)}px)`, onclick: () => this.open(one.id),
    }, picture, h("strong", {}, one.name), h("span.size", {}, `${size} cm`),
      h("span.tags", {}, h("span.tag", {}, one.licence.replace(/ \(.*/, "") || "licence unknown"), one.articulated && h("span.tag.moves", { title: "It has joints" }, "⟲ joints"), one.place === "own" && h("span.tag.good", {}, "own")));
    if (address !== undefined) this.paint(picture, address);
    this.cards.set(index, card);
    return card;
  }

  paint(picture, address) {
    address ? (picture.style.backgroundImage = `url("${address}")`) : (picture.textContent = "no picture");
    picture.classList.add("drawn");
  }

  async fetch(index) {
    const offset = Math.floor(index / PAGE) * PAGE, version = this.version;
    if (this.asked.has(offset)) return;
    this.asked.add(offset);
    const answer = await this.more(offset, PAGE);
    if (version !== this.version || answer.error) return;
    answer.items.forEach((item, i) => { this.items[offset + i] = item; });
    this.draw();
  }

  // Asks for what is near and not drawn yet, again and again until all of it is.
  async look() {
    if (this.looking) return;
    const near = [...this.cards.keys()].map((index) => this.items[index]).filter((one) => one && !this.known.has(one.digest));
    if (!near.length || !this.element.isConnected || !this.element.clientWidth) return;
    this.looking = true;
    const { pictures = {} } = await this.pictures(near.map((one) => one.id));
    for (const one of near) if (one.id in pictures) this.known.set(one.digest, pictures[one.id]);
    for (const [index, card] of this.cards) {
      const picture = card.firstChild, address = this.known.get(this.items[index]?.digest);
      if (address !== undefined && !picture.classList.contains("drawn")) this.paint(picture, address);
    }
    setTimeout(() => { this.looking = false; this.look(); }, near.every((one) => one.id in pictures) ? 0 : AGAIN);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns }[event.key];
    const at = [...this.cards].find(([, card]) => card === document.activeElement)?.[0];
    if (!step) return;
    event.preventDefault();
    const wanted = Math.min(this.total - 1, Math.max(0, (at ?? -step) + step)), row = Math.floor(wanted / this.columns) * (TALL + GAP);
    const { scrollTop, clientHeight } = this.element;
    if (row < scrollTop) this.element.scrollTop = row;
    if (row + TALL > scrollTop + clientHeight) this.element.scrollTop = row + TALL - clientHeight + GAP;
    this.draw();
    this.cards.get(wanted)?.focus({ preventScroll: true });
  }
}
