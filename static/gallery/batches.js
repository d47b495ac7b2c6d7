// Batches: many frames at once, and what those of the workspace have come to.
import { duration } from "/static/studio/parts.js";
import { BatchForm } from "/static/gallery/batch_form.js";
import { mayWork } from "/static/studio/account.js";
import { onJobs } from "/static/studio/jobs.js";
import { t } from "/static/studio/texts.js";
import { classes, html, signal } from "/static/studio/view.js";

const MARKS = { done: "✓", failed: "✕", running: "▸", todo: "·" };
const RUNNING = ["waiting", "running", "stopping"];

const finishedIn = ({ batches }) =>
  batches.reduce((sum, one) => sum + one.frames.filter((frame) => frame.project).length, 0);

export class Batches {
  answer = signal(/** @type {any} */ ({ batches: [], stages: [] }));
  listed = signal(/** @type {Set<string>} */ (new Set())); // the batches whose frames are all listed

  /**
   * `ask(request)` asks the server, `upload(file)` uploads, `onOpen(name)` opens a project, `onDone()` is called when
   * frames have become projects, `onStarted()` when a batch has begun; `isShown()` says whether `root` is seen.
   */
  constructor({ root, ask, upload, onOpen, onDone, onStarted, isShown }) {
    this.ask = ask;
    this.upload = upload;
    this.onOpen = onOpen;
    this.onDone = onDone;
    this.onStarted = onStarted;
    this.look = onJobs(root, "batch", async () => {
      if (isShown()) this.take(await this.ask({ kind: "batches" }));
    });
    this.newForm();
  }

  /** Shows {batches, stages, offline} of an answer. */
  take(answer) {
    if (answer.error) return this.form.tell(answer.error);
    const before = finishedIn(this.answer.value);
    this.answer.value = answer;
    if (finishedIn(answer) > before) this.onDone();
  }

  async send(request) {
    this.take(await this.ask(request));
    if (this.answer.value.batches.some((one) => RUNNING.includes(one.state))) this.look();
  }

  newForm() {
    this.form = new BatchForm(this);
    return this.form;
  }

  drop = (transfer) => this.form.drop(transfer);

  toggle(id) {
    const listed = new Set(this.listed.value);
    listed.delete(id) || listed.add(id);
    this.listed.value = listed;
  }

  template() {
    const { batches } = this.answer.value;
    return html`<div class="batches" hidden=${!batches.length}>${batches.map((one) => this.batch(one))}</div>`;
  }

  batch(one) {
    const isListed = this.listed.value.has(one.id),
      frames = isListed ? one.frames : one.frames.filter((frame) => frame.state === "failed").slice(0, 3);
    return html`<section class="batch" key=${one.id} data-state=${one.state}>
      ${this.line(one, isListed)}
      ${one.error && html`<p class="bad">${one.error}</p>`}
      ${frames.map((frame) => this.frame(frame))}
      ${isListed && one.more > 0 && html`<p class="muted">${t("and {count} more", { count: one.more })}</p>`}
    </section>`;
  }

  line(one, isListed) {
    const isRunning = RUNNING.includes(one.state);
    return html`<div class="batch-line">
      ${one.state === "running" && html`<i class="spin" aria-hidden="true" />`}
      <strong title=${one.title}>${one.title}</strong>
      <span class="batch-progress" role="status">${progressText(one)}</span>
      ${
        isRunning &&
        html`<span class="track" role="progressbar" aria-label=${t("Progress of the batch")}
          aria-valuenow=${Math.round(100 * one.share)}>
          <span class="fill" style=${`width:${100 * one.share}%`} />
        </span>`
      }
      <button class="studio-button plain" aria-expanded=${isListed} onclick=${() => this.toggle(one.id)}>
        ${t("Frames")}</button>
      ${mayWork && this.actions(one, isRunning)}
    </div>`;
  }

  actions({ id, title, state, of, failed }, isRunning) {
    const button = (label, kind, classNames = "", attributes = {}) =>
      html`<button class=${classes("studio-button", classNames)} onclick=${() => this.send({ kind, batch: id })}
        ...${attributes}>${label}</button>`;
    if (isRunning) {
      const isStopping = state === "stopping";
      return button(isStopping ? t("Stopping …") : t("■ Stop"), "stop_batch", "stop", { disabled: isStopping });
    }
    return [
      state === "stopped" && of > 0 && button(t("Continue"), "resume_batch"),
      state === "ended" && failed > 0 && button(t("Retry failed"), "resume_batch"),
      button("✕", "remove_batch", "plain", {
        title: t("Remove from the list; finished projects stay"),
        "aria-label": t("Remove {title} from the list", { title }),
      }),
    ];
  }

  frame({ name, state, stage, seconds, message, project }) {
    const about = {
      done: seconds > 0 && duration(seconds),
      failed: message,
      running: stage || t("Starting"),
      todo: stage ? t("Waiting, done until {stage}", { stage }) : t("Waiting"),
    };
    return html`<div class=${`batch-frame ${state}`} key=${name}>
      <i aria-hidden="true">${MARKS[state]}</i>
      ${
        project
          ? html`<button class="open" onclick=${() => this.onOpen(project)}>${name}</button>`
          : html`<span class="frame-name">${name}</span>`
      }
      <span class="about-frame">${about[state]}</span>
    </div>`;
  }
}

function progressText({ state, done, failed, of, seconds_left: left, until }) {
  const counts = [
    t("{done} of {of} frames done", { done, of }),
    failed > 0 && t("{n} failed|{n} failed", { n: failed }),
    state === "running" && left !== null && t("about {time} left", { time: duration(left) }),
    state === "waiting" && t("waiting for another batch"),
    state === "stopped" && t("stopped"),
    state === "running" && t("until {stage}", { stage: until }),
  ];
  return counts.filter(Boolean).join(" · ");
}
