// Builds a task of goals: kinds of goals, objects that are clicked anywhere in the page, steps. It is described in
// components/steps.py.
import { fillField } from "/static/studio/fill_field.js";
import { LatestRequest } from "/static/studio/latest_request.js";
import { hear } from "/static/studio/page_events.js";
import { isRefused } from "/static/studio/refused_controls.js";
import { alsoSelected, onSelect, select, selected } from "/static/studio/selection.js";
import { t } from "/static/studio/texts.js";
import { follow, html, mounts, onChange, signal, View } from "/static/studio/view.js";
import { ghosts } from "/static/viewer/frame/linked_viewers.js";
import { foot, steps, toolbar } from "./drawing.js";
import { newRow, nextHole, reordered, toGoals, toRows, withName, withNames } from "./rows.js";

const READ_MS = 300, // after the last key in the text field
  PREVIEW_MS = 400; // after the last edit
const MAX_UNDO = 50;
const NO_GHOSTS = {};

class TaskBuilder extends View {
  isOpen = signal(false);
  rows = signal(/** @type {any[]} */ ([]));
  history = signal(/** @type {any[][]} */ ([]));
  active = signal(/** @type {any} */ (null)); // {key, index} of the hole that a clicked object fills
  inNewStep = signal(false); // whether the next goal begins a step
  form = signal(/** @type {any} */ (null)); // that had the focus last
  carried = signal(/** @type {any} */ (null)); // {key, place} of the goal whose marker is dragged
  answer = signal(/** @type {any} */ (null));
  preview = signal(/** @type {any} */ (null));
  ownText = /** @type {string | null} */ (null); // that the rows stand for in the text field
  token = "";
  wasRunning = false;
  readDue = 0;
  previewDue = 0;

  constructor(context) {
    super(context);
    const ask = (request) => this.server.ask({ ...request, token: this.value.token });
    this.builds = new LatestRequest(ask, (answer, request) => this.answered(answer, request));
    this.previews = new LatestRequest(ask, (answer) => (this.preview.value = answer));
    onSelect(this.root, (id) => id && this.isOpen.value && this.take(id));
    onChange(
      this.root,
      () => this.value,
      () => this.takeValue(),
    );
    follow(this.root, () => {
      ghosts.value = this.isOpen.value ? this.poses : null;
    });
    hear(this.root, document, "input", ({ target: field }) => {
      if (this.isOpen.value && field.matches?.(this.value.fills) && field.value !== this.ownText) this.readSoon();
    });
    hear(this.root, window, "grs-build", () => {
      this.open(true);
      this.focusSoon("summary");
    });
  }

  takeValue() {
    const { token, running } = this.value;
    if (running && !this.wasRunning) this.open(false); // the rounds show in place of the ghosts
    this.wasRunning = Boolean(running);
    if (token === this.token) return;
    this.token = token;
    this.isOpen.value = this.inNewStep.value = false;
    this.rows.value = this.history.value = [];
    this.active.value = this.form.value = this.ownText = null;
    this.forget();
  }

  forget() {
    this.answer.value = this.preview.value = null;
    clearTimeout(this.previewDue);
    this.previews.cancel();
  }

  open(on) {
    this.isOpen.value = on && Boolean(this.value.token);
    if (this.isOpen.value) this.read();
  }

  get poses() {
    const { error, why, poses } = this.preview.value ?? {};
    return error || why || !poses ? NO_GHOSTS : poses;
  }

  // Requests

  readSoon() {
    clearTimeout(this.readDue);
    this.readDue = setTimeout(() => this.read(), READ_MS);
  }

  /** Reads the goals of the text in the text field. */
  read() {
    const field = /** @type {HTMLTextAreaElement} */ (document.querySelector(this.value.fills)),
      text = field?.value ?? "";
    if (text !== this.ownText) this.builds.send({ kind: "read", text });
  }

  /** Sends the goals, for their words and what speaks against them. */
  sendGoals() {
    this.forget();
    const goals = toGoals(this.rows.value, this.value.axes);
    this.builds.cancel();
    if (goals.length) return this.builds.send({ kind: "build", goals });
    this.ownText = "";
    fillField(this.value.fills, "");
  }

  answered(answer, { kind, text }) {
    this.forget();
    if (kind === "read") {
      this.ownText = text;
      this.answer.value = answer.error ? answer : this.withRows(answer);
      if (this.rows.value.length && !answer.is_known && !isRefused("task-builder.build"))
        this.builds.send({ kind: "build", goals: answer.goals, text }); // what is shown is what runs
    } else {
      this.answer.value = answer;
      if (!answer.error && text === undefined) {
        this.ownText = answer.text;
        fillField(this.value.fills, answer.text);
      }
    }
    const { goals } = answer;
    if (!goals?.length || answer.why || isRefused("task-builder.preview")) return;
    this.previewDue = setTimeout(() => this.previews.send({ kind: "preview", goals }), PREVIEW_MS);
  }

