// The project board: the workspace's projects as cards or as a table, one page at a time, searched and filtered by the
// server's index.
import { fill, h } from "/static/studio/dom.js";
import { ActionBar } from "/static/gallery/action_bar.js";
import { Batches } from "/static/gallery/batches.js";
import { binPanel } from "/static/gallery/bin_panel.js";
import { cards, GROUPS, isDescendingFirst, ORDERS, STATES, table, VERDICTS } from "/static/gallery/project_views.js";
import { setsPanel } from "/static/gallery/sets_panel.js";
import { mayWork } from "/static/studio/account.js";
import { startReview } from "/static/studio/review_state.js";
import { t } from "/static/studio/texts.js";

const SEARCH_DELAY_MS = 120,
  UNREAD_POLL_MS = 300,
  PAGE_SIZE = 60,
  VIEW_KEY = "studioBoardView";
const NEWEST_FIRST = { sort: "changed", descending: true };
const ARROWS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 };

export class ProjectBoard {
  // `ask(request)` asks the server, `upload(file)` uploads a file, `onOpen(name, button)` opens a project.
  constructor({ ask, upload, onOpen }) {
    Object.assign(this, { ask, onOpen, ...NEWEST_FIRST, offset: 0, number: 0, answer: null, selected: new Map() });
    this.view = localStorage.getItem(VIEW_KEY) === "table" ? "table" : "cards";
    this.bar = new ActionBar({
      act: (request) => this.act(request),
      undo: (id) => this.send({ kind: "undo", id }),
      deselect: () => this.select([]),
    });
    this.batches = new Batches({ ask, upload, onOpen, onDone: () => this.find({ refresh: true }) });
    this.buildHead();
    this.buildTools();
    this.list = h("div.projects", { onkeydown: (event) => this.onKeyDown(event), onkeyup: keepSpace });
    this.pager = h("nav.pager", { "aria-label": t("Pages of projects") });
    this.element = h(
      "section.board",
      {},
      this.head,
      this.tools,
      this.panel,
      this.batches.element,
      this.list,
      this.pager,
      this.bar.element,
    );
    if (mayWork) this.acceptDrops();
    addEventListener("focus", () => this.isShown() && this.find({ refresh: true }));
  }

  isShown = () => Boolean(this.answer) && this.element.isConnected && this.element.checkVisibility();

