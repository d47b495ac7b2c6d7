// The drawer: labelled frames in, a table of every matcher out.
import { fill, h } from "/static/studio/dom.js";

const POLL = 500, LATER = 400;
const SAID = { frames: "", truth: "", libraries: "", masks: "own" };

export class Scores {
  constructor(ask) {
    Object.assign(this, { ask, value: {}, said: { ...SAID }, off: new Set(), plan: "", problem: "", state: { running: false, table: null } });
    this.foot = h("div.actions");
    this.result = h("div");
    this.form = h("div.fields");
    this.element = h("dialog", { "aria-label": "Score the matchers" },
      h("div.head", {}, h("strong", {}, "Score the matchers"), h("button.studio-button.plain", { title: "Close (Esc)", "aria-label": "Close", onclick: () => this.element.close() }, "✕")),
      h("div.body", {},
        h("p.lead", {}, "How often each matcher is right on frames whose objects somebody labelled: table 1 of the GRS paper, on your own photographs. It works in the background; the drawer may be closed meanwhile."),
        this.form, this.foot, this.result));
  }

  show(value) {
    const fresh = JSON.stringify(value.matchers) !== JSON.stringify(this.value.matchers) || value.library !== this.value.library;
    this.value = value;
    if (fresh) this.fields();
  }

  async open() {
    this.element.showModal();
    this.form.querySelector("input")?.focus();
    this.follow();
  }

  fields() {
    const text = (name, title, hint, placeholder, tag = "input") => [h("label.name", { for: `score-${name}` }, title), h("div", {},
      h(tag, { id: `score-${name}`, ...(tag === "input" ? { type: "text" } : { rows: "1" }), spellcheck: "false", placeholder, value: this.said[name], oninput: (event) => { this.said[name] = event.target.value; this.changed(); } }), h("p.hint", {}, hint))];
    const mask = (name, title) => h("label.tick", {}, h("input", { type: "radio", name: "score-masks", value: name, checked: this.said.masks === name, onchange: () => { this.said.masks = name; this.changed(); } }), title);
    fill(this.form,
      ...text("frames", "Labelled frames", "A folder on the machine that the studio runs on; each frame in it has truth/masks.png and truth/truth.json.", "/data/frames"),
      ...text("truth", "Right assets", "A JSON file: {\"frames\": {name: [{\"id\", \"exact\": [asset], \"category\": [asset]}]}}. Empty: assets.json in that folder.", "/data/frames/assets.json"),
      ...text("libraries", "Libraries", `Folders of assets, one a line. Empty: ${this.value.library ?? "the library in use"}.`, "", "textarea"),
      h("span.name", {}, "Masks"), h("div.side", {}, mask("own", "as the studio finds them"), mask("true", "the true ones")),
      h("span.name", {}, "Matchers"), h("div.ticks", {}, (this.value.matchers ?? []).map((one) => h(`label.tick${one.unavailable ? ".off" : ""}`, {},
        h("input", { type: "checkbox", disabled: Boolean(one.unavailable), checked: !one.unavailable && !this.off.has(one.name), onchange: (event) => { event.target.checked ? this.off.delete(one.name) : this.off.add(one.name); this.changed(); } }),
        h("span", {}, one.title, " ", h("span.muted", {}, one.unavailable || one.about))))));
    this.draw();
  }

  get words() {
    const matchers = (this.value.matchers ?? []).filter((one) => !one.unavailable && !this.off.has(one.name)).map((one) => one.name);
    return { ...this.said, matchers };
  }

  changed() {
    this.plan = this.problem = "";
    clearTimeout(this.timer);
    if (this.said.frames.trim()) this.timer = setTimeout(async () => this.take(await this.ask({ kind: "plan", ...this.words })), LATER);
    this.draw();
  }

  take(answer) {
    this.problem = answer.error ?? "";
    this.plan = answer.plan ?? "";
    this.draw();
  }

