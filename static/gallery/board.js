// The project board: the workspace's projects as cards or as a table, with what can be done with those selected.
import { ActionBar } from "/static/gallery/action_bar.js";
import { Batches } from "/static/gallery/batches.js";
import { BinPanel } from "/static/gallery/bin_panel.js";
import { cards, groupsOf, table } from "/static/gallery/project_views.js";
import { ProjectSearch } from "/static/gallery/search.js";
import { SetsPanel } from "/static/gallery/sets_panel.js";
import { mayWork } from "/static/studio/account.js";
import { onJobs } from "/static/studio/jobs.js";
import { startReview } from "/static/studio/review_state.js";
import { t } from "/static/studio/texts.js";
import { classes, html, signal } from "/static/studio/view.js";

const VIEW_KEY = "studioBoardView";
const ARROWS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 };

export class ProjectBoard {
  view = signal(localStorage.getItem(VIEW_KEY) === "table" ? "table" : "cards");
  picked = signal(/** @type {Map<string, any>} */ (new Map())); // as the server knows them, by their names
  opened = signal(/** @type {string | null} */ (null)); // the panel in place of the projects
  isDropping = signal(false);

  /**
   * `root` is the gallery; `ask(request)` asks the server, `upload(file)` uploads a file, `onOpen(name)` opens a
   * project, and `opening` is a signal of the one that opens.
   */
  constructor({ root, ask, upload, opening, onOpen }) {
    this.root = root;
    this.ask = ask;
    this.opening = opening;
    this.onOpen = onOpen;
    const find = (request) => this.search.find(request);
    this.bar = new ActionBar({
      act: (request) => this.act(request),
      undo: (id) => this.request({ kind: "undo", id }),
      deselect: () => this.select(new Map()),
    });
    this.search = new ProjectSearch({
      ask,
      isShown: () => this.isShown(),
      onFound: (answer) => this.renewPicked(answer),
      onError: (answer) => this.bar.tell(answer),
    });
    this.batches = new Batches({
      root,
      ask,
      upload,
      onOpen,
      onDone: () => find({ refresh: true }),
      isShown: () => this.isShown(),
      onStarted: () => this.openPanel(null),
    });
    this.panels = {
      ...(mayWork && { batch: { title: t("New batch"), make: () => this.batches.newForm() } }),
      sets: { title: t("Sets"), make: () => new SetsPanel(ask, [...this.picked.value.keys()]) },
      bin: { title: t("Trash"), make: () => new BinPanel(ask, () => find({})) },
    };
    onJobs(root, "export", async () => this.opened.value === "sets" && this.panel.look());
    addEventListener("focus", () => this.isShown() && find({ refresh: true }));
  }

  isShown = () => Boolean(this.search.found.value) && this.root.isConnected && this.root.checkVisibility();

  /** Shows the gallery's value. */
  show(value) {
    this.bar.tell({});
    this.batches.take(value);
    this.search.show(value);
  }

  leave() {
    this.search.leave();
    this.select(new Map());
  }

  // Shows a panel in place of the projects, or the projects again for null and for the panel that is open.
  openPanel(name) {
    const opened = name === this.opened.value ? null : name;
    this.panel = this.panels[opened]?.make();
    this.opened.value = opened;
  }

  setView(view) {
    this.view.value = view;
    localStorage.setItem(VIEW_KEY, view);
  }

  // ---------------------------------------------------------------- requests

  // Reviews the selected projects, else all that the search finds.
  async startReview() {
    const answer = await this.ask({ kind: "queue", names: [...this.picked.value.keys()], ...this.search.query });
    answer.error ? this.bar.tell(answer) : startReview(answer.names);
  }

  act = (request) => this.request({ ...request, names: [...this.picked.value.keys()] });

  async request(request) {
    const answer = await this.ask(request);
    this.bar.tell(answer);
    if (answer.error || answer.question) return;
    if (request.kind === "delete") this.select(new Map());
    await this.search.find({});
  }

  // ---------------------------------------------------------------- selection

  isSelected = (name) => this.picked.value.has(name);

  select(projects) {
    this.picked.value = projects;
    if (!projects.size) this.bar.close();
  }

  renewPicked({ projects }) {
    const picked = new Map(this.picked.value);
    for (const one of projects) if (picked.has(one.name)) picked.set(one.name, one);
    this.picked.value = picked;
  }

  pick(one, on, isRange) {
    const { projects } = this.search.found.value,
      index = projects.findIndex((other) => other.name === one.name),
      from = isRange && this.lastPicked !== undefined ? this.lastPicked : index;
    this.pickAll(projects.slice(Math.min(from, index), Math.max(from, index) + 1), on);
    this.lastPicked = index;
  }

  pickAll(projects, on) {
    const picked = new Map(this.picked.value);
    for (const one of projects) on ? picked.set(one.name, one) : picked.delete(one.name);
    this.select(picked);
  }

