// The Evaluate page: policies on the same conditions, and their episodes side by side. See components/evaluate_page.py.
import { fileButtons, send } from "/static/compare/sources.js";
import { Differences } from "/static/evaluate/differences.js";
import { episodes } from "/static/evaluate/episodes.js";
import { closeEvaluate, evaluateOpen, onEvaluate } from "/static/evaluate/evaluate_state.js";
import { filters, logOutcome, outcome, OutcomeGrid } from "/static/evaluate/outcomes.js";
import { PolicyForm } from "/static/evaluate/policy_form.js";
import { closeButton, coverPage } from "/static/studio/full_page.js";
import { isActive, onJobs } from "/static/studio/jobs.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";
import { html, mounts, onChange, signal, View } from "/static/studio/view.js";
import { Viewers } from "/static/viewer/frame/viewers.js";

class EvaluatePage extends View {
  record = signal(/** @type {any} */ (null)); // the server's newest answer about the evaluation
  chosen = signal(""); // condition that plays
  played = signal(/** @type {any} */ (null)); // its {condition, panes, values, log, buttons} once known
  filter = signal("all");
  error = signal("");
  made = signal(/** @type {any} */ (null)); // what became of what a person asked for
  refresh = onJobs(this.root, "evaluation", async () => {
    if (this.value.project && evaluateOpen()) await this.act({ kind: "status" });
  });

  constructor(context) {
    super(context);
    this.ask = asker(this.server, () => ({ token: this.value.project }));
    this.viewers = new Viewers((time) => this.differences.setTime(time));
    this.differences = new Differences(
      this.ask,
      (time) => this.viewers.seek(time),
      (text) => this.showError(text),
    );
    this.form = new PolicyForm((request) => this.act(request));
    this.grid = new OutcomeGrid((condition) => this.play(condition));
    onChange(
      this.root,
      () => this.value.project,
      (project) => this.takeProject(project),
    );
    const page = { isOpen: evaluateOpen, close: closeEvaluate, on: onEvaluate };
    coverPage(this.root, this.root, page, () => this.refresh());
  }

  takeProject(project) {
    this.record.value = this.played.value = null;
    this.chosen.value = "";
    this.filter.value = "all";
    this.viewers.show([]);
    this.differences.clear();
    if (!project) closeEvaluate();
    else if (evaluateOpen()) this.refresh();
  }

  showError(text) {
    this.error.value = text ?? "";
  }

  // Requests

  async act(request) {
    const { project } = this.value,
      answer = await this.ask(request);
    if (project !== this.value.project) return;
    this.showError(answer.error);
    if (!answer.error) this.take(answer);
    if (request.kind !== "status" && isActive(this.record.value?.job)) this.refresh();
  }

  take(answer) {
    if (!this.record.value && answer.shown) this.form.take(answer.shown);
    this.record.value = answer;
    if (answer.job?.state === "failed") this.showError(answer.job.message);
  }

  async play(condition) {
    this.chosen.value = condition;
    const answer = await this.ask({ kind: "play", condition });
    if (condition !== this.chosen.value) return;
    this.showError(answer.error);
    if (!answer.error) this.showEpisodes(answer);
  }

  showEpisodes({ condition, panes, values }) {
    const { conditions, policies, real } = this.record.value.shown,
      row = conditions.indexOf(condition);
    const ended = ({ title, is_real }) =>
      is_real ? logOutcome(real[row]) : outcome(policies.find(({ name }) => name === title).cells[row]);
    this.made.value = null;
    const buttons = fileButtons(t("Real log"), (files) => files.length && this.setLog(condition, files));
    this.played.value = { condition, panes, values, log: real?.[row], buttons };
    this.viewers.show(panes.map((pane) => ({ ...pane, title: `${pane.title} · ${ended(pane)}` })));
    this.differences.show(condition, panes);
  }

  /** Adds the files of a real robot's log to a condition, or removes its log if there are none. */
  async setLog(condition, picked) {
    this.made.value = picked.length ? t("Reading the log …") : null;
    try {
      const files = await Promise.all(picked.map((one) => send(one, this.upload)));
      await this.act(files.length ? { kind: "add_log", condition, files } : { kind: "remove_log", condition });
    } catch (error) {
      this.showError(/** @type {Error} */ (error).message);
    }
    this.made.value = null;
    if (condition === this.chosen.value && !this.error.value) this.play(condition);
  }

  async makeProject(condition) {
    const made = await this.ask({ kind: "make_project", condition });
    this.showError(made.error);
    if (made.error) return;
    const undo = async () => {
      const undone = await this.ask({ kind: "unmake_project", name: made.name });
      this.showError(undone.error);
      if (!undone.error) this.made.value = t("“{title}” is in the trash of the gallery.", made);
    };
    const text = t("“{title}” is in the gallery: a copy of this project with the twin of this condition.", made);
    this.made.value = html`${text}${" "}
      <a class="link" href="?project=${encodeURIComponent(made.name)}">${t("Open it")}</a>${" "}
      <button class="link" data-sends="evaluate.unmake_project" onclick=${undo}>${t("Undo")}</button>`;
  }

  // Drawing

  template() {
    const { shown, task } = this.record.value ?? {};
    return html`<div class="full-page-head">
        <h2>${t("Evaluate")}</h2>
        <span class="task clip">${task}</span>
        ${this.report()}
        ${closeButton(t("Close the Evaluate page"), closeEvaluate)}
      </div>
      <div class="full-page-body">
        <div class="stage">
          <p class="fault" role="alert" hidden=${!this.error.value}>${this.error.value}</p>
          ${this.words()}
          ${this.viewers.template()}
          ${this.differences.template()}
          <div class="about">${episodes(this)}</div>
        </div>
        <aside class="full-page-side">
          ${this.form.template(this.record.value, this.value)}
          ${shown && this.outcomes(shown)}
        </aside>
      </div>`;
  }

  report() {
    const { shown, job } = this.record.value ?? {};
    if (!shown?.report || isActive(job)) return null;
    const address = `project/${this.value.project}/evaluation.html`;
    return html`<a class="studio-button" href=${address} download="report.html">${t("⤓ Report")}</a>`;
  }

  words() {
    if (!this.record.value) return null;
    const { shown } = this.record.value,
      hint = shown
        ? t("Click an episode to watch it.")
        : t("Choose policies and evaluate them: each one is tried under the same conditions."),
      old = t("These episodes are of an earlier twin or task; evaluate again.");
    return html`${shown && !shown.is_present && html`<p class="warning">${old}</p>`}
      ${shown && html`<ul class="words">${shown.words.map((sentence) => html`<li>${sentence}</li>`)}</ul>`}
      ${!(shown && this.chosen.value) && html`<p class="muted empty">${hint}</p>`}`;
  }

  outcomes(shown) {
    const offered = filters(shown),
      kept = offered.find(({ name }) => name === this.filter.value) ?? offered[0];
    return html`<select aria-label=${t("Filter")} value=${kept.name}
        onchange=${({ target }) => (this.filter.value = target.value)}>
        ${offered.map(({ name, title }) => html`<option value=${name} key=${name}>${title}</option>`)}
      </select>
      ${this.grid.template(shown, kept.rows, this.chosen.value)}`;
  }
}

export default mounts(EvaluatePage);
