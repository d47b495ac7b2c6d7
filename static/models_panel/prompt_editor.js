import { fill, h } from "/static/studio/dom.js";
import { diff } from "/static/studio/diff.js";
import { t } from "/static/studio/texts.js";

// Editor for the prompts: the built-in ones and the user's copies.
export class PromptEditor {
  constructor(ask) {
    Object.assign(this, { ask, prompts: [], open: null, prompt: null, note: "", bad: false, comparing: false });
    this.list = h("div.kinds", { role: "navigation", "aria-label": t("Prompts") });
    this.text = h("textarea", { "aria-label": t("Prompt"), spellcheck: false, oninput: () => this.drawEditor() });
    this.top = h("div.prompt-head");
    this.under = h("div.under");
    this.element = h("div.prompts", {}, this.list, h("section.prompt", {}, this.top, this.text, this.under));
  }

  show(prompts) {
    this.prompts = prompts ?? [];
    if (!this.open && this.prompts.length) return this.openPrompt(this.prompts[0].kind);
    this.draw();
  }

  async openPrompt(kind) {
    this.open = kind;
    this.showAnswer(await this.ask({ kind: "prompt", name: kind }));
  }

  showAnswer(answer) {
    this.bad = Boolean(answer.error);
    this.note = answer.error ?? answer.note ?? "";
    if (!answer.error) {
      this.prompt = answer;
      this.text.value = answer.text;
      this.prompts = answer.known ?? this.prompts;
    }
    this.comparing = false;
    this.draw();
  }

  drawEditor() {
    if (!this.prompt) return;
    const isEdited = this.text.value !== this.prompt.text;
    fill(
      this.top,
      h("strong", {}, this.prompt.title),
      h("span.faint", {}, `${this.prompt.name}.md`),
      this.prompt.changed ? h("span.tag.warn", {}, t("Modified")) : h("span.tag", {}, t("Built-in")),
      isEdited && h("span.tag", {}, t("Unsaved")),
    );
    fill(
      this.under,
      h(
        "div.placeholders",
        {},
        `${t("Placeholders:")} `,
        this.prompt.holes.map((name) => h("code", {}, `{{${name}}}`)),
      ),
      this.note && h(this.bad ? "p.fault" : "p.note", { role: "status" }, this.note),
      h(
        "div.actions",
        {},
        h(
          "button.studio-button.primary",
          {
            disabled: !isEdited,
            "data-sends": "models-panel.save prompt",
            onclick: async () =>
              this.showAnswer(await this.ask({ kind: "save prompt", name: this.open, text: this.text.value })),
          },
          t("Save copy"),
        ),
        this.prompt.changed &&
          h(
            "button.studio-button",
            {
              "data-sends": "models-panel.reset prompt",
              onclick: async () => this.showAnswer(await this.ask({ kind: "reset prompt", name: this.open })),
            },
            t("Reset to built-in"),
          ),
        this.prompt.changed &&
          h(
            "button.studio-button",
            {
              onclick: () => {
                this.comparing = !this.comparing;
                this.drawEditor();
              },
            },
            this.comparing ? t("Hide changes") : t("Show changes"),
          ),
      ),
      this.comparing && this.prompt.rows.length
        ? [
            h("div.sides", {}, h("span.faint", {}, t("Built-in")), h("span.faint", {}, t("Your copy"))),
            diff(this.prompt.rows),
          ]
        : null,
    );
  }

  draw() {
    fill(
      this.list,
      this.prompts.map((prompt) =>
        h(
          `button.list-row${prompt.kind === this.open ? ".on" : ""}`,
          {
            "data-kind": prompt.kind,
            "aria-current": String(prompt.kind === this.open),
            onclick: () => this.openPrompt(prompt.kind),
          },
          prompt.title,
          prompt.changed && h("span.tag.warn", {}, t("Modified")),
        ),
      ),
    );
    this.text.hidden = !this.prompt;
    this.drawEditor();
  }
}
