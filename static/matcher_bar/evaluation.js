// Dialog that evaluates the matchers on labelled frames and shows a table of their scores.
import { scoreTable } from "/static/matcher_bar/score_table.js";
import { onJobs, stopJob } from "/static/studio/jobs.js";
import { t } from "/static/studio/texts.js";
import { batch, classes, html, signal } from "/static/studio/view.js";

const PLAN_DELAY_MS = 400;
const FRAMES_HINT = t(
  "Folder on the machine that runs the studio. Each frame in it has truth/masks.png and truth/truth.json.",
);
const TRUTH_HINT = t(
  'JSON: {"frames": {name: [{"id", "exact": [asset], "category": [asset]}]}}. Default: assets.json there.',
);

export class MatcherEvaluation {
  input = signal({ frames: "", truth: "", libraries: "", masks: "own" });
  off = signal(/** @type {Set<string>} */ (new Set())); // names of matchers to leave out
  plan = signal("");
  problem = signal("");
  state = signal(/** @type {any} */ ({ running: false, table: null })); // of the evaluation
  timer = 0;

  /** @param {any} bar */
  constructor(bar, ask) {
    this.bar = bar;
    this.ask = ask;
    this.look = onJobs(bar.root, "scoring", () => this.readState());
  }

  /** @returns {HTMLDialogElement} */
  get dialog() {
    return this.bar.root.querySelector("dialog");
  }

  get matchers() {
    return this.bar.value.matchers ?? [];
  }

  open() {
    this.dialog.showModal();
    this.dialog.querySelector("input").focus();
    this.look();
  }

  get settings() {
    const matchers = this.matchers.filter(({ name, unavailable }) => !unavailable && !this.off.value.has(name));
    return { ...this.input.value, matchers: matchers.map(({ name }) => name) };
  }

  set(state, value) {
    state.value = value;
    this.plan.value = this.problem.value = "";
    clearTimeout(this.timer);
    if (this.input.value.frames.trim())
      this.timer = setTimeout(
        async () => this.takeAnswer(await this.ask({ kind: "plan", ...this.settings })),
        PLAN_DELAY_MS,
      );
  }

  takeAnswer({ error = "", plan = "" }) {
    batch(() => {
      this.problem.value = error;
      this.plan.value = plan;
    });
  }

  async start() {
    const answer = await this.ask({ kind: "start", ...this.settings });
    if (answer.error) return this.takeAnswer(answer);
    this.problem.value = "";
    this.look();
  }

  async readState() {
    if (!this.dialog?.open) return;
    const answer = await this.ask({ kind: "state" });
    if ("running" in answer) this.state.value = answer;
    else this.problem.value = answer.error ?? "";
  }

  async download(form) {
    const answer = await this.ask({ kind: "download", form });
    if (answer.error) return this.takeAnswer(answer);
    const href = `data:application/octet-stream;base64,${answer.data}`;
    Object.assign(document.createElement("a"), { href, download: answer.name }).click();
  }

  template() {
    const { table } = this.state.value;
    return html`<dialog aria-label=${t("Evaluate matchers")}>
      <div class="head"><strong>${t("Evaluate matchers")}</strong>
        <button class="studio-button plain" title=${t("Close (Esc)")} aria-label=${t("Close")}
          onclick=${() => this.dialog.close()}>✕</button></div>
      <div class="body">
        <p class="lead">${t("Measures each matcher on frames with labelled objects, as in table 1 of the GRS paper.")}
          ${" "}${t("Runs in the background; you can close this dialog.")}</p>
        ${this.fields()}
        ${this.foot()}
        <div>${table && this.result(table)}</div>
      </div>
    </dialog>`;
  }

