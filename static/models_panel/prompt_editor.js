// Editor for the prompts: the built-in ones and the user's copies.
import { Diff } from "/static/studio/diff.js";
import { t } from "/static/studio/texts.js";
import { batch, classes, html, signal } from "/static/studio/view.js";

const Modified = () => html`<span class="tag warn">${t("Modified")}</span>`;

export class PromptEditor {
  prompts = signal([]);
  open = signal(/** @type {string | null} */ (null)); // kind of the prompt that is shown
  prompt = signal(/** @type {any} */ (null)); // as the server sent it
  text = signal(""); // as edited
  note = signal("");
  problem = signal("");
  comparing = signal(false);

  constructor(ask) {
    this.ask = ask;
  }

  show(prompts) {
    this.prompts.value = prompts ?? [];
    if (!this.open.value && prompts?.length) this.openPrompt(prompts[0].kind);
  }

  openPrompt(kind) {
    this.open.value = kind;
    return this.request({ kind: "prompt" });
  }

  async request(question) {
    const answer = await this.ask({ ...question, name: this.open.value });
    batch(() => {
      this.problem.value = answer.error ?? "";
      this.note.value = answer.note ?? "";
      this.comparing.value = false;
      if (answer.error) return;
      this.prompt.value = answer;
      this.text.value = answer.text;
      this.prompts.value = answer.known ?? this.prompts.value;
    });
  }

  template(isHidden) {
    const prompt = this.prompt.value;
    return html`<div class="prompts" hidden=${isHidden}>
      <div class="kinds" role="navigation" aria-label=${t("Prompts")}>
        ${this.prompts.value.map((one) => this.row(one))}</div>
      <section class="prompt">
        <div class="prompt-head">${prompt && this.head(prompt)}</div>
        <textarea aria-label=${t("Prompt")} spellcheck=${false} hidden=${!prompt} value=${this.text.value}
          oninput=${({ target }) => (this.text.value = target.value)} />
        <div class="under">${prompt && this.under(prompt)}</div>
      </section>
    </div>`;
  }

  row({ kind, title, changed }) {
    const isOpen = kind === this.open.value;
    return html`<button class=${classes("list-row", isOpen && "on")} key=${kind} data-kind=${kind}
      aria-current=${isOpen} onclick=${() => this.openPrompt(kind)}>
      ${title}${changed && html`<${Modified} />`}</button>`;
  }

  get isEdited() {
    return this.text.value !== this.prompt.value.text;
  }

  head({ title, name, changed }) {
    return html`<strong>${title}</strong>
      <span class="faint">${name}.md</span>
      ${changed ? html`<${Modified} />` : html`<span class="tag">${t("Built-in")}</span>`}
      ${this.isEdited && html`<span class="tag">${t("Unsaved")}</span>`}`;
  }

  under({ holes, rows, changed }) {
    const comparing = this.comparing.value,
      note = this.problem.value || this.note.value;
    return html`<div class="placeholders">${t("Placeholders:")}${" "}
        ${holes.map((name) => html`<code>{{${name}}}</code>`)}</div>
      ${note && html`<p class=${this.problem.value ? "fault" : "note"} role="status">${note}</p>`}
      <div class="actions flow">
        <button class="studio-button primary" disabled=${!this.isEdited} data-sends="models-panel.save prompt"
          onclick=${() => this.request({ kind: "save prompt", text: this.text.value })}>${t("Save copy")}</button>
        ${
          changed &&
          html`<button class="studio-button" data-sends="models-panel.reset prompt"
              onclick=${() => this.request({ kind: "reset prompt" })}>${t("Reset to built-in")}</button>
            <button class="studio-button" onclick=${() => (this.comparing.value = !comparing)}>
              ${comparing ? t("Hide changes") : t("Show changes")}</button>`
        }
      </div>
      ${
        comparing &&
        rows.length > 0 &&
        html`<div class="sides"><span class="faint">${t("Built-in")}</span>
            <span class="faint">${t("Your copy")}</span></div>
          <${Diff} rows=${rows} />`
      }`;
  }
}
