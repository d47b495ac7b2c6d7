// What can be done with the selected projects, and the notice of what was done last, with its undo.
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

export class ActionBar {
  // `act(request)` sends a request about the selected projects; `undo(id)` undoes an act.
  constructor({ act, undo, deselect }) {
    Object.assign(this, { act, undo, deselect, selected: [], tags: [], form: null });
    this.note = h("p.board-note", { role: "status", hidden: true });
    this.bar = h("div.board-bar", { role: "toolbar", "aria-label": t("Selected projects"), hidden: true });
    this.element = h("div.board-foot", {}, this.note, this.bar);
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.form) this.showForm(null);
    });
  }

  // Shows the acts on these projects; `tags` are those of the workspace.
  show(selected, tags) {
    if (!selected.length) this.form = null;
    Object.assign(this, { selected, tags });
    this.draw();
  }

  // Shows {note, undo, problems, error, question} of an answer.
  tell(answer) {
    const bad = [answer.error, ...(answer.problems ?? [])].filter(Boolean);
    this.note.hidden = !answer.note && !bad.length;
    this.note.classList.toggle("bad", bad.length > 0);
    fill(
      this.note,
      h("span", {}, [answer.note, ...bad].filter(Boolean).join(" ")),
      answer.undo && h("button.studio-button", { onclick: () => this.undo(answer.undo) }, t("Undo")),
      h("button.studio-button.plain", { "aria-label": t("Dismiss"), onclick: () => this.tell({}) }, "✕"),
    );
    if (answer.question) this.showForm(this.question(answer.question));
  }

  showForm(form) {
    this.form = form;
    this.draw();
    this.bar.querySelector("input, .primary, .stop")?.focus();
  }

  send(request) {
    this.form = null;
    this.draw();
    this.act(request);
  }

  draw() {
    const { selected } = this;
    this.bar.hidden = !selected.length;
    const button = (label, onclick, more = "") =>
      h(`button.studio-button${more}`, { "data-sends": "gallery.judge", onclick }, label);
    fill(
      this.bar,
      h("strong", {}, t("{n} selected", { n: selected.length })),
      this.form ?? [
        selected.length === 1 && button(t("Rename …"), () => this.showForm(this.renameForm())),
        button(t("Duplicate"), () => this.send({ kind: "duplicate" })),
        button(t("Tags …"), () => this.showForm(this.tagForm())),
        button(t("✓ Accept"), () => this.send({ kind: "judge", verdict: "accepted" })),
        button(t("✕ Reject …"), () => this.showForm(this.rejectForm())),
        button(t("? Unsure"), () => this.send({ kind: "judge", verdict: "unsure" })),
        selected.some((one) => one.verdict) &&
          button(t("Remove verdict"), () => this.send({ kind: "judge", verdict: "" })),
        button(t("Delete"), () => this.send({ kind: "delete" }), ".stop"),
      ],
      h("button.studio-button.plain", { "aria-label": t("Deselect all"), onclick: this.deselect }, "✕"),
    );
  }

  // Field with buttons: [label, makeRequest(text)] each; Enter presses the first.
  textForm(label, value, buttons, list) {
    const input = h("input", { type: "text", "aria-label": label, placeholder: label, value, maxlength: "400", list });
    return h(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          this.send(buttons[0][1](input.value));
        },
      },
      input,
      buttons.map(([name, request], i) =>
        h(
          `button.studio-button${i ? "" : ".primary"}`,
          i ? { type: "button", onclick: () => this.send(request(input.value)) } : { type: "submit" },
          name,
        ),
      ),
      this.cancelButton(),
    );
  }

  cancelButton() {
    return h("button.studio-button.plain", { type: "button", onclick: () => this.showForm(null) }, t("Cancel"));
  }

  renameForm() {
    return this.textForm(t("Title of the project"), this.selected[0].title, [
      [t("Rename"), (title) => ({ kind: "rename", title })],
    ]);
  }

  rejectForm() {
    return this.textForm(t("Reason for the rejection"), "", [
      [t("Reject"), (reason) => ({ kind: "judge", verdict: "rejected", reason })],
    ]);
  }

  tagForm() {
    const words = (text) => text.split(",").filter((tag) => tag.trim());
    return h(
      "span.tag-form",
      {},
      this.textForm(
        t("Tag, or several with commas"),
        "",
        [
          [t("Add tag"), (text) => ({ kind: "tag", add: words(text), remove: [] })],
          [
            t("Remove tag"),
            (text) => ({ kind: "tag", add: [], remove: words(text).map((tag) => tag.trim().replace(/\s+/g, " ")) }),
          ],
        ],
        "board-tags",
      ),
      h(
        "datalist",
        { id: "board-tags" },
        this.tags.map((tag) => h("option", { value: tag })),
      ),
    );
  }

  question(text) {
    return h(
      "span.question",
      {},
      h("span", {}, text),
      h(
        "button.studio-button.stop",
        { onclick: () => this.send({ kind: "delete", confirmed: true }) },
        t("Delete anyway"),
      ),
      this.cancelButton(),
    );
  }
}