  // Frames that are dropped anywhere on the board begin a batch.
  acceptDrops() {
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    const mark = (isOver) => this.element.classList.toggle("dropping", isOver);
    this.element.addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      mark(true);
    });
    this.element.addEventListener("dragleave", (event) => !this.element.contains(event.relatedTarget) && mark(false));
    this.element.addEventListener("drop", async (event) => {
      mark(false);
      if (!hasFiles(event)) return;
      event.preventDefault();
      const dropped = this.batches.drop(event.dataTransfer); // at once: the browser forgets the files after the event
      if (this.opened !== "batch") await this.openPanel("batch");
      await dropped;
    });
  }

  // Shows the gallery's value, or finds again what a person had searched for.
  show(value) {
    this.bar.tell({});
    this.batches.take(value);
    if (this.answer && (this.isFiltered() || this.offset || this.sort !== "changed" || !this.descending)) {
      this.answer = value;
      this.find({ refresh: true });
    } else this.take(value);
  }

  leave() {
    this.number++;
    this.selected.clear();
  }

  // ---------------------------------------------------------------- head

  buildHead() {
    const select = (label) => h("select", { "aria-label": label, onchange: () => this.restart() });
    this.count = h("span.faint.count", { role: "status" });
    this.words = h("input.search", {
      type: "search",
      placeholder: t("Search projects …"),
      "aria-label": t("Search projects"),
      oninput: () => {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.restart(), SEARCH_DELAY_MS);
      },
    });
    this.filters = { state: select(t("State")), verdict: select(t("Verdict")), tag: select(t("Tag")) };
    this.order = h("select", {
      "aria-label": t("Sort by"),
      onchange: ({ target }) => this.sortBy(target.value),
    });
    this.group = h("select", { "aria-label": t("Group by"), onchange: () => this.restart() });
    this.clear = h("button.studio-button.plain", { onclick: () => this.clearFilters() }, t("Clear filters"));
    const viewButton = (view, label) =>
      h("button.studio-button", { "data-view": view, onclick: () => this.setView(view) }, label);
    this.views = h(
      "span.views",
      { role: "group", "aria-label": t("Layout") },
      viewButton("cards", t("Cards")),
      viewButton("table", t("Table")),
    );
    this.head = h(
      "div.board-head",
      {},
      h("h2", {}, t("Projects"), this.count),
      this.words,
      Object.values(this.filters),
      this.clear,
      h("span.right", {}, this.group, this.order, this.views),
    );
  }

  // What can be done with the workspace as a whole.
  buildTools() {
    this.review = h("button.studio-button", { "data-sends": "review-queue.review", onclick: () => this.startReview() });
    const batchForm = () => this.batches.form(() => this.openPanel(null));
    this.panels = {
      ...(mayWork && { batch: { title: t("New batch"), content: batchForm } }),
      sets: { title: t("Sets"), content: () => setsPanel(this.ask, [...this.selected.keys()]) },
      bin: { title: t("Trash"), content: () => binPanel(this.ask, () => this.find({})) },
    };
    for (const [name, panel] of Object.entries(this.panels))
      panel.button = h("button.studio-button", { onclick: () => this.openPanel(name) }, panel.title);
    this.panel = h("section.board-panel", { hidden: true });
    const buttons = Object.values(this.panels).map((panel) => panel.button);
    this.tools = h("div.board-tools", {}, this.review, buttons);
  }

  // Shows a panel in place of the projects, or the projects again for null and for the panel that is open.
  async openPanel(name) {
    this.opened = name === this.opened ? null : name;
    for (const [other, { button }] of Object.entries(this.panels)) {
      button.classList.toggle("on", other === this.opened);
      button.setAttribute("aria-expanded", String(other === this.opened));
    }
    this.panel.hidden = !this.opened;
    this.list.hidden = Boolean(this.opened);
    if (!this.opened) return this.draw();
    this.pager.hidden = true;
    const { title, content } = this.panels[this.opened];
    const show = (...shown) => {
      const close = { "aria-label": t("Close"), onclick: () => this.openPanel(null) };
      fill(this.panel, h("div.panel-head", {}, h("h2", {}, title), h("button.studio-button.plain", close, "✕")), shown);
    };
    show(h("p.muted", {}, t("Loading …")));
    const loaded = await content();
    if (this.opened === name) show(loaded);
  }

  // Reviews the selected projects, else all that the search finds.
  async startReview() {
    const answer = await this.ask({ kind: "queue", names: [...this.selected.keys()], ...this.search() });
    answer.error ? this.bar.tell(answer) : startReview(answer.names);
  }

  search() {
    const { state, verdict, tag } = this.filters;
    return { words: this.words.value, state: state.value, verdict: verdict.value, tag: tag.value };
  }

  isFiltered = () => Boolean(this.words.value.trim() || Object.values(this.filters).some((one) => one.value));

  clearFilters() {
    this.words.value = "";
    for (const one of Object.values(this.filters)) one.value = "";
    this.restart();
    this.words.focus();
  }

  setView(view) {
    this.view = view;
    localStorage.setItem(VIEW_KEY, view);
    this.draw();
  }

  sortBy(order) {
    this.descending = order === this.sort ? !this.descending : isDescendingFirst(order);
    this.sort = order;
    this.restart();
  }

  // ---------------------------------------------------------------- requests

  restart() {
    this.offset = 0;
    this.find({});
  }

  async find({ refresh = false }) {
    const number = ++this.number;
    const answer = await this.ask({
      kind: "find",
      ...this.search(),
      group: this.group.value,
      sort: this.sort,
      descending: this.descending,
      offset: this.offset,
      limit: PAGE_SIZE,
      refresh,
    });
    if (number !== this.number) return;
    if (answer.error) return this.bar.tell(answer);
    if (!answer.projects.length && this.offset) {
      this.offset = Math.max(0, Math.floor((answer.total - 1) / PAGE_SIZE) * PAGE_SIZE);
      return this.find({});
    }
    this.take(answer);
  }

  take(answer) {
    this.answer = answer;
    for (const one of answer.projects) if (this.selected.has(one.name)) this.selected.set(one.name, one);
    this.draw();
    clearTimeout(this.unreadTimer);
    if (answer.outdated) return this.find({ refresh: true });
    if (answer.unread)
      this.unreadTimer = setTimeout(() => this.isShown() && this.find({ refresh: true }), UNREAD_POLL_MS);
  }

  act = (request) => this.send({ ...request, names: [...this.selected.keys()] });

  async send(request) {
    const answer = await this.ask(request);
    this.bar.tell(answer);
    if (answer.error || answer.question) return;
    if (request.kind === "delete") this.selected.clear();
    await this.find({});
  }

  // ---------------------------------------------------------------- selection

  select(projects) {
    this.selected = new Map(projects.map((one) => [one.name, one]));
    this.draw();
  }

  pick(one, on, isRange) {
    const { projects } = this.answer,
      index = projects.findIndex((other) => other.name === one.name),
      from = isRange && this.lastPicked !== undefined ? this.lastPicked : index;
    for (const other of projects.slice(Math.min(from, index), Math.max(from, index) + 1))
      on ? this.selected.set(other.name, other) : this.selected.delete(other.name);
    this.lastPicked = index;
    this.draw();
  }

  onKeyDown(event) {
    const buttons = [...this.list.querySelectorAll("[data-name]")],
      index = buttons.indexOf(event.target);
    if (index < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const one = this.answer.projects[index];
    if (event.key === " ") {
      event.preventDefault();
      this.pick(one, !this.selected.has(one.name), event.shiftKey);
    } else if (event.key in ARROWS) {
      const isSideways = event.key === "ArrowLeft" || event.key === "ArrowRight";
      if (this.view === "table" && isSideways) return;
      event.preventDefault();
      const columns = this.view === "table" ? 1 : columnsOf(buttons);
      buttons[index + ARROWS[event.key] * (isSideways ? 1 : columns)]?.focus();
    }
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    const { answer } = this;
    if (!answer) return;
    const { projects, total, all, facets } = answer;
    const isEmpty = !all && !answer.unread;
    this.head.hidden = this.review.hidden = this.panels.sets.button.hidden = isEmpty;
    this.panels.bin.button.hidden = isEmpty && !answer.deleted;
    this.count.textContent =
      total === all
        ? t("{n} project|{n} projects", { n: all === 1 ? 1 : all.toLocaleString() })
        : t("{total} of {all} projects", { total: total.toLocaleString(), all: all.toLocaleString() });
    this.drawFilters(facets);
    const { size } = this.selected;
    this.review.textContent = size ? t("▶ Review selected ({n})", { n: size }) : t("▶ Review lowest confidence first");
    fill(
      this.list,
      !projects.length && all
        ? h("p.muted", {}, t("No project matches."))
        : this.groups(projects).map(([title, group]) => [title && h("h3.group", {}, title), this.layout(group)]),
      answer.unread > 0 && h("p.muted", {}, t("Reading {n} more projects …", { n: answer.unread.toLocaleString() })),
    );
    this.drawPager(total);
    this.bar.show([...this.selected.values()], Object.keys(facets.tags));
  }

  // Returns [title, projects] of each group on the page; without a grouping there is one without a title.
  groups(projects) {
    const of = GROUPS()[this.group.value]?.of;
    if (!of) return [[null, projects]];
    const groups = [];
    for (const one of projects) {
      const title = of(one);
      if (groups.at(-1)?.[0] !== title) groups.push([title, []]);
      groups.at(-1)[1].push(one);
    }
    return groups;
  }

  layout(projects) {
    const actions = {
      isSelected: (name) => this.selected.has(name),
      onPick: (one, on, isRange) => this.pick(one, on, isRange),
      onPickAll: (on) => {
        for (const one of projects) on ? this.selected.set(one.name, one) : this.selected.delete(one.name);
        this.draw();
      },
      onSort: (order) => this.sortBy(order),
      onOpen: this.onOpen,
    };
    return this.view === "table" ? this.answer.all > 0 && table(projects, this, actions) : cards(projects, actions);
  }

  drawFilters({ states, verdicts, tags }) {
    const options = (select, all, entries) => {
      const chosen = select.value;
      fill(
        select,
        h("option", { value: "" }, all),
        entries.map(([value, label, number]) => h("option", { value }, `${label} (${number.toLocaleString()})`)),
      );
      if (chosen && !entries.some(([value]) => value === chosen)) select.append(h("option", { value: chosen }, chosen));
      select.value = chosen;
    };
    const known = (titles, numbers) =>
      Object.entries(titles).map(([value, title]) => [value, title, numbers[value === "none" ? "" : value] ?? 0]);
    options(this.filters.state, t("Any state"), known(STATES(), states));
    options(this.filters.verdict, t("Any verdict"), known(VERDICTS(), verdicts));
    options(
      this.filters.tag,
      t("Any tag"),
      Object.entries(tags).map(([tag, number]) => [tag, tag, number]),
    );
    this.filters.tag.hidden = !Object.keys(tags).length && !this.filters.tag.value;
    this.clear.hidden = !this.isFiltered();
    this.order.hidden = this.view === "table";
    const grouped = this.group.value;
    fill(
      this.group,
      h("option", { value: "" }, t("No groups")),
      Object.entries(GROUPS()).map(([value, { title }]) =>
        h("option", { value, selected: value === grouped }, t("Group by: {title}", { title })),
      ),
    );
    fill(
      this.order,
      Object.entries(ORDERS()).map(([order, title]) =>
        h("option", { value: order, selected: order === this.sort }, t("Sort by: {order}", { order: title })),
      ),
    );
    for (const button of this.views.children) {
      const isOn = button.dataset.view === this.view;
      button.classList.toggle("on", isOn);
      button.setAttribute("aria-pressed", String(isOn));
    }
  }

  drawPager(total) {
    const go = (offset) => {
      this.offset = offset;
      this.find({}).then(() => this.element.scrollIntoView());
    };
    const last = Math.min(total, this.offset + this.answer.projects.length);
    this.pager.hidden = total <= PAGE_SIZE || Boolean(this.opened);
    fill(
      this.pager,
      h(
        "button.studio-button",
        { disabled: !this.offset, onclick: () => go(Math.max(0, this.offset - PAGE_SIZE)) },
        t("‹ Previous"),
      ),
      h(
        "span",
        {},
        t("{first} to {last} of {total}", {
          first: (this.offset + 1).toLocaleString(),
          last: last.toLocaleString(),
          total: total.toLocaleString(),
        }),
      ),
      h("button.studio-button", { disabled: last >= total, onclick: () => go(this.offset + PAGE_SIZE) }, t("Next ›")),
    );
  }
}

const columnsOf = (buttons) => {
  const top = buttons[0].getBoundingClientRect().top;
  return buttons.filter((one) => one.getBoundingClientRect().top === top).length;
};

// A button is pressed when the space bar is released, which selects here.
const keepSpace = (event) => event.key === " " && event.target.matches("[data-name]") && event.preventDefault();
