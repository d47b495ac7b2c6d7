// Batches: many frames at once. The form that starts one, and what those of the workspace have come to.
import { fill, h } from "/static/studio/dom.js";
import { filesOfDrop, filesOfInput, uploadFiles } from "/static/studio/dropped_files.js";
import { mayWork } from "/static/studio/account.js";
import { t } from "/static/studio/texts.js";

const POLL_MS = 700;
const MARKS = { done: "✓", failed: "✕", running: "▸", todo: "·" };
const RUNNING = ["waiting", "running", "stopping"];

// Seconds as "45 s", "4 min" or "1 h 5 min".
const duration = (seconds) => {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};

export class Batches {
  // `ask(request)` asks the server, `upload(file)` uploads, `onOpen(name, button)` opens a project, `onDone()` is called
  // when frames have become projects.
  constructor({ ask, upload, onOpen, onDone }) {
    Object.assign(this, { ask, upload, onOpen, onDone, answer: { batches: [], stages: [] }, listed: new Set() });
    this.element = h("div.batches");
    this.message = h("p.batch-message", { role: "status", hidden: true });
    this.isUploading = false;
  }

  // Shows {batches, stages, offline} of an answer, and asks again for as long as one runs.
  take(answer) {
    if (answer.error) return this.tell(answer.error);
    const done = (batches) => batches.reduce((sum, one) => sum + one.frames.filter((frame) => frame.project).length, 0);
    const before = done(this.answer.batches);
    this.answer = answer;
    this.draw();
    if (done(answer.batches) > before) this.onDone();
    clearTimeout(this.timer);
    if (answer.batches.some((one) => RUNNING.includes(one.state)))
      this.timer = setTimeout(() => this.element.checkVisibility() && this.send({ kind: "batches" }), POLL_MS);
  }

  async send(request) {
    this.take(await this.ask(request));
  }

  tell(text) {
    this.message.hidden = !text;
    this.message.textContent = text ?? "";
  }

  // Returns the form. `onStarted()` is called when a batch has begun.
  form(onStarted) {
    this.onStarted = onStarted;
    const chooser = (label, attributes) => {
      const input = h("input", {
        type: "file",
        multiple: true,
        hidden: true,
        ...attributes,
        onchange: ({ target }) => {
          this.start(filesOfInput(target.files));
          target.value = ""; // so that the same files can be chosen again
        },
      });
      return [h("button.studio-button", { type: "button", onclick: () => input.click() }, label), input];
    };
    this.until = h(
      "select",
      { "aria-label": t("Run until") },
      this.answer.stages.map(({ name, title }) =>
        h("option", { value: name, selected: name === "solution" }, t("Until: {stage}", { stage: title })),
      ),
    );
    this.task = h("input", {
      type: "text",
      maxlength: "400",
      "aria-label": t("Task for every frame"),
      placeholder: t("Task for every frame (else the first proposed one)"),
    });
    return h(
      "div.batch-form",
      {},
      h(
        "div.batch-drop",
        {},
        h("strong", {}, t("Drop a folder of frames here, or several frames or zips")),
        h(
          "span.choosers",
          {},
          chooser(t("Choose a folder …"), { webkitdirectory: true, "aria-label": t("Folder of frames") }),
          chooser(t("Choose files …"), { "aria-label": t("Files of frames") }),
        ),
      ),
      h("div.batch-options", {}, this.until, this.task),
      h(
        "p.muted",
        {},
        t("Each frame runs in a process of its own and becomes a project. A broken frame does not stop the others."),
        this.answer.offline && ` ${t("Offline rules describe and solve: these frames are not sent to the model.")}`,
      ),
      this.message,
    );
  }

  async drop(transfer) {
    const files = await filesOfDrop(transfer);
    this.start(files);
  }

  async start(files) {
    if (!files.length || this.isUploading) return;
    this.isUploading = true;
    try {
      const uploaded = await uploadFiles(
        files,
        this.upload,
        (done, of) => this.tell(t("Uploading {done} of {of} files …", { done, of })),
        "grs-studio batch",
      );
      const answer = await this.ask({
        kind: "start_batch",
        files: uploaded,
        until: this.until.value,
        task: this.task.value,
      });
      this.tell();
      this.take(answer);
      if (!answer.error) this.onStarted();
    } catch (error) {
      this.tell(error.message);
    } finally {
      this.isUploading = false;
    }
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    const { batches } = this.answer;
    this.element.hidden = !batches.length;
    fill(
      this.element,
      batches.map((one) => this.batch(one)),
    );
  }

  batch(one) {
    const isListed = this.listed.has(one.id),
      act = (kind) => () => this.send({ kind, batch: one.id });
    const toggle = () => {
      isListed ? this.listed.delete(one.id) : this.listed.add(one.id);
      this.draw();
    };
    const button = (label, onclick, more = "", attributes = {}) =>
      mayWork && h(`button.studio-button${more}`, { onclick, ...attributes }, label);
    const isRunning = RUNNING.includes(one.state);
    return h(
      "section.batch",
      { "data-state": one.state },
      h(
        "div.batch-line",
        {},
        one.state === "running" && h("i.spin", { "aria-hidden": "true" }),
        h("strong", { title: one.title }, one.title),
        h("span.batch-progress", { role: "status" }, progressText(one)),
        isRunning &&
          h(
            "span.track",
            {
              role: "progressbar",
              "aria-label": t("Progress of the batch"),
              "aria-valuenow": String(Math.round(100 * one.share)),
            },
            h("span.fill", { style: `width:${100 * one.share}%` }),
          ),
        h("button.studio-button.plain", { "aria-expanded": String(isListed), onclick: toggle }, t("Frames")),
        isRunning &&
          button(one.state === "stopping" ? t("Stopping …") : t("■ Stop"), act("stop_batch"), ".stop", {
            disabled: one.state === "stopping",
          }),
        one.state === "stopped" && one.of > 0 && button(t("Continue"), act("resume_batch")),
        one.state === "ended" && one.failed > 0 && button(t("Retry failed"), act("resume_batch")),
        !isRunning &&
          button("✕", act("remove_batch"), ".plain", {
            title: t("Remove from the list; finished projects stay"),
            "aria-label": t("Remove {title} from the list", { title: one.title }),
          }),
      ),
      one.error && h("p.bad", {}, one.error),
      (isListed ? one.frames : one.frames.filter((frame) => frame.state === "failed").slice(0, 3)).map((frame) =>
        this.frame(frame),
      ),
      isListed && one.more > 0 && h("p.muted", {}, t("and {count} more", { count: one.more })),
    );
  }

  frame({ name, state, stage, seconds, message, project }) {
    const about = {
      done: seconds > 0 && duration(seconds),
      failed: message,
      running: stage || t("Starting"),
      todo: stage ? t("Waiting, done until {stage}", { stage }) : t("Waiting"),
    };
    return h(
      `div.batch-frame.${state}`,
      {},
      h("i", { "aria-hidden": "true" }, MARKS[state]),
      project
        ? h("button.open", { onclick: ({ currentTarget }) => this.onOpen(project, currentTarget) }, name)
        : h("span.frame-name", {}, name),
      h("span.about-frame", {}, about[state]),
    );
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