  fields() {
    const library = this.bar.value.library ?? t("the library in use");
    return html`<div class="fields">
      ${this.field("frames", t("Labelled frames"), FRAMES_HINT, "/data/frames")}
      ${this.field("truth", t("Correct assets"), TRUTH_HINT, "/data/frames/assets.json")}
      ${this.field("libraries", t("Libraries"), t("Folders of assets, one per line. Default: {library}.", { library }))}
      <span class="name">${t("Masks")}</span>
      <div class="side">${this.masks("own", t("From the segmenter"))}${this.masks("true", t("Ground truth"))}</div>
      <span class="name">${t("Matchers")}</span>
      <div class="ticks">${this.matchers.map((matcher) => this.matcherBox(matcher))}</div>
    </div>`;
  }

  field(name, title, hint, placeholder = "") {
    const id = `score-${name}`,
      type = ({ target }) => this.set(this.input, { ...this.input.value, [name]: target.value }),
      [tag, attributes] = name === "libraries" ? ["textarea", { rows: "1" }] : ["input", { type: "text" }];
    return html`<label class="name" for=${id}>${title}</label>
      <div><${tag} id=${id} ...${attributes} spellcheck=${false} placeholder=${placeholder}
        value=${this.input.value[name]} oninput=${type} /><p class="hint">${hint}</p></div>`;
  }

  masks(name, title) {
    return html`<label class="tick">
      <input type="radio" name="score-masks" value=${name} checked=${this.input.value.masks === name}
        onchange=${() => this.set(this.input, { ...this.input.value, masks: name })} />${title}
    </label>`;
  }

  matcherBox({ name, title, about, unavailable }) {
    const others = [...this.off.value].filter((one) => one !== name),
      tick = ({ target }) => this.set(this.off, new Set(target.checked ? others : [...others, name]));
    return html`<label class=${classes("tick", unavailable && "off")}>
      <input type="checkbox" disabled=${Boolean(unavailable)} checked=${!unavailable && !this.off.value.has(name)}
        onchange=${tick} /><span>${title} <span class="muted">${unavailable || about}</span></span>
    </label>`;
  }

  foot() {
    const { running, message, error, table } = this.state.value,
      problem = this.problem.value || error,
      isStopped = !running && message?.startsWith("stopped");
    return html`<div class="actions flow">
      ${running ? this.progress() : this.startButton(table)}
      ${!running && !isStopped && this.plan.value && html`<span class="muted">${this.plan.value}</span>`}
      ${isStopped && html`<span class="tag warn" role="status">${message[0].toUpperCase() + message.slice(1)}</span>`}
      ${problem && html`<p class="fault" role="alert" style="flex:1 1 100%">${problem}</p>`}
    </div>`;
  }

  startButton(table) {
    return html`<button class="studio-button primary" key="start" disabled=${!this.input.value.frames.trim()}
      data-sends="matcher-bar.start" onclick=${() => this.start()}>
      ${table ? t("Evaluate again") : t("Evaluate")}</button>`;
  }

  progress() {
    const { job, done, of, message } = this.state.value;
    return html`<button class="studio-button stop" key="stop" onclick=${() => stopJob(job)}>${t("■ Stop")}</button>
      <span class="progress flow" style="flex:1">
        <span class="track"><span class="fill" style=${`width:${of ? (100 * done) / of : 0}%`} /></span>
        <span class="muted" role="status">${of ? t("{done} of {of}: {message}", { done, of, message }) : message}</span>
      </span>`;
  }

  result(table) {
    return html`<p class="hint" style="margin-bottom:8px">${table.head}</p>
      ${scoreTable(table)}
      <p class="hint">${t("Dot: F1, with “no match” as a possible answer. Line: 95 % bootstrap interval over frames.")}
        ${" "}${t("Exact: the same product. Category: any acceptable asset of that category.")}</p>
      <div class="actions flow" style="margin-top:10px">
        <button class="studio-button" onclick=${() => this.download("csv")}>${t("Download CSV")}</button>
        <button class="studio-button" onclick=${() => this.download("json")}>${t("Download JSON")}</button>
      </div>`;
  }
}