  /** Shows the rows of the goals that were read. Returns the answer, which says so if one of them has no form. */
  withRows(answer) {
    const rows = toRows(answer.goals, this.value);
    if (this.rows.value.length) this.remember(rows ?? []);
    else this.rows.value = rows ?? [];
    return rows ? answer : { ...answer, unread: t("This task's goals cannot be shown here; build it again.") };
  }

  // Edits

  remember(rows) {
    this.history.value = [...this.history.value, this.rows.value].slice(-MAX_UNDO);
    this.rows.value = rows;
    if (!rows.some((row) => row.key === this.active.value?.key)) this.active.value = null;
  }

  edit(rows) {
    this.keepFocus();
    this.remember(rows);
    this.sendGoals();
  }

  undo() {
    const history = this.history.value;
    if (!history.length) return;
    this.keepFocus();
    this.rows.value = history.at(-1);
    this.history.value = history.slice(0, -1);
    this.active.value = null;
    this.sendGoals();
  }

  change(row) {
    this.edit(this.rows.value.map((one) => (one.key === row.key ? row : one)));
  }

  add(form) {
    const rows = this.rows.value,
      last = Math.max(0, ...rows.map((row) => row.stage));
    let row = newRow(form, last + (this.inNewStep.value && rows.length ? 1 : 0), this.value);
    for (const id of [selected(), ...alsoSelected()]) {
      const hole = nextHole(row),
        object = this.value.objects.find((one) => one.id === id);
      if (hole && object) row = withName(row, hole, object.name, this.value.objects);
    }
    this.inNewStep.value = false;
    this.edit([...rows, row]);
    this.activateNext(row);
  }

  activateNext(row) {
    const hole = nextHole(row);
    this.active.value = hole ? { key: row.key, index: hole.index } : null;
    if (hole && this.root.contains(document.activeElement))
      this.focusSoon(`[data-hole="${row.key} ${hole.index}"] select`);
  }

  activate(row, hole) {
    this.active.value = { key: row.key, index: hole.index };
  }

  /** Puts a clicked object into the active hole. */
  take(id) {
    const { key, index } = this.active.value ?? {},
      row = this.rows.value.find((one) => one.key === key),
      object = this.value.objects.find((one) => one.id === id),
      hole = row?.form.holes.find((one) => one.index === index);
    if (!hole || !object) return;
    const next = withName(row, hole, object.name, this.value.objects),
      isFirst = !row.names[hole.index].length;
    this.change(next);
    if (hole.type !== "list" && (hole.type === "object" || isFirst)) this.activateNext(next);
    queueMicrotask(() => select(null)); // so that the same object can be clicked again
  }

  /** Puts a dragged name into a hole, before another name or last. */
  drop({ name, key, index }, row, hole, before) {
    const names = (one) => one.names[index].filter((other) => other !== name),
      rows = this.rows.value.map((one) => (one.key === key ? withNames(one, { index }, names(one)) : one)),
      target = rows.find((one) => one.key === row.key),
      found = withName(target, hole, name, this.value.objects),
      next = withNames(found, hole, reordered(found.names[hole.index], name, before));
    this.edit(rows.map((one) => (one === target ? next : one)));
  }

  /** A number chooses the object of that number, Escape none, and Ctrl+Z undoes. */
  press(event) {
    const command = event.ctrlKey || event.metaKey;
    if (event.key === "Escape") this.active.value = null;
    else if (event.key === "z" && command) {
      event.stopPropagation(); // else the page undoes a decision
      this.undo();
    } else if (/^[1-9]$/.test(event.key) && !command && this.active.value) this.take(Number(event.key));
    else return;
    event.preventDefault();
  }

  // Focus

  /** Focuses an element once the page shows what has just changed. */
  focusSoon(selector, index = 0) {
    queueMicrotask(() => /** @type {HTMLElement} */ (this.root.querySelectorAll(selector)[index])?.focus());
  }

  /** A goal that goes to another step is drawn anew there; what has the focus in it keeps it. */
  keepFocus() {
    const focused = /** @type {HTMLElement} */ (document.activeElement);
    if (focused.dataset.act && this.root.contains(focused))
      queueMicrotask(() => focused.isConnected || this.focusSoon(`[data-act="${CSS.escape(focused.dataset.act)}"]`));
  }

  // Drawing

  template() {
    if (!this.value.token) return null; // there is no twin yet
    const isOpen = this.isOpen.value;
    const toggle = (event) => {
      event.preventDefault();
      this.open(!isOpen);
    };
    return html`<details open=${isOpen}>
      <summary onclick=${toggle}>
        <h3>${t("Task builder")}</h3>
        <span class="faint sentence">
          ${(isOpen && this.answer.value?.words) || t("Choose goals, objects and steps")}</span>
      </summary>
      ${
        isOpen &&
        html`<div class="body" data-sends="task-builder.build" onkeydown=${(event) => this.press(event)}>
          ${toolbar(this)}${steps(this)}${foot(this)}
        </div>`
      }
    </details>`;
  }
}

export default mounts(TaskBuilder);
