import { h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const SERVICE_CHOICES = [
  ["offline", t("Rules (offline)"), t("No key, no network, no language model. Its answers are marked as rules.")],
  ["openai", t("Model server"), t("OpenAI, or any server with its API: vLLM, Ollama, llama.cpp, LM Studio, Azure.")],
  ["replay", t("Recorded run"), t("Replays answers from a trace.jsonl: no key, no network, no cost.")],
];
const SERVERS = {
  "": "OpenAI",
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
  typed: t("A key is in memory. Type another to replace it."),
  environment: t("From OPENAI_API_KEY. Type another to override it."),
  "": t("Most local servers need none"),
};

// Form with every model setting. `onChange` is called at each edit, `onForgetKey` by its button.
export class SettingsForm {
  constructor(onChange, onForgetKey, upload) {
    Object.assign(this, { onChange, onForgetKey, upload, fields: {}, service: "offline" });
    const field = (name, attributes) =>
      (this.fields[name] = h("input", {
        name,
        autocomplete: "off",
        spellcheck: false,
        oninput: () => this.onChange(),
        ...attributes,
      }));
    const number = (name, attributes) => field(name, { type: "number", step: "any", min: "0", ...attributes });
    const row = (label, input, note) =>
      h("label.row", {}, h("span.name", {}, label), input, note && h("span.hint", {}, note));
    this.key = h("input", {
      type: "password",
      name: "key",
      autocomplete: "new-password",
      spellcheck: false,
      oninput: () => this.onChange(),
    });
    this.dropKey = h(
      "button.studio-button",
      { type: "button", title: t("Delete the key from memory"), onclick: () => this.onForgetKey() },
      t("Forget"),
    );
    this.keyNote = h("span.hint");
    this.fields.reasoning_effort = h(
      "select",
      { name: "reasoning_effort", onchange: () => this.onChange() },
      EFFORTS.map((effort) => h("option", { value: effort }, effort || t("server default"))),
    );
    this.fields.pictures = h("input", { type: "checkbox", name: "pictures", onchange: () => this.onChange() });
    this.pictured = Object.fromEntries(
      Object.keys(PICTURED_KINDS).map((kind) => [
        kind,
        h("input", { type: "checkbox", name: t("picture {kind}", { kind }), onchange: () => this.onChange() }),
      ]),
    );
    this.radios = Object.fromEntries(
      SERVICE_CHOICES.map(([name]) => [
        name,
        h("input", {
          type: "radio",
          name: "service",
          value: name,
          onchange: () => {
            this.service = name;
            this.draw();
            this.onChange();
          },
        }),
      ]),
    );
    this.server = h(
      "div.fields",
      {},
      row(
        t("Server"),
        field("base_url", { type: "url", placeholder: "https://api.openai.com/v1", list: "model-places" }),
      ),
      h(
        "datalist",
        { id: "model-places" },
        Object.entries(SERVERS)
          .filter(([url]) => url)
          .map(([url, name]) => h("option", { value: url }, name)),
      ),
      h(
        "div.row",
        {},
        h("label.name", { for: "model-key" }, t("Key")),
        h("span.pair", {}, Object.assign(this.key, { id: "model-key" }), this.dropKey),
        this.keyNote,
      ),
      row(t("Model"), field("model", { placeholder: "gpt-4o" }), t("Describes and matches objects, proposes tasks")),
      row(
        t("Model for code"),
        field("code_model", { placeholder: t("same as model") }),
        t("Writes and repairs programs"),
      ),
      h(
        "label.tick",
        {},
        this.fields.pictures,
        t("Send object pictures"),
        h("span.hint", {}, t("If off, objects are described and matched by measurement only")),
      ),
      h(
        "div.pairs",
        {},
        row(
          t("Budget, USD"),
          number("ceiling_usd", { placeholder: t("no limit") }),
          t("Per project; calls stop before it is exceeded"),
        ),
        row(t("Timeout per call, s"), number("timeout")),
      ),
      h(
        "details",
        {},
        h("summary", {}, t("Advanced")),
        h(
          "div.pairs",
          {},
          row(t("USD per million input tokens"), number("usd_per_million_in", { placeholder: t("price list") })),
          row(t("USD per million output tokens"), number("usd_per_million_out", { placeholder: t("price list") })),
          row(t("Temperature"), number("temperature", { max: "2", placeholder: t("server default") })),
          row(t("Reasoning effort"), this.fields.reasoning_effort),
          row(t("Parallel calls"), number("concurrency", { step: "1" })),
          row(t("Retries when busy"), number("retries", { step: "1" })),
          row(t("Maximum answer, tokens"), number("longest_answer", { step: "1" })),
          row(t("Picture size, px"), number("picture_side", { step: "1" })),
          row(t("Solved examples"), number("examples", { step: "1", max: "10" }), t("Sent when a program is written")),
          row(t("Pause after failures"), number("give_up_after", { step: "1" })),
          row(t("Pause, s"), number("rest")),
        ),
        h(
          "fieldset.pictured",
          {},
          h("legend", {}, t("Photograph with numbered objects goes along with")),
          Object.entries(PICTURED_KINDS).map(([kind, title]) => h("label.tick", {}, this.pictured[kind], title)),
        ),
      ),
    );
    this.recordName = h("span.hint");
    this.replay = h(
      "div.fields",
      {},
      h(
        "div.row",
        {},
        h("span.name", {}, t("Record")),
        h(
          "span.pair",
          {},
          h(
            "button.studio-button",
            { type: "button", onclick: () => this.ownRecord && this.chooseRecord(this.ownRecord, t("this project")) },
            t("Use this project"),
          ),
          h(
            "label.studio-button",
            {},
            t("Choose file …"),
            h("input", {
              type: "file",
              accept: ".jsonl",
              hidden: true,
              onchange: async (event) => {
                const [file] = event.target.files;
                if (file) this.chooseRecord(await this.upload(file), file.name);
              },
            }),
          ),
          this.recordName,
        ),
      ),
    );
    this.element = h(
      "form.form",
      { autocomplete: "off", onsubmit: (event) => event.preventDefault() },
      h(
        "div.services",
        { role: "radiogroup", "aria-label": t("Model service") },
        SERVICE_CHOICES.map(([name, title, about]) =>
          h("label.service", {}, this.radios[name], h("span", {}, h("strong", {}, title), h("span.hint", {}, about))),
        ),
      ),
      this.server,
      this.replay,
    );
  }

  chooseRecord(trace, name) {
    this.trace = trace;
    this.recordName.textContent = name;
    this.onChange();
  }

  // Shows the settings in use and discards unsaved edits.
  show(settings, keyFrom, ownRecord) {
    this.service = settings.service;
    this.trace = settings.trace ?? "";
    this.ownRecord = ownRecord;
    this.recordName.textContent = this.trace
      ? this.trace === ownRecord
        ? t("this project")
        : this.trace.split("/").at(-1)
      : t("none chosen");
    for (const [name, input] of Object.entries(this.fields))
      if (input.type === "checkbox") input.checked = Boolean(settings[name]);
      else input.value = settings[name] ?? "";
    const sent = (settings.pictures_for ?? "all").split(/[\s,]+/);
    for (const [kind, box] of Object.entries(this.pictured)) box.checked = sent.includes("all") || sent.includes(kind);
    this.key.value = "";
    this.key.placeholder =
      { typed: t("••••••••  in memory"), environment: t("••••••••  from OPENAI_API_KEY") }[keyFrom] ?? t("none");
    this.keyNote.textContent =
      keyFrom === "typed"
        ? t("In server memory only; deleted when the studio stops.")
        : (KEY_NOTES[keyFrom] ?? KEY_NOTES[""]);
    this.dropKey.hidden = keyFrom !== "typed";
    this.draw();
  }

  draw() {
    for (const [name, radio] of Object.entries(this.radios)) radio.checked = name === this.service;
    this.server.hidden = this.service !== "openai";
    this.replay.hidden = this.service !== "replay";
  }

  // All settings as typed; the key only if one was typed.
  get request() {
    const settings = { service: this.service, trace: this.trace ?? "" };
    for (const [name, input] of Object.entries(this.fields))
      settings[name] = input.type === "checkbox" ? input.checked : input.value.trim();
    const sent = Object.keys(this.pictured).filter((kind) => this.pictured[kind].checked);
    const all = sent.length === Object.keys(this.pictured).length;
    settings.pictures_for = all ? "all" : sent.join(" ") || "none";
    return { settings, ...(this.key.value ? { key: this.key.value } : {}) };
  }
}
