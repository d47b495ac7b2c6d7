// Builds a task of goals: kinds of goals, objects that are clicked anywhere in the page, steps. See components/steps.py.
import { fill, h } from "/static/studio/dom.js";
import { fillField } from "/static/studio/fill_field.js";
import { LatestRequest } from "/static/studio/latest_request.js";
import { isRefused } from "/static/studio/refused_controls.js";
import { alsoSelected, onSelect, select, selected } from "/static/studio/selection.js";
import { t } from "/static/studio/texts.js";
import { isDragging } from "./dragging.js";
import { foot, steps, toolbar } from "./drawing.js";
import { isComplete, newRow, nextHole, toGoals, toRows, withName, withNames } from "./rows.js";

const READ_MS = 300, // after the last key in the text field
  PREVIEW_MS = 400; // after the last edit
const MAX_UNDO = 50;

class TaskBuilder {
  constructor({ element, server }) {
    this.root = element.querySelector(".task-builder");
    this.value = { forms: [], objects: [] };
    this.isOpen = false;
    this.ownText = null; // that the rows stand for in the text field
    this.clear();
    const ask = (request) => server.ask({ ...request, token: this.value.token });
    this.builds = new LatestRequest(ask, (answer, request) => this.answered(answer, request));
    this.previews = new LatestRequest(ask, (answer) => this.previewed(answer));
    onSelect(element, (id) => id && this.isOpen && this.take(id));
    document.addEventListener("input", ({ target: field }) => {
      if (this.isOpen && field.matches?.(this.value.fills) && field.value !== this.ownText) this.readSoon();
    });
    this.root.addEventListener("dragend", () => this.draw());
    addEventListener("grs-build", () => {
      if (!element.isConnected) return;
      this.open(true);
      this.root.querySelector("summary").focus();
    });
  }

  clear() {
    this.rows = [];
    this.history = [];
    this.active = null; // {key, index} of the hole that a clicked object fills
    this.inNewStep = false; // whether the next goal begins a step
    this.form = null; // that had the focus last
    this.forget();
  }

  forget() {
    this.answer = this.preview = null;
    clearTimeout(this.previewDue);
    this.previews?.cancel();
  }

  show(value) {
    const isOther = value.token !== this.value.token,
      begins = value.running && !this.value.running;
    this.value = value;
    if (begins && this.isOpen) this.open(false); // the rounds show in place of the ghosts
    if (isOther) {
      this.clear();
      this.ownText = null;
      this.isOpen = false;
    }
    this.draw();
  }

  open(on) {
    this.isOpen = on && Boolean(this.value.token);
    this.draw();
    this.showGhosts();
    if (this.isOpen) this.read();
  }

  // Requests

  get field() {
    return document.querySelector(this.value.fills);
  }

  readSoon() {
    clearTimeout(this.readDue);
    this.readDue = setTimeout(() => this.read(), READ_MS);
  }

  /** Reads the goals of the text in the text field. */
  read() {
    const text = this.field?.value ?? "";
    if (text === this.ownText) return;
    this.builds.send({ kind: "read", text });
  }

  /** Sends the goals, for their words and what speaks against them. */
  send() {
    this.forget();
    const goals = toGoals(this.rows, this.value.axes);
    this.builds.cancel();
    if (goals.length) return this.builds.send({ kind: "build", goals });
    this.ownText = "";
    fillField(this.value.fills, "");
    this.showGhosts();
  }

  answered(answer, { kind, text }) {
    this.forget();
    this.answer = answer;
    if (kind === "read") {
      this.ownText = text;
      if (!answer.error) this.showRows(toRows(answer.goals, this.value));
      this.draw();
      if (this.rows.length && !answer.is_known && !isRefused("task-builder.build"))
        this.builds.send({ kind: "build", goals: answer.goals, text }); // what is shown is what runs
    } else if (!answer.error && text === undefined) {
      this.ownText = answer.text;
      fillField(this.value.fills, answer.text);
    }
    this.showGhosts();
    this.tell();
    const { goals } = answer;
    if (!goals?.length || answer.why || isRefused("task-builder.preview")) return;
    this.previewDue = setTimeout(() => this.previews.send({ kind: "preview", goals }), PREVIEW_MS);
  }

  previewed(answer) {
    this.preview = answer;
    this.showGhosts();
    this.tell();
  }

  showGhosts() {
    const poses = this.preview && !this.preview.error && !this.preview.why ? this.preview.poses : {};
    dispatchEvent(new CustomEvent("grs-ghosts", { detail: this.isOpen ? poses : null }));
  }

  /** Shows the rows of a text; null if one of its goals has no form. */
  showRows(rows) {
    if (!rows) this.answer.unread = t("This task's goals cannot be shown here; build it again.");
    if (this.rows.length) this.remember(rows ?? []);
    else this.rows = rows ?? [];
  }

  // Edits

  remember(rows) {
    this.history = [...this.history, this.rows].slice(-MAX_UNDO);
    this.rows = rows;
    if (!rows.some((row) => row.key === this.active?.key)) this.active = null;
  }

  edit(rows) {
    this.remember(rows);
    this.draw();
    this.send();
  }

