// The Learn page: policies for the subtasks of a task, trained, measured and played. See components/learn_page.py.
import { closeLearn, learnOpen, onLearn } from "/static/learn/learn_state.js";
import { TrainingControls } from "/static/learn/controls.js";
import { AblationPlot, TrainingCurves } from "/static/learn/curves.js";
import { EpisodePlayer } from "/static/learn/episode_player.js";
import { RewardEditor } from "/static/learn/reward_editor.js";
import {
  failures,
  hasCurve,
  noCurveText,
  policies,
  proposal,
  shortcut,
  summary,
  tunedText,
} from "/static/learn/outcome.js";
import { strip } from "/static/learn/strip.js";
import { closeButton, coverPage } from "/static/studio/full_page.js";
import { isActive, onJobs } from "/static/studio/jobs.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";
import { batch, classes, html, mounts, signal, View } from "/static/studio/view.js";

const LISTED_EPISODES = 40;
const EVALUATION = null; // in place of a checkpoint's steps

class LearnPage extends View {
  record = signal(/** @type {any} */ (null));
  chosen = signal(""); // name of the subtask
  checkpoint = signal(/** @type {number | null} */ (EVALUATION)); // steps
  episodes = signal(/** @type {any[]} */ ([]));
  error = signal("");
  playsFirst = false; // the first episode, as soon as it is known: the page or a subtask was opened
  loaded = ""; // the subtask whose episodes were asked for

  constructor(context) {
    super(context);
    this.ask = asker(this.server, () => ({ token: this.value.project }));
    const showError = (text) => (this.error.value = text ?? "");
    this.showError = showError;
    this.curves = new TrainingCurves((steps) => this.choose(steps));
    this.ablation = new AblationPlot();
    this.controls = new TrainingControls((request) => this.act(request));
    this.player = new EpisodePlayer((...episode) => this.play(...episode), showError);
    this.reward = new RewardEditor((edit) => this.act({ kind: "edit", subtask: this.chosen.value, ...edit }));
    this.refresh = onJobs(this.root, "training", () => this.look());
    const page = { isOpen: learnOpen, close: closeLearn, on: onLearn };
    coverPage(this.root, this.root, page, () => this.refresh());
    this.onValue((value, before) => this.takeValue(value, before));
  }

  takeValue(value, { project, decided, layouts }) {
    if (value.project !== project) {
      this.record.value = null;
      this.openSubtask("");
      if (!value.project) closeLearn();
    }
    if (value.project !== project || value.decided !== decided || value.layouts !== layouts) this.refresh();
  }

  get subtask() {
    const subtasks = this.record.value?.subtasks ?? [];
    return subtasks.find((one) => one.name === this.chosen.value) ?? subtasks[0];
  }

  get isRunning() {
    return isActive(this.record.value?.job);
  }

  get mayChange() {
    return this.value.may_work && !this.isRunning;
  }

  // ---------------------------------------------------------------- requests

  async look() {
    if (!learnOpen() || !this.value.project) return;
    const answer = await this.ask({ kind: "status" });
    if (!answer.isUnanswered) this.take(answer); // else the bar over the page says so
  }

  async act(request) {
    this.take(await this.ask(request));
    if (this.isRunning) this.refresh();
    if (["edit", "fix", "take"].includes(request.kind)) this.send("changed"); // a decision, which Undo names
  }

  take(answer) {
    if (answer.error) return this.showError(answer.error);
    const { job, install, ablation, fault } = answer,
      hasEnded = this.isRunning && job?.state === "done" && !["ablation", "reflect"].includes(job.kind),
      isCompared = JSON.stringify(ablation) !== JSON.stringify(this.record.value?.ablation);
    batch(() => {
      this.record.value = answer;
      if (hasEnded) this.checkpoint.value = EVALUATION; // where there is one
      if (install) this.showError(t("Training needs extra packages: {command}", { command: install }));
      else this.showError(job?.state === "failed" ? job.message : fault);
    });
    if (isCompared && ablation?.rows?.length) this.plot(this.ablation, ablation);
    this.load(hasEnded);
  }

  plot(plot, data) {
    plot.show(data).catch((error) => this.showError(error.message));
  }

  // Shows the curves of the chosen subtask and asks for its episodes, if it is another one or was learned further.
  async load(playsFirst = false) {
    const one = this.subtask,
      wanted = JSON.stringify(one) ?? "";
    this.chosen.value = one?.name ?? "";
    if (one && wanted !== this.loaded) {
      this.loaded = wanted;
      const { measured, checkpoints } = one,
        steps = this.checkpoint.value;
      if (hasCurve(one)) this.plot(this.curves, one);
      if (steps === EVALUATION ? !measured : !checkpoints.includes(steps))
        this.checkpoint.value = checkpoints.at(-1) ?? EVALUATION;
    } else if (!playsFirst) return;
    this.playsFirst ||= playsFirst;
    if (!(await this.loadEpisodes())) return;
    if (this.playsFirst) this.playFirst();
    this.playsFirst = false;
  }

