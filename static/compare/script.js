// The Compare page: a real and a simulated episode on one clock. See components/compare_page.py.
import { closeCompare, compareOpen, onCompare } from "/static/compare/compare_state.js";
import { eventStrip } from "/static/compare/event_strip.js";
import { Plots } from "/static/compare/plots.js";
import { Sources } from "/static/compare/sources.js";
import { eventTable, jointTable, phaseTable, summary } from "/static/compare/tables.js";
import { closeButton, coverPage } from "/static/studio/full_page.js";
import { onJobs, stopJob } from "/static/studio/jobs.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";
import { batch, html, mounts, Placed, signal, View } from "/static/studio/view.js";
import { Viewers } from "/static/viewer/frame/viewers.js";

const ALIGNMENTS = {
  clock: t("From the first sample"),
  motion: t("From the first motion"),
  dtw: t("Dynamic time warping"),
  none: t("Times as they are"),
};

class Compare extends View {
  job = signal(/** @type {any} */ (null)); // the newest answer about the work
  done = signal(/** @type {any} */ (null)); // the one whose result is shown
  joint = signal(""); // that is plotted
  pictures = signal(/** @type {any[]} */ ([])); // of the events
  report = signal(""); // the job that it is of; "" while there is none
  error = signal("");
  align = signal("clock");

  constructor(context) {
    super(context);
    this.ask = asker(this.server, () => ({ page_token: this.value.page_token }));
    this.sources = new Sources((selection) => this.job.value?.job && !this.isRunning && this.again({ selection }));
    this.plots = new Plots((time) => this.seek(time));
    this.viewers = new Viewers((time) => this.plots.setTime(time));
    this.viewers.show([]);
    this.lookAgain = onJobs(this.root, "comparison", () => this.look());
    const page = { isOpen: compareOpen, close: closeCompare, on: onCompare };
    coverPage(this.root, this.root, page, () => this.job.value || this.run({ kind: "sample" }));
  }

  get isRunning() {
    return this.job.value?.state === "running";
  }

  seek = (time) => {
    this.plots.setTime(time);
    this.viewers.seek(time);
  };

  // ---------------------------------------------------------------- running a comparison

  async run(request) {
    const align = this.align.value;
    this.job.value = { state: "running", message: t("Starting") };
    this.error.value = "";
    let files = {};
    try {
      if (request.kind === "compare") files = await this.sources.upload(this.upload);
    } catch (/** @type {any} */ error) {
      return this.fail(error.message);
    }
    this.follow(await this.ask({ ...request, ...files, align }));
  }

  again(changes = {}) {
    this.run({ kind: "again", job: this.job.value.job, ...changes });
  }

  fail(text) {
    this.job.value = null;
    this.error.value = text;
  }

  // Asks how far the comparison is, or for the pictures that follow its result.
  async look() {
    const token = this.job.value?.job,
      isShown = this.done.value?.job === token;
    if (!token || this.report.value === token) return;
    if (this.isRunning) {
      const job = await this.ask({ kind: "status", job: token });
      if (this.job.value?.job === token) this.take(job);
    } else if (isShown) await this.askPictures(token);
  }

  follow(job) {
    this.take(job);
    if (this.isRunning) this.lookAgain();
  }

  take(job) {
    if (!job.state) return this.fail(job.error);
    batch(() => {
      this.job.value = job;
      if (job.state !== "running") this.sources.offerChoices(job.choices);
      if (job.state === "failed") this.error.value = job.message;
    });
    if (job.state === "done") this.showResult(job);
  }

  showResult(job) {
    const { result, titles, views } = job,
      { arms, events, onset } = result.comparison;
    const joints = Object.values(arms).flatMap((arm) => arm.joints),
      widest = joints.reduce((a, b) => (b.rmse / b.range > a.rmse / a.range ? b : a));
    batch(() => {
      this.done.value = job;
      this.joint.value = onset?.joint ?? widest.name;
      this.pictures.value = [];
      this.report.value = "";
    });
    const ghost = t("Real, with the simulated robot as a blue ghost"),
      pane = (name, title) => ({ name, title, token: views[name] });
    if (views.real) this.viewers.show([pane("real", titles[0]), pane("sim", titles[1])], pane("ghost", ghost));
    else this.viewers.show([]);
    this.plots.time = events[0]?.time_s ?? 0;
    this.plots.show(result, this.joint.value).catch((error) => (this.error.value = error.message));
    this.lookAgain();
  }

