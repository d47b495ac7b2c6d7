// Form with every model setting.
import { t } from "/static/studio/texts.js";
import { batch, html, signal } from "/static/studio/view.js";

const SERVICES = [
  ["offline", t("Rules (offline)"), t("No key, no network, no language model. Its answers are marked as rules.")],
  ["openai", t("Model server"), t("OpenAI, or any server with its API: vLLM, Ollama, llama.cpp, LM Studio, Azure.")],
  ["replay", t("Recorded run"), t("Replays answers from a trace.jsonl: no key, no network, no cost.")],
];
const SERVERS = {
  "http://127.0.0.1:11434/v1": "Ollama",
  "http://127.0.0.1:1234/v1": "LM Studio",
  "http://127.0.0.1:8000/v1": "vLLM",
  "http://127.0.0.1:8080/v1": "llama.cpp",
};
const EFFORTS = ["", "none", "minimal", "low", "medium", "high", "xhigh"];
const PICTURED_KINDS = {
  propose_tasks: t("Propose tasks"),
  understand_task: t("Understand a task"),
  write_program: t("Write the program"),
  route: t("Choose the side to repair"),
  repair_simulation: t("Repair the simulation"),
  repair_checks: t("Repair the checks"),
};
const KEY_NOTES = {
  typed: t("In server memory only; deleted when the studio stops."),
  environment: t("From OPENAI_API_KEY. Type another to override it."),
};
const KEYS = { typed: t("••••••••  in memory"), environment: t("••••••••  from OPENAI_API_KEY") };
const MODEL_NOTE = t("Describes and matches objects, proposes tasks");
const PICTURES_NOTE = t("If off, objects are described and matched by measurement only");
const WHOLE = { step: "1" };
// Each setting that is typed: what it is called, how, and what to know.
const PRICES = [
  ["ceiling_usd", t("Budget, USD"), { placeholder: t("no limit") }, t("Per project; calls stop before it is exceeded")],
  ["timeout", t("Timeout per call, s")],
];
const ADVANCED = [
  ["usd_per_million_in", t("USD per million input tokens"), { placeholder: t("price list") }],
  ["usd_per_million_out", t("USD per million output tokens"), { placeholder: t("price list") }],
  ["temperature", t("Temperature"), { max: "2", placeholder: t("server default") }],
  ["reasoning_effort", t("Reasoning effort")],
  ["concurrency", t("Parallel calls"), WHOLE],
  ["retries", t("Retries when busy"), WHOLE],
  ["longest_answer", t("Maximum answer, tokens"), WHOLE],
  ["picture_side", t("Picture size, px"), WHOLE],
  ["examples", t("Solved examples"), { step: "1", max: "10" }, t("Sent when a program is written")],
  ["give_up_after", t("Pause after failures"), WHOLE],
  ["rest", t("Pause, s")],
];
const TYPED = ["base_url", "model", "code_model", ...[...PRICES, ...ADVANCED].map(([name]) => name)];
const NUMBER = { type: "number", step: "any", min: "0" };

const row = (label, input, note) =>
  html`<label class="row"><span class="name">${label}</span>${input}
    ${note && html`<span class="hint">${note}</span>`}</label>`;

export class SettingsForm {
  typed = signal({}); // texts of the fields, by name
  service = signal("offline");
  pictures = signal(false); // whether pictures of objects are sent
  pictured = signal(new Set()); // kinds of questions with which the photograph is sent
  key = signal("");
  keySource = signal(""); // "typed", "environment" or ""
  record = signal({ trace: "", name: "" });
  ownRecord = signal(""); // of the open project

  /** `onChange` is called at each edit, `onForgetKey` by its button. */
  constructor(onChange, onForgetKey, upload) {
    this.onChange = onChange;
    this.onForgetKey = onForgetKey;
    this.upload = upload;
  }

  /** Shows the settings in use and discards unsaved edits. */
  show(settings, keySource, ownRecord) {
    const { trace = "", pictures_for = "all" } = settings,
      name = trace === ownRecord ? t("this project") : trace?.split("/").at(-1),
      sent = pictures_for.split(/[\s,]+/),
      isSent = (kind) => sent.includes("all") || sent.includes(kind);
    batch(() => {
      this.service.value = settings.service;
      this.typed.value = Object.fromEntries(TYPED.map((name) => [name, String(settings[name] ?? "")]));
      this.pictures.value = Boolean(settings.pictures);
      this.pictured.value = new Set(Object.keys(PICTURED_KINDS).filter(isSent));
      this.key.value = "";
      this.keySource.value = keySource;
      this.ownRecord.value = ownRecord;
      this.record.value = { trace: trace ?? "", name: trace ? name : t("none chosen") };
    });
  }

  /** All settings as typed; the key only if one was typed. */
  get request() {
    const sent = [...this.pictured.value],
      isAll = sent.length === Object.keys(PICTURED_KINDS).length,
      settings = {
        service: this.service.value,
        trace: this.record.value.trace,
        ...Object.fromEntries(Object.entries(this.typed.value).map(([name, text]) => [name, text.trim()])),
        pictures: this.pictures.value,
        pictures_for: isAll ? "all" : sent.join(" ") || "none",
      };
    return { settings, ...(this.key.value && { key: this.key.value }) };
  }

