// The drawer's pages of the model in use and of the prompts.
import { closeDrawer, drawer, openDrawer } from "/static/studio/drawer.js";
import { COVER, shortcuts } from "/static/studio/keyboard.js";
import { onJobs } from "/static/studio/jobs.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";
import { batch, classes, html, mounts, onChange, signal, View } from "/static/studio/view.js";
import { side } from "/static/models_panel/model_side.js";
import { PromptEditor } from "/static/models_panel/prompt_editor.js";
import { SettingsForm } from "/static/models_panel/settings_form.js";

const TABS = [
  ["model", t("Model")],
  ["calls", t("Calls")],
  ["prompts", t("Prompts")],
];
const ESTIMATE_MS = 300; // after the last change

class ModelsPanel extends View {
  isEdited = signal(false);
  problem = signal("");
  confirmation = signal("");
  choices = signal([]); // what the model can be asked about, offered when it is applied
  findings = signal([]); // of the test of the connection
  isTesting = signal(false);
  estimates = signal([]); // sentences on the cost of the project
  timer = 0;
  testName = ""; // of the test that runs
  look = onJobs(this.root, "test", () => this.readFindings());
  ask = asker(this.server, () => ({ page_token: this.value.page_token, token: this.value.token }));
  promptEditor = new PromptEditor(this.ask);
  form = new SettingsForm(
    () => this.edit(),
    () => this.request({ kind: "forget key" }),
    async (file) => (await this.upload(file)).path,
  );

  constructor(context) {
    super(context);
    onChange(
      this.root,
      () => this.value,
      () => this.isEdited.value || this.resetForm(),
    );
    onChange(this.root, drawer, (page) => this.showPage(page));
    const keys = { Escape: { help: t("close"), act: closeDrawer } };
    shortcuts(this.root, { title: t("Model settings"), keys: () => keys, isOn: () => Boolean(drawer()), rank: COVER });
  }

  resetForm() {
    const { settings = { service: "offline" }, key_source = "", project_record } = this.value;
    this.form.show(settings, key_source, project_record);
  }

  showPage(page) {
    if (page === "prompts") this.promptEditor.show(this.value.prompts);
    if (page !== "model") return;
    /** @type {HTMLElement} */ (this.root.querySelector("[data-page=model]"))?.focus();
    this.estimate();
  }

  edit() {
    this.isEdited.value = true;
    this.choices.value = [];
    this.problem.value = this.confirmation.value = "";
    this.estimate();
  }

  discard() {
    this.isEdited.value = false;
    this.problem.value = "";
    this.resetForm();
  }

  async request(question) {
    const { error, done } = await this.ask(question);
    batch(() => {
      this.problem.value = error ?? "";
      this.confirmation.value = done ?? "";
      this.choices.value = [];
      if (!error) this.isEdited.value = false;
    });
    if (!error) this.send("changed");
  }

  async apply() {
    if (!this.value.token) return this.request({ kind: "use", ...this.form.request });
    const { error, choices } = await this.ask({ kind: "choices", ...this.form.request, key: undefined });
    if (error) this.problem.value = error;
    this.choices.value = choices ?? [];
  }

  estimate() {
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      const { sentences } = await this.ask({ kind: "estimate", ...this.form.request, key: undefined });
      this.estimates.value = sentences ?? [];
    }, ESTIMATE_MS);
  }

  async test() {
    this.findings.value = [];
    this.isTesting.value = true;
    this.problem.value = this.confirmation.value = "";
    const { error, test } = await this.ask({ kind: "test", ...this.form.request });
    if (error) return this.endTest(error);
    this.testName = test;
    this.look();
  }

  async readFindings() {
    const test = this.testName;
    if (!this.isTesting.value || !test) return;
    const { error, findings, testing } = await this.ask({ kind: "findings", test });
    if (error) return this.endTest(error);
    this.findings.value = findings;
    this.isTesting.value = testing;
  }

  endTest(error) {
    this.problem.value = error;
    this.isTesting.value = false;
  }

  template() {
    const page = drawer(),
      tab = (
        /** @type {string[]} */ [name, title],
      ) => html`<button class=${name === page && "on"} role="tab" aria-selected=${name === page}
        data-page=${name} onclick=${() => openDrawer(name)}>${title}</button>`;
    return html`<div class="drawer-head">
        <div class="tabs" role="tablist">${TABS.map(tab)}</div>
        <button class="studio-button plain" title=${t("Close (Esc)")} aria-label=${t("Close")}
          onclick=${closeDrawer}>✕</button>
      </div>
      <div class="model-page" hidden=${page === "calls"}>
        <div class="holder" hidden=${page !== "model"}>
          <div class="column">${this.form.template()}${this.foot()}</div>
          ${side(this)}
        </div>
        ${this.promptEditor.template(page !== "prompts")}
      </div>`;
  }

  foot() {
    const { problem: fault, override_note } = this.value,
      problem = this.problem.value,
      confirmation = this.confirmation.value;
    return html`<div class="foot">
      ${problem && html`<p class="fault" role="alert">${problem}</p>`}
      ${confirmation && html`<p class="note" role="status">${confirmation}</p>`}
      ${fault && !problem && html`<p class="fault">${fault}</p>`}
      ${override_note && html`<p class="hint">${override_note}</p>`}
      ${this.choices.value.length ? this.scopes() : this.actions()}
    </div>`;
  }

  // What the model that is applied is asked about.
  scopes() {
    const scopes = [...this.choices.value, { scope: "none", title: t("New questions only") }],
      button = ({ scope, title, cost }, place) => html`<button class=${classes("studio-button", !place && "primary")}
        data-sends="models-panel.use" onclick=${() => this.request({ kind: "use", scope, ...this.form.request })}>
        ${cost ? `${title} (${cost})` : title}</button>`;
    return html`<div class="actions flow" key="scopes" role="group" aria-label=${t("Ask this model about")}>
      <span class="note">${t("Ask this model about")}</span>
      ${scopes.map(button)}
      <button class="studio-button plain" onclick=${() => (this.choices.value = [])}>${t("Cancel")}</button>
    </div>`;
  }

  actions() {
    const { problem, answered_by_another } = this.value,
      isEdited = this.isEdited.value,
      isTesting = this.isTesting.value;
    return html`<div class="actions flow" key="actions">
      <button class="studio-button primary" key="apply" disabled=${!isEdited && !problem} data-sends="models-panel.use"
        onclick=${() => this.apply()}>${isEdited || problem ? t("Apply") : t("In use")}</button>
      ${
        !isEdited &&
        answered_by_another &&
        html`<button class="studio-button" key="ask" onclick=${() => this.apply()}>
          ${t("Ask it about this project …")}</button>`
      }
      ${
        this.form.service.value === "openai" &&
        html`<button class="studio-button" key="test" disabled=${isTesting} data-sends="models-panel.test"
          onclick=${() => this.test()}>${isTesting ? t("Testing …") : t("Test connection")}</button>`
      }
      ${
        isEdited &&
        html`<button class="studio-button plain" key="discard" onclick=${() => this.discard()}>
          ${t("Discard changes")}</button>`
      }
    </div>`;
  }
}

export default mounts(ModelsPanel);