  /** Shows the pictures of the events once they are drawn. */
  async askPictures(token) {
    const { error, pictures } = await this.ask({ kind: "pictures", job: token });
    if (this.job.value?.job !== token) return;
    if (error) this.error.value = error;
    else if (pictures)
      batch(() => {
        this.pictures.value = pictures;
        this.report.value = token;
      });
  }

  // ---------------------------------------------------------------- what is shown

  template() {
    const done = this.done.value;
    return html`<div class="full-page-head">
        <h2>${t("Compare")}</h2>
        <p class="summary">
          ${done && html`<strong>${done.titles.join(" · ")}. </strong>${summary(done.result.comparison)}`}
        </p>
        <span class="state" role="status">${this.state()}</span>
        ${this.viewers.layoutChoice()}
        <a class="studio-button report" hidden=${!this.report.value} download="report.html"
          href=${this.report.value && `compare/${this.report.value}/report.html`}
          title=${t("Everything on this page in one file")}>${t("⤓ Report")}</a>
        ${closeButton(t("Close the comparison"), closeCompare)}
      </div>
      <div class="full-page-body">
        <div class="stage">${this.stage(done)}</div>
        <aside class="full-page-side">${this.side(done)}</aside>
      </div>`;
  }

  state() {
    const job = this.job.value;
    if (job?.state === "stopped") return t("Stopped.");
    if (!this.isRunning) return null;
    return html`<i class="spin" /> ${job.message}${" "}
      ${
        job.job &&
        html`<button class="studio-button stop" data-act="stop"
          onclick=${() => stopJob(job.job)}>${t("■ Stop")}</button>`
      }`;
  }

  stage(done) {
    const note = done ? noteOf(done) : "";
    return html`<p class="fault" role="alert" hidden=${!this.error.value}>${this.error.value}</p>
      <p class="note muted" hidden=${!note}>${note}</p>
      ${this.viewers.template()}
      ${done && html`<${Placed} element=${this.plots.element} />`}
      ${eventStrip(done?.result.comparison.events, this.pictures.value, this.seek)}`;
  }

  side(done) {
    return html`${this.sources.template(this.value)}
      <div class="actions flow">
        <label class="align flow">${t("Align")}${this.alignmentMenu()}</label>
        <button class="studio-button primary" data-act="compare" data-sends="compare.compare"
          disabled=${this.isRunning || !this.sources.complete} onclick=${() => this.run({ kind: "compare" })}>
          ${t("Compare")}</button>
      </div>
      <button class="studio-button" data-act="sample" data-sends="compare.sample" disabled=${this.isRunning}
        onclick=${() => this.run({ kind: "sample" })}>${t("Open the sample pair")}</button>
      <div class="tables">${done && this.tables(done.result.comparison)}</div>`;
  }

  alignmentMenu() {
    const change = ({ target }) => {
      this.align.value = target.value;
      if (this.job.value?.state === "done") this.again();
    };
    return html`<select aria-label=${t("Time alignment")} value=${this.align.value} disabled=${this.isRunning}
      onchange=${change}>
      ${Object.entries(ALIGNMENTS).map(([name, title]) => html`<option value=${name}>${title}</option>`)}
    </select>`;
  }

  tables(comparison) {
    const select = (name) => {
      this.joint.value = name;
      this.plots.select(name);
    };
    return html`<h3>${t("Joints")}</h3>
      ${jointTable(comparison, this.joint.value, select)}
      <h3>${t("Error growth by phase")}</h3>
      ${phaseTable(comparison)}
      <h3>${t("Events")}</h3>
      ${eventTable(comparison, this.seek)}`;
  }
}

// What a person should know about the result.
function noteOf({ result, views, note, has_robot }) {
  const missing = has_robot
    ? t("A table of DH parameters has no shapes; give an MJCF or URDF to see the robots move.")
    : t("Add the robot's MJCF or URDF to see both robots move, and the errors of their tools.");
  return [views.real ? note : missing, ...result.notes].filter(Boolean).join(" · ");
}

export default mounts(Compare);