  async start() {
    const answer = await this.ask({ kind: "start", ...this.words });
    if (answer.error) return this.take(answer);
    this.problem = "";
    this.follow();
  }

  async follow() {
    const answer = await this.ask({ kind: "state" });
    if ("running" in answer) this.state = answer;
    else this.problem = answer.error ?? "";
    this.draw();
    if (this.state.running && this.element.open) setTimeout(() => this.follow(), POLL);
  }

  async download(form) {
    const answer = await this.ask({ kind: "download", form });
    if (answer.error) return this.take(answer);
    h("a", { href: `data:application/octet-stream;base64,${answer.data}`, download: answer.name }).click();
  }

  draw() {
    const { running, done, of, said, error, table } = this.state, stopped = !running && said?.startsWith("stopped");
    fill(this.foot,
      !running && h("button.studio-button.primary", { disabled: !this.said.frames.trim(), onclick: () => this.start() }, table ? "Score again" : "Score them"),
      running && h("button.studio-button.stop", { onclick: async () => { await this.ask({ kind: "stop" }); this.follow(); } }, "■ Stop"),
      running && h("span.progress", { style: "flex:1" }, h("span.track", {}, h("span.done", { style: `display:block;width:${of ? (100 * done) / of : 0}%` })), h("span.muted", { role: "status" }, of ? `${done} of ${of}: ${said}` : said)),
      !running && !stopped && this.plan && h("span.muted", {}, this.plan),
      stopped && h("span.tag.warn", { role: "status" }, said[0].toUpperCase() + said.slice(1)),
      (this.problem || error) && h("p.fault", { role: "alert", style: "flex:1 1 100%" }, this.problem || error));
    fill(this.result, table && [h("p.hint", { style: "margin-bottom:8px" }, table.head), drawn(table),
      h("p.hint", {}, "The dot is F1 with “no match” as an answer; the line is its 95 % interval, frames drawn again and again. Exact: the same product; category: anything of its kind that may stand in for it."),
      h("div.actions", { style: "margin-top:10px" }, h("button.studio-button", { onclick: () => this.download("csv") }, "Download CSV"), h("button.studio-button", { onclick: () => this.download("json") }, "Download JSON"))]);
  }
}

const two = (number) => (number === null || number === undefined ? "–" : number.toFixed(2));

function whisker(one) {
  if (one.f1 === null) return "–";
  const low = 100 * (one.low ?? one.f1), high = 100 * (one.high ?? one.f1);
  return h("span.whisker", { title: `F1 ${two(one.f1)}, 95 % interval ${two(one.low)} to ${two(one.high)}` }, two(one.f1),
    h("span.axis", {}, [0, 25, 50, 75, 100].map((at) => h("i", { style: `left:${at}%` })), h("span.span", { style: `left:${low}%;width:${high - low}%` }), h("span.dot", { style: `left:${100 * one.f1}%` })));
}

function drawn(table) {
  const best = Math.max(...table.lines.map((one) => one.exact?.f1 ?? 0));
  const row = (one) => one.unavailable ? h("tr.off", {}, h("td", {}, one.title), h("td", { colspan: "7" }, `not measured: it ${one.unavailable}`))
    : h(`tr${one.exact.f1 === best ? ".best" : ""}`, {}, h("td", {}, one.title), h("td", {}, whisker(one.exact)), h("td.number", {}, `${two(one.exact.first)} / ${two(one.exact.five)}`),
      h("td", {}, whisker(one.category)), h("td.number", {}, `${two(one.category.first)} / ${two(one.category.five)}`), h("td.number", {}, two(one.kept)), h("td.number", {}, `${one.seconds.toFixed(2)} s`), h("td", {}, one.asked || "–"));
  return h("table", {}, h("thead", {}, h("tr", {}, ["Matcher", "Exact", "first / of five", "Category", "first / of five", "no match kept", "an object", "model"].map((name) => h("th", {}, name)))), h("tbody", {}, table.lines.map(row)));
}
