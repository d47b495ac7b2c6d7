import { fill, h } from "/static/studio/dom.js";

const SERVICES = [
  ["offline", "Written rules", "Works without a key and without a network. No language model: it says so wherever it answered."],
  ["openai", "A model on a server", "OpenAI's own service, or any server that speaks its API: vLLM, Ollama, llama.cpp, LM Studio, Azure."],
  ["replay", "A recorded run", "Gives every question its answer from a trace.jsonl: no key, no network, nothing to pay."],
];
const PLACES = { "": "OpenAI", "http://127.0.0.1:11434/v1": "Ollama", "http://127.0.0.1:1234/v1": "LM Studio", "http://127.0.0.1:8000/v1": "vLLM", "http://127.0.0.1:8080/v1": "llama.cpp" };
const EFFORTS = ["", "none", "minimal", "low", "medium", "high", "xhigh"];
const KEYS = { typed: "A key is in memory. Type another to replace it.", environment: "Taken from OPENAI_API_KEY. Type another to use that.", "": "Not needed by most servers of your own" };

// Fields for every setting; `changed` is called whenever a person changes one.
export class Form {
  constructor(changed, forget, upload) {
    Object.assign(this, { changed, forget, upload, fields: {}, service: "offline" });
    const field = (name, attributes) => (this.fields[name] = h("input", { name, autocomplete: "off", spellcheck: false, oninput: () => this.changed(), ...attributes }));
    const number = (name, attributes) => field(name, { type: "number", step: "any", min: "0", ...attributes });
    const row = (label, input, note) => h("label.row", {}, h("span.name", {}, label), input, note && h("span.hint", {}, note));
    this.key = h("input", { type: "password", name: "key", autocomplete: "new-password", spellcheck: false, oninput: () => this.changed() });
    this.dropKey = h("button.studio-button", { type: "button", title: "The studio forgets the key at once", onclick: () => this.forget() }, "Forget");
    this.keyNote = h("span.hint");
    this.fields.reasoning_effort = h("select", { name: "reasoning_effort", onchange: () => this.changed() }, EFFORTS.map((one) => h("option", { value: one }, one || "the server's own")));
    this.fields.pictures = h("input", { type: "checkbox", name: "pictures", onchange: () => this.changed() });
    this.radios = Object.fromEntries(SERVICES.map(([name]) => [name, h("input", { type: "radio", name: "service", value: name, onchange: () => { this.service = name; this.draw(); this.changed(); } })]));
    this.server = h("div.fields", {},
      row("Server", field("base_url", { type: "url", placeholder: "https://api.openai.com/v1", list: "model-places" })), h("datalist", { id: "model-places" }, Object.entries(PLACES).filter(([url]) => url).map(([url, name]) => h("option", { value: url }, name))),
      h("div.row", {}, h("label.name", { for: "model-key" }, "Key"), h("span.pair", {}, Object.assign(this.key, { id: "model-key" }), this.dropKey), this.keyNote),
      row("Model", field("model", { placeholder: "gpt-4o" }), "Looks at pictures, proposes tasks"),
      row("Model for code", field("code_model", { placeholder: "the same" }), "Writes and repairs programs"),
      h("label.tick", {}, this.fields.pictures, "Show it pictures of the objects", h("span.hint", {}, "Otherwise objects stay described and matched as measured")),
      h("div.pairs", {}, row("At most, USD", number("ceiling_usd", { placeholder: "no ceiling" }), "For one project; never crossed"), row("One call, seconds", number("timeout"))),
      h("details", {}, h("summary", {}, "Price, temperature, limits"),
        h("div.pairs", {}, row("USD per million tokens in", number("usd_per_million_in", { placeholder: "the price list's" })), row("… and out", number("usd_per_million_out", { placeholder: "the price list's" })),
          row("Temperature", number("temperature", { max: "2", placeholder: "the server's own" })), row("Reasoning effort", this.fields.reasoning_effort),
          row("Calls at once", number("concurrency", { step: "1" })), row("Asked again when busy", number("retries", { step: "1" })),
          row("Longest answer, tokens", number("longest_answer", { step: "1" })), row("Pictures, pixels", number("picture_side", { step: "1" })),
          row("Left alone after failures", number("give_up_after", { step: "1" })), row("… for seconds", number("rest")))));
    this.recordName = h("span.hint");
    this.replay = h("div.fields", {}, h("div.row", {}, h("span.name", {}, "Record"), h("span.pair", {}, h("button.studio-button", { type: "button", onclick: () => this.own && this.choose(this.own, "this project's record") }, "This project's"),
      h("label.studio-button", {}, "A file …", h("input", { type: "file", accept: ".jsonl", hidden: true, onchange: async (event) => { const [file] = event.target.files; if (file) this.choose(await this.upload(file), file.name); } })), this.recordName)));
    this.element = h("form.form", { autocomplete: "off", onsubmit: (event) => event.preventDefault() },
      h("div.services", { role: "radiogroup", "aria-label": "Who answers" }, SERVICES.map(([name, title, about]) => h("label.service", {}, this.radios[name], h("span", {}, h("strong", {}, title), h("span.hint", {}, about))))), this.server, this.replay);
  }

  choose(trace, name) {
    this.trace = trace;
    this.recordName.textContent = name;
    this.changed();
  }

  // What the server keeps; a person's unsent changes are replaced.
  show(settings, keyFrom, own) {
    this.service = settings.service;
    this.trace = settings.trace ?? "";
    this.own = own;
    this.recordName.textContent = this.trace ? (this.trace === own ? "this project's record" : this.trace.split("/").at(-1)) : "none chosen yet";
    for (const [name, input] of Object.entries(this.fields))
      input.type === "checkbox" ? (input.checked = Boolean(settings[name])) : (input.value = settings[name] ?? "");
    this.key.value = "";
    this.key.placeholder = { typed: "••••••••  in memory", environment: "••••••••  from OPENAI_API_KEY" }[keyFrom] ?? "none";
    this.keyNote.textContent = keyFrom === "typed" ? "In this server's memory only; gone when the studio stops." : KEYS[keyFrom] ?? KEYS[""];
    this.dropKey.hidden = keyFrom !== "typed";
    this.draw();
  }

  draw() {
    for (const [name, radio] of Object.entries(this.radios)) radio.checked = name === this.service;
    this.server.hidden = this.service !== "openai";
    this.replay.hidden = this.service !== "replay";
  }

  // Every setting as typed; the key only where one was typed.
  get said() {
    const settings = { service: this.service, trace: this.trace ?? "" };
    for (const [name, input] of Object.entries(this.fields)) settings[name] = input.type === "checkbox" ? input.checked : input.value.trim();
    return { settings, ...(this.key.value ? { key: this.key.value } : {}) };
  }
}