  onKeyDown(event) {
    const buttons = [...event.currentTarget.querySelectorAll("[data-name]")],
      index = buttons.indexOf(event.target);
    if (index < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const one = this.search.found.value.projects[index];
    if (event.key === " ") {
      event.preventDefault();
      this.pick(one, !this.isSelected(one.name), event.shiftKey);
    } else if (event.key in ARROWS) {
      const isSideways = event.key === "ArrowLeft" || event.key === "ArrowRight",
        isTable = this.view.value === "table";
      if (isTable && isSideways) return;
      event.preventDefault();
      const columns = isTable ? 1 : columnsOf(buttons);
      buttons[index + ARROWS[event.key] * (isSideways ? 1 : columns)]?.focus();
    }
  }

  // ---------------------------------------------------------------- files

  onDragOver(event) {
    if (!hasFiles(event)) return;
    event.preventDefault();
    this.isDropping.value = true;
  }

  // Frames that are dropped anywhere on the board begin a batch.
  onDrop(event) {
    this.isDropping.value = false;
    if (!hasFiles(event)) return;
    event.preventDefault();
    if (this.opened.value !== "batch") this.openPanel("batch");
    this.batches.drop(event.dataTransfer);
  }

  // ---------------------------------------------------------------- what is shown

  template() {
    const found = this.search.found.value;
    if (!found) return null;
    const isEmpty = !found.all && !found.unread,
      drops = mayWork && {
        ondragover: (event) => this.onDragOver(event),
        ondragleave: ({ currentTarget, relatedTarget }) => {
          this.isDropping.value &&= currentTarget.contains(relatedTarget);
        },
        ondrop: (event) => this.onDrop(event),
      };
    return html`<section class=${classes("board", this.isDropping.value && "dropping")} ...${drops}>
      ${this.head(found, isEmpty)}
      ${this.tools(found, isEmpty)}
      <section class="board-panel" hidden=${!this.opened.value}>${this.opened.value && this.openedPanel()}</section>
      ${this.batches.template()}
      <div class="projects" hidden=${Boolean(this.opened.value)} onkeydown=${(event) => this.onKeyDown(event)}
        onkeyup=${keepSpace}>${this.projects(found)}</div>
      ${this.search.pager(Boolean(this.opened.value), () => this.root.querySelector(".board").scrollIntoView())}
      ${this.bar.template([...this.picked.value.values()], Object.keys(found.facets.tags))}
    </section>`;
  }

  head({ total, all }, isEmpty) {
    const count =
      total === all
        ? t("{n} project|{n} projects", { n: all === 1 ? 1 : all.toLocaleString() })
        : t("{total} of {all} projects", { total: total.toLocaleString(), all: all.toLocaleString() });
    const isTable = this.view.value === "table";
    const views = html`<span class="views" role="group" aria-label=${t("Layout")}>
      ${this.viewButton("cards", t("Cards"))}${this.viewButton("table", t("Table"))}
    </span>`;
    return html`<div class="board-head flow" hidden=${isEmpty}>
      <h2>${t("Projects")}<span class="faint count" role="status">${count}</span></h2>
      ${this.search.template(isTable, views)}
    </div>`;
  }

  viewButton(view, label) {
    const isOn = this.view.value === view;
    return html`<button class=${classes("studio-button", isOn && "on")} data-view=${view} aria-pressed=${isOn}
      onclick=${() => this.setView(view)}>${label}</button>`;
  }

  // What can be done with the workspace as a whole.
  tools({ deleted }, isEmpty) {
    const { size } = this.picked.value,
      isHidden = { sets: isEmpty, bin: isEmpty && !deleted };
    const panelButton = ([name, { title }]) => {
      const isOn = this.opened.value === name;
      return html`<button class=${classes("studio-button", isOn && "on")} aria-expanded=${isOn}
        hidden=${isHidden[name] ?? false} onclick=${() => this.openPanel(name)}>${title}</button>`;
    };
    return html`<div class="board-tools">
      <button class="studio-button" data-sends="review-queue.review" hidden=${isEmpty}
        onclick=${() => this.startReview()}>
        ${size ? t("▶ Review selected ({n})", { n: size }) : t("▶ Review lowest confidence first")}</button>
      ${Object.entries(this.panels).map(panelButton)}
    </div>`;
  }

  openedPanel() {
    return html`<div class="panel-head">
        <h2>${this.panels[this.opened.value].title}</h2>
        <button class="studio-button plain" aria-label=${t("Close")} onclick=${() => this.openPanel(null)}>✕</button>
      </div>
      ${this.panel.template() ?? html`<p class="muted">${t("Loading …")}</p>`}`;
  }

  projects(found) {
    const { projects, all, unread } = found;
    return [
      !projects.length && all
        ? html`<p class="muted">${t("No project matches.")}</p>`
        : groupsOf(found).map(([title, group]) => [
            title && html`<h3 class="group">${title}</h3>`,
            this.view.value === "cards" ? cards(group, this) : all > 0 && table(group, found, this),
          ]),
      unread > 0 && html`<p class="muted">${t("Reading {n} more projects …", { n: unread.toLocaleString() })}</p>`,
    ];
  }
}

const hasFiles = (event) => event.dataTransfer?.types.includes("Files");

const columnsOf = (buttons) => {
  const { top } = buttons[0].getBoundingClientRect();
  return buttons.filter((one) => one.getBoundingClientRect().top === top).length;
};

// A button is pressed when the space bar is released, which selects here.
const keepSpace = (event) => event.key === " " && event.target.matches("[data-name]") && event.preventDefault();