  /** Returns whether they are still wanted. */
  async loadEpisodes() {
    const { name } = this.subtask,
      answer = await this.ask({ kind: "episodes", subtask: name, steps: this.checkpoint.value });
    if (name !== this.chosen.value) return false;
    this.episodes.value = answer.episodes ?? [];
    return true;
  }

  playFirst() {
    const [first] = this.episodes.value;
    if (first) this.play(first.layout);
  }

  play(layout, time = 0, oracle = false) {
    const steps = this.checkpoint.value;
    return this.player.show(this.ask({ kind: "play", subtask: this.chosen.value, steps, layout, time, oracle }));
  }

  playEvaluated(layout, time) {
    this.checkpoint.value = EVALUATION;
    this.loadEpisodes();
    this.play(layout, Math.max(0, time - 1));
  }

  openSubtask(name) {
    this.chosen.value = name;
    this.checkpoint.value = EVALUATION;
    this.loaded = "";
    this.playsFirst = true;
    this.player.clear();
    this.load();
  }

  async choose(steps) {
    if (!this.subtask?.checkpoints.includes(steps)) return;
    this.checkpoint.value = steps;
    if (await this.loadEpisodes()) this.playFirst();
  }

  // ---------------------------------------------------------------- what is shown

  template() {
    const record = this.record.value,
      one = this.subtask,
      learning = this.isRunning && record.job.subtask;
    return html`<div class="full-page-head">
        <h2>${t("Learn")}</h2>
        <p class="summary">${record && summary(record)}</p>
        <span class="state" role="status">
          ${record?.preparing && html`<i class="spin" /> ${t("Splitting the task into subtasks")}`}
        </span>
        ${closeButton(t("Close the Learn page"), closeLearn)}
      </div>
      <div class="learn-bar">
        ${strip(record?.subtasks ?? [], one?.name, learning, (name) => this.openSubtask(name))}
        ${this.controls.template(record, one, this.value.may_work)}
      </div>
      <div class="full-page-body">
        <div class="stage">${this.stage(one, record?.ablation)}</div>
        <aside class="full-page-side">
          <section class="reward" key=${one?.name}>${one && this.reward.template(one, this.mayChange)}</section>
          <section class="failures">${one && failures(one, this)}</section>
        </aside>
      </div>`;
  }

  stage(one, ablation) {
    return html`<p class="fault" role="alert" hidden=${!this.error.value}>${this.error.value}</p>
      ${shortcut(one?.shortcut, this)} ${proposal(one?.proposal, this)}
      <h3>${t("Training")}</h3>
      <p class="muted empty" hidden=${!one || hasCurve(one)}>${one && noCurveText(one)}</p>
      ${this.curves.template(!one || !hasCurve(one))}
      <p class="muted" hidden=${!one?.tuned}>${one?.tuned && tunedText(one.tuned)}</p>
      ${this.evaluation(one)}
      ${this.player.template()}
      <section class="ablation" hidden=${!ablation?.rows?.length}>
        <h3>${t("What each part was worth")}</h3>
        ${this.ablation.template()}
      </section>`;
  }

  // The episodes of a checkpoint, or of the evaluation.
  evaluation(one) {
    const options = one ? policies(one) : [];
    const change = ({ target }) => {
      this.checkpoint.value = target.value === "" ? EVALUATION : Number(target.value);
      this.loadEpisodes();
    };
    return html`<section hidden=${!options.length}>
      <h3>${t("Episodes")}</h3>
      <div class="episodes">
        ${
          options.length > 0 &&
          html`<label class="setting flow">${t("Policy")}
            <select aria-label=${t("Checkpoint")} value=${this.checkpoint.value ?? ""} onchange=${change}>
              ${options.map(([steps, label]) => html`<option value=${steps ?? ""}>${label}</option>`)}
            </select>
          </label>`
        }
        ${this.episodes.value.slice(0, LISTED_EPISODES).map((episode) => this.episode(episode))}
      </div>
    </section>`;
  }

  episode({ layout, success }) {
    const isPlayed = this.player.played.value?.layout === layout,
      title = t("Play layout {layout}", { layout });
    return html`<button class=${classes("episode", success ? "good" : "bad", isPlayed && "on")} title=${title}
      aria-label=${`${title}: ${success ? t("solved") : t("not solved")}`} onclick=${() => this.play(layout)}>
      ${success ? "✓" : "✗"}</button>`;
  }
}

export default mounts(LearnPage);
