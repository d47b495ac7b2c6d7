// What can be done with the selected projects, and the notice of what was done last, with its undo.
import { t } from "/static/studio/texts.js";
import { classes, html, signal } from "/static/studio/view.js";

const wordsOf = (text) => text.split(",").filter((tag) => tag.trim());

export class ActionBar {
  told = signal(/** @type {any} */ ({}));
  form = signal(/** @type {any} */ (null)); // {kind, text} that a person fills in before an act; `text` is a signal
  foot = null;

  /** `act(request)` sends a request about the selected projects; `undo(id)` undoes an act. */
  constructor({ act, undo, deselect }) {
    this.act = act;
    this.undo = undo;
    this.deselect = deselect;
  }

  /** Shows {note, undo, problems, error, question} of an answer. */
  tell(answer) {
    this.told.value = answer;
    if (answer.question) this.open("question", answer.question);
  }

  open(kind, text = "") {
    this.form.value = { kind, text: signal(text) };
    this.focus();
  }

  close() {
    this.form.value = null;
  }

  cancel() {
    this.close();
    this.focus();
  }

  focus() {
    queueMicrotask(() => this.foot?.querySelector(".board-bar :is(input, button)")?.focus());
  }

  send(request) {
    this.close();
    this.act(request);
  }

  /** `tags` are those of the workspace. */
  template(selected, tags) {
    const isCancelled = (event) => event.key === "Escape" && this.form.value;
    return html`<div class="board-foot" ref=${(foot) => (this.foot = foot)}
      onkeydown=${(event) => isCancelled(event) && this.cancel()}>
      ${this.note()}
      <div class="board-bar flow" role="toolbar" aria-label=${t("Selected projects")} hidden=${!selected.length}>
        <strong>${t("{n} selected", { n: selected.length })}</strong>
        ${this.form.value ? this.openForm(selected, tags) : this.acts(selected)}
        <button class="studio-button plain" aria-label=${t("Deselect all")} onclick=${this.deselect}>✕</button>
      </div>
    </div>`;
  }

  note() {
    const { note, undo, error, problems = [] } = this.told.value,
      bad = [error, ...problems].filter(Boolean);
    return html`<p class=${classes("board-note flow", bad.length > 0 && "bad")} role="status" hidden=${!note && !bad.length}>
      <span>${[note, ...bad].filter(Boolean).join(" ")}</span>
      ${undo && html`<button class="studio-button" onclick=${() => this.undo(undo)}>${t("Undo")}</button>`}
      <button class="studio-button plain" aria-label=${t("Dismiss")} onclick=${() => this.tell({})}>✕</button>
    </p>`;
  }

  acts(selected) {
    const button = (label, onclick, kind = "") =>
      html`<button class=${classes("studio-button", kind)} data-sends="gallery.judge" onclick=${onclick}>
        ${label}</button>`;
    const judge = (verdict) => () => this.send({ kind: "judge", verdict });
    return [
      selected.length === 1 && button(t("Rename …"), () => this.open("rename", selected[0].title)),
      button(t("Duplicate"), () => this.send({ kind: "duplicate" })),
      button(t("Tags …"), () => this.open("tags")),
      button(t("✓ Accept"), judge("accepted")),
      button(t("✕ Reject …"), () => this.open("reject")),
      button(t("? Unsure"), judge("unsure")),
      selected.some((one) => one.verdict) && button(t("Remove verdict"), judge("")),
      button(t("Delete"), () => this.send({ kind: "delete" }), "stop"),
    ];
  }

  openForm(selected, tags) {
    const { kind, text } = this.form.value;
    if (kind === "question") return this.question(text.value);
    if (kind === "rename" && selected.length === 1)
      return this.textForm(t("Title of the project"), [[t("Rename"), (title) => ({ kind: "rename", title })]]);
    if (kind === "reject")
      return this.textForm(t("Reason for the rejection"), [
        [t("Reject"), (reason) => ({ kind: "judge", verdict: "rejected", reason })],
      ]);
    const remove = (words) => wordsOf(words).map((tag) => tag.trim().replace(/\s+/g, " ")),
      buttons = [
        [t("Add tag"), (words) => ({ kind: "tag", add: wordsOf(words), remove: [] })],
        [t("Remove tag"), (words) => ({ kind: "tag", add: [], remove: remove(words) })],
      ];
    return html`<span class="tag-form">
      ${this.textForm(t("Tag, or several with commas"), buttons, "board-tags")}
      <datalist id="board-tags">${tags.map((tag) => html`<option value=${tag} />`)}</datalist>
    </span>`;
  }

  // Field with buttons: [label, makeRequest(text)] each; Enter presses the first.
  textForm(label, buttons, list = null) {
    const { text } = this.form.value,
      [[first, firstRequest], ...others] = buttons;
    const submit = (event) => {
      event.preventDefault();
      this.send(firstRequest(text.value));
    };
    return html`<form onsubmit=${submit}>
      <input type="text" aria-label=${label} placeholder=${label} maxlength="400" list=${list} value=${text.value}
        oninput=${({ target }) => (text.value = target.value)} />
      <button class="studio-button primary" type="submit">${first}</button>
      ${others.map(
        ([name, request]) => html`<button class="studio-button" type="button"
          onclick=${() => this.send(request(text.value))}>${name}</button>`,
      )}
      ${this.cancelButton()}
    </form>`;
  }

  cancelButton() {
    return html`<button class="studio-button plain" type="button" onclick=${() => this.cancel()}>
      ${t("Cancel")}</button>`;
  }

  question(text) {
    return html`<span class="question">
      <span>${text}</span>
      <button class="studio-button stop" onclick=${() => this.send({ kind: "delete", confirmed: true })}>
        ${t("Delete anyway")}</button>
      ${this.cancelButton()}
    </span>`;
  }
}