  set(state, value) {
    state.value = value;
    this.onChange();
  }

  type({ name, value }) {
    this.set(this.typed, { ...this.typed.value, [name]: value });
  }

  template() {
    const service = (/** @type {string[]} */ [name, title, about]) => html`<label class="service">
      <input type="radio" name="service" value=${name} checked=${this.service.value === name}
        onchange=${() => this.set(this.service, name)} />
      <span><strong>${title}</strong><span class="hint">${about}</span></span>
    </label>`;
    return html`<form class="form" autocomplete="off" onsubmit=${(event) => event.preventDefault()}>
      <div class="services" role="radiogroup" aria-label=${t("Model service")}>${SERVICES.map(service)}</div>
      ${this.serverFields()}
      ${this.recordFields()}
    </form>`;
  }

  field(name, attributes = {}) {
    return html`<input name=${name} autocomplete="off" spellcheck=${false} value=${this.typed.value[name]}
      oninput=${({ target }) => this.type(target)} ...${attributes} />`;
  }

  /**
   * A field for a number, or the one for an effort, with its name.
   * @param {any[]} setting
   */
  row([name, label, attributes, note]) {
    if (name === "reasoning_effort")
      return row(
        label,
        html`<select name=${name} value=${this.typed.value[name]} onchange=${({ target }) => this.type(target)}>
          ${EFFORTS.map((effort) => html`<option value=${effort}>${effort || t("server default")}</option>`)}
        </select>`,
      );
    return row(label, this.field(name, { ...NUMBER, ...attributes }), note);
  }

  serverFields() {
    const address = { type: "url", placeholder: "https://api.openai.com/v1", list: "model-places" };
    return html`<div class="fields" hidden=${this.service.value !== "openai"}>
      ${row(t("Server"), this.field("base_url", address))}
      <datalist id="model-places">
        ${Object.entries(SERVERS).map(([url, name]) => html`<option value=${url}>${name}</option>`)}
      </datalist>
      ${this.keyRow()}
      ${row(t("Model"), this.field("model", { placeholder: "gpt-4o" }), MODEL_NOTE)}
      ${row(
        t("Model for code"),
        this.field("code_model", { placeholder: t("same as model") }),
        t("Writes and repairs programs"),
      )}
      <label class="tick">
        <input type="checkbox" name="pictures" checked=${this.pictures.value}
          onchange=${({ target }) => this.set(this.pictures, target.checked)} />${t("Send object pictures")}
        <span class="hint">${PICTURES_NOTE}</span>
      </label>
      <div class="pairs">${PRICES.map((one) => this.row(one))}</div>
      <details>
        <summary>${t("Advanced")}</summary>
        <div class="pairs">${ADVANCED.map((one) => this.row(one))}</div>
        <fieldset class="pictured">
          <legend>${t("Photograph with numbered objects goes along with")}</legend>
          ${Object.entries(PICTURED_KINDS).map((kind) => this.picturedBox(kind))}
        </fieldset>
      </details>
    </div>`;
  }

  keyRow() {
    const source = this.keySource.value;
    return html`<div class="row">
      <label class="name" for="model-key">${t("Key")}</label>
      <span class="pair flow">
        <input type="password" name="key" id="model-key" autocomplete="new-password" spellcheck=${false}
          placeholder=${KEYS[source] ?? t("none")} value=${this.key.value}
          oninput=${({ target }) => this.set(this.key, target.value)} />
        <button class="studio-button" type="button" title=${t("Delete the key from memory")}
          hidden=${source !== "typed"} onclick=${() => this.onForgetKey()}>${t("Forget")}</button>
      </span>
      <span class="hint">${KEY_NOTES[source] ?? t("Most local servers need none")}</span>
    </div>`;
  }

  picturedBox([kind, title]) {
    const toggle = ({ target }) => {
      const others = [...this.pictured.value].filter((one) => one !== kind),
        kinds = target.checked ? [...others, kind] : others;
      this.set(this.pictured, new Set(Object.keys(PICTURED_KINDS).filter((one) => kinds.includes(one))));
    };
    return html`<label class="tick">
      <input type="checkbox" name=${t("picture {kind}", { kind })} checked=${this.pictured.value.has(kind)}
        onchange=${toggle} />${title}
    </label>`;
  }

  recordFields() {
    const own = this.ownRecord.value,
      useOwn = () => own && this.set(this.record, { trace: own, name: t("this project") }),
      useFile = async ({ target }) => {
        const [file] = target.files;
        if (file) this.set(this.record, { trace: await this.upload(file), name: file.name });
      };
    return html`<div class="fields" hidden=${this.service.value !== "replay"}>
      <div class="row">
        <span class="name">${t("Record")}</span>
        <span class="pair flow">
          <button class="studio-button" type="button" onclick=${useOwn}>${t("Use this project")}</button>
          <label class="studio-button">${t("Choose file …")}
            <input type="file" accept=".jsonl" hidden onchange=${useFile} /></label>
          <span class="hint">${this.record.value.name}</span>
        </span>
      </div>
    </div>`;
  }
}