  undo() {
    const rows = this.history.pop();
    if (!rows) return;
    this.rows = rows;
    this.active = null;
    this.draw();
    this.send();
  }

  change(row) {
    this.edit(this.rows.map((one) => (one.key === row.key ? row : one)));
  }

  add(form) {
    const last = Math.max(0, ...this.rows.map((row) => row.stage));
    let row = newRow(form, last + (this.inNewStep && this.rows.length ? 1 : 0), this.value);
    for (const id of [selected(), ...alsoSelected()]) {
      const hole = nextHole(row),
        object = this.value.objects.find((one) => one.id === id);
      if (hole && object) row = withName(row, hole, object.name, this.value.objects);
    }
    this.inNewStep = false;
    this.edit([...this.rows, row]);
    this.activateNext(row);
  }

  activateNext(row) {
    const hole = nextHole(row);
    this.active = hole ? { key: row.key, index: hole.index } : null;
    this.draw();
    if (hole && this.root.contains(document.activeElement))
      this.root.querySelector(`[data-hole="${row.key} ${hole.index}"] select`)?.focus();
  }

  activate(row, hole) {
    this.active = { key: row.key, index: hole.index };
    for (const one of this.root.querySelectorAll("[data-hole]"))
      one.classList.toggle("active", one.dataset.hole === `${row.key} ${hole.index}`);
  }

  /** Puts a clicked object into the active hole. */
  take(id) {
    const row = this.rows.find((one) => one.key === this.active?.key),
      object = this.value.objects.find((one) => one.id === id);
    const hole = row?.form.holes.find((one) => one.index === this.active.index);
    if (!hole || !object) return;
    const next = withName(row, hole, object.name, this.value.objects),
      isFirst = !row.names[hole.index].length;
    this.change(next);
    if (hole.type !== "list" && (hole.type === "object" || isFirst)) this.activateNext(next);
    queueMicrotask(() => select(null)); // so that the same object can be clicked again
  }

  /** Puts a dragged name into a hole, before another name or last. */
  drop({ name, key, index }, row, hole, before) {
    let rows = this.rows.map((one) =>
      one.key === key
        ? withNames(
            one,
            { index },
            one.names[index].filter((other) => other !== name),
          )
        : one,
    );
    const found = withName(
      rows.find((one) => one.key === row.key),
      hole,
      name,
      this.value.objects,
    );
    const names = found.names[hole.index].filter((one) => one !== name),
      at = names.indexOf(before);
    names.splice(at < 0 ? names.length : at, 0, name);
    rows = rows.map((one) => (one.key === row.key ? withNames(found, hole, names) : one));
    this.edit(rows);
  }

  /** A number chooses the object of that number, Escape none, and Ctrl+Z undoes. */
  press(event) {
    const command = event.ctrlKey || event.metaKey;
    if (event.key === "Escape") {
      this.active = null;
      this.draw();
    } else if (event.key === "z" && command) {
      event.stopPropagation(); // else the page undoes a decision
      this.undo();
    } else if (/^[1-9]$/.test(event.key) && !command && this.active) this.take(Number(event.key));
    else return;
    event.preventDefault();
  }

  // Drawing

  draw() {
    if (isDragging()) return; // what is dragged would be taken out of the page
    if (!this.value.token) return fill(this.root); // there is no twin yet
    fill(
      this.root,
      h(
        "details",
        { open: this.isOpen },
        h(
          "summary",
          {
            onclick: (event) => {
              event.preventDefault();
              this.open(!this.isOpen);
            },
          },
          h("h3", {}, t("Task builder")),
          h("span.faint.sentence"),
        ),
        this.isOpen && this.body(),
      ),
    );
    this.tell();
  }

  /** Says what the task is and whether it can be done, and leaves all else as it is: a menu may be open. */
  tell() {
    const sentence = this.root.querySelector(".sentence"),
      verdict = this.root.querySelector(".verdict");
    if (sentence) sentence.textContent = (this.isOpen && this.answer?.words) || t("Choose goals, objects and steps");
    if (verdict) fill(verdict, this.verdict());
  }

  body() {
    return h(
      "div.body",
      {
        "data-sends": "task-builder.build",
        onkeydown: (event) => this.press(event),
      },
      toolbar(this),
      steps(this),
      foot(this),
    );
  }

  verdict() {
    const { answer, preview } = this;
    const open = this.rows.filter((row) => !isComplete(row)).length;
    const why = answer?.error || answer?.unread || answer?.why || preview?.error || preview?.why;
    if (why) return [h("span.why", { title: why }, `✕ ${why}`)];
    if (this.active && open) return t("Click an object in the list, the twin or the photograph, or choose it here.");
    if (!this.rows.length) return t("Add a goal.");
    if (open) return t("{n} goal is not complete|{n} goals are not complete", { n: open });
    if (preview) return [h("span.tag.good", {}, t("✓ The robot can do it"))];
    return answer && !isRefused("task-builder.preview") ? [h("i.spin"), t("Planning …")] : [];
  }
}

export default function mount(page) {
  const builder = new TaskBuilder(page);
  return (next) => builder.show(next ?? { token: "", forms: [], objects: [] });
}
