// Lists running imports with their results and questions.
import { ImportQuestion } from "/static/library/import_questions.js";
import { libraryOpen } from "/static/library/library_state.js";
import { isActive, onJobs } from "/static/studio/jobs.js";
import { t } from "/static/studio/texts.js";
import { html, signal } from "/static/studio/view.js";
import { Component } from "/static/vendor/preact/preact.mjs";

const CREEP_MS = 12000,
  LISTED = 6;
const STATE_MARKS = { done: ["good", "✓"], stopped: ["warn", "■"], questions: ["warn", "?"] };

export class ImportJobs {
  jobs = signal(/** @type {any[]} */ ([]));
  ups = signal(/** @type {Record<string, string>} */ ({})); // the up axis that was chosen, by the question

  /** `onFinished` is called when a job has ended, `onOpen` with the id of a new asset to show; `root` is the page. */
  constructor({ root, ask, onFinished, onOpen }) {
    this.ask = ask;
    this.onFinished = onFinished;
    this.onOpen = onOpen;
    this.look = onJobs(root, "import", async () => {
      if (libraryOpen()) await this.send({ kind: "jobs" });
    });
  }

  update({ error, jobs }) {
    if (error) return;
    const before = this.jobs.value,
      hasFinished = (job) => isActive(before.find((one) => one.name === job.name)) && !isActive(job);
    this.jobs.value = jobs;
    if (jobs.some(hasFinished)) this.onFinished();
  }

  async send(request) {
    this.update(await this.ask(request));
    if (request.kind !== "jobs" && this.jobs.value.some(isActive)) this.look();
  }

  template() {
    return html`<div class="jobs">${this.jobs.value.map((job) => this.job(job))}</div>`;
  }

  job(job) {
    const { questions, errors, added } = job;
    return html`<section class="job" key=${job.name} data-state=${job.state}>
      ${this.line(job)}
      ${questions.map((question) => html`<${ImportQuestion} jobs=${this} job=${job} question=${question} />`)}
      ${
        (errors.length > 0 || added.length > 0) &&
        html`<ul>
          ${errors.map((one) => html`<li class="bad">${errorText(one)}</li>`)}
          ${added
            .slice(-LISTED)
            .reverse()
            .map((asset) => this.added(asset))}
          ${
            added.length > LISTED &&
            html`<li class="muted">${t("and {count} more", { count: added.length - LISTED })}</li>`
          }
        </ul>`
      }
    </section>`;
  }

  line(job) {
    const { title, state, errors, added } = job,
      [kind, mark] = STATE_MARKS[errors.length && !added.length && state === "done" ? "stopped" : state] ?? ["", ""];
    return html`<div class="line flow">
      ${isActive(job) ? html`<i class="spin" />` : html`<i class=${kind}>${mark}</i>`}
      <strong title=${title}>${title}</strong>
      <span class="muted" role="status">${isActive(job) ? progressText(job) : resultText(job)}</span>
      ${isActive(job) && html`<${ProgressBar} ...${job} />`}
      ${this.end(job)}
    </div>`;
  }

  end(job) {
    const stop = () => this.send({ kind: "stop", job: job.name });
    if (isActive(job))
      return html`<button class="studio-button stop" disabled=${job.stopping} onclick=${stop}>
        ${job.stopping ? t("Stopping …") : t("■ Stop")}</button>`;
    return html`<button class="studio-button plain" title=${t("Remove from the list")} aria-label=${t("Dismiss")}
      onclick=${stop}>✕</button>`;
  }

  added({ id, available, warnings }) {
    return html`<li key=${id}>
      <button class="link" disabled=${!available} title=${available ? "" : t("Available when the import has finished")}
        onclick=${() => this.onOpen(id)}>${id.replaceAll("_", " ")}</button>
      <span class="muted">${`  ${warnings.length ? warnings.join("; ") : t("no problems")}`}</span>
    </li>`;
  }
}

const progressText = ({ of, done, message }) => `${of > 1 ? `${t("{done} of {of}", { done, of })} · ` : ""}${message}`;

function resultText({ added, state, note }) {
  const summary = t("{n} asset imported|{n} assets imported", { n: added.length });
  return `${summary}${state === "stopped" ? `; ${t("stopped")}` : ""}${note ? `. ${note}` : ""}`;
}

const errorText = ({ source, error }) => (source && !error.includes(source) ? `${source}: ${error}` : error);

function ProgressBar({ done, of, share: progress }) {
  if (of <= 1 && !progress) return html`<span class="track unknown"><span class="fill" /></span>`;
  const all = Math.max(of, 1),
    share = Math.min(1, (done + progress) / all),
    next = Math.min(1, share + (0.6 * (1 - progress)) / all);
  return html`<span class="track" role="progressbar" aria-label=${t("Progress of the import")}
    aria-valuenow=${Math.round(100 * share)}><${Creeping} key=${share} share=${share} next=${next} /></span>`;
}

// The filled part of the bar. It creeps through the current item, whose duration is unknown.
class Creeping extends Component {
  creep = (bar) => {
    const { share, next } = this.props,
      [from, to] = [share, next].map((one) => ({ width: `${100 * one}%` }));
    bar?.animate([from, to], { duration: CREEP_MS, easing: "ease-out", fill: "both" });
  };

  render({ share }) {
    return html`<span class="fill" ref=${this.creep} style=${`width:${100 * share}%`} />`;
  }
}
