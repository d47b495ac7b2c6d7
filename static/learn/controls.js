// Settings and buttons of training; while one runs, what it does, and Stop.
import { progressText } from "/static/learn/progress.js";
import { duration, TickBox } from "/static/studio/parts.js";
import { isActive, stopJob } from "/static/studio/jobs.js";
import { t } from "/static/studio/texts.js";
import { classes, html, signal } from "/static/studio/view.js";

const ABLATION_STEPS = 40_000;

/** `act` gets a request of the Learn page. */
export class TrainingControls {
  numbers = signal(/** @type {Record<string, string>} */ ({ steps: "80000", demonstrations: "40", variants: "0" }));
  usesSkills = signal(false);

  constructor(act) {
    this.act = act;
  }

  /** What a person can do with `subtask`, of the page's `record`. */
  template(record, subtask, mayWork) {
    if (!record) return html`<div class="controls flow" />`;
    const isRunning = isActive(record.job);
    return html`<div class="controls flow">
      ${isRunning ? this.progress(record) : [this.settings(), this.buttons(record, subtask, mayWork)]}
    </div>`;
  }

  progress({ job, subtasks }) {
    const title = subtasks.find((one) => one.name === job.subtask)?.title ?? t("Whole task, one policy"),
      left = job.left ? ` · ${t("at most {time} left", { time: duration(job.left) })}` : "";
    return html`<i class="spin" />
      <span class="progress-text">${progressText(job, title)}${left}</span>
      <button class="studio-button stop" data-act="stop" data-sends="jobs.stop"
        onclick=${() => stopJob(job.id)}>${t("■ Stop")}</button>`;
  }

  settings() {
    return html`<label class="setting flow" title="">
        ${t("Steps")}${this.number("steps", t("Most steps"), { min: "4096", step: "4096" })}
      </label>
      <label class="setting flow"
        title=${t("Starts from which the oracle is imitated first; 0 to learn by trial and error alone")}>
        ${t("Demonstrations")}${this.number("demonstrations", t("Demonstrations"), { min: "0", max: "200" })}
      </label>
      <label class="setting flow"
        title=${t("Twins with other masses, frictions, sizes and poses: trained on, and others measured on")}>
        ${t("Variants")}${this.number("variants", t("Variants"), { min: "0", max: "20" })}
      </label>
      <span class="setting flow"
        title=${t("Begin with policies that solved such subtasks in this workspace, where there are any")}>
        <${TickBox} label=${t("Start from skills")} checked=${this.usesSkills.value}
          onChange=${(isTicked) => (this.usesSkills.value = isTicked)} />
      </span>`;
  }

  number(name, label, range) {
    return html`<input type="number" aria-label=${label} value=${this.numbers.value[name]} ...${range}
      oninput=${({ target }) => (this.numbers.value = { ...this.numbers.value, [name]: target.value })} />`;
  }

  buttons({ job, install, subtasks = [], asks }, subtask, mayWork) {
    const cannot = !mayWork || Boolean(install) || !subtasks.length,
      allLearned = subtasks.filter((one) => one.can_edit).every((one) => one.learned);
    const button = (name, label, request, { disabled = cannot, kind = "", title = "" } = {}) =>
      html`<button class=${classes("studio-button", kind)} data-act=${name} data-sends=${`learn.${request().kind}`}
        disabled=${disabled} title=${title} onclick=${() => this.act(request())}>${label}</button>`;
    const evaluation = () => ({ kind: "evaluate", variants: Number(this.numbers.value.variants) });
    return [
      button("train", t("Train all"), () => this.training({}), { kind: "primary" }),
      subtask && button("train-one", t("Train this subtask"), () => this.training({ subtask: subtask.name })),
      subtask?.can_edit &&
        button("reflect", t("Ask for a better reward"), () => ({ kind: "reflect", subtask: subtask.name }), {
          disabled: !mayWork || !asks || !subtask.curve.length,
          title: asks
            ? t("The model is shown how this subtask was learned and where it fails.")
            : t("The offline rules know no other reward; choose a model."),
        }),
      button("whole", t("Train one policy for all"), () => this.training({ subtask: "whole" }), {
        disabled: cannot || !allLearned,
        title: t("The whole task by one policy, with as many steps as all subtasks took"),
      }),
      button("evaluate", t("Evaluate"), evaluation, { disabled: cannot || !allLearned }),
      button("ablation", t("Ablation"), () => ({ kind: "ablation", steps: ABLATION_STEPS }), {
        title: t(
          "Learns the task with and without subtasks, shaping and demonstrations, with three seeds. Takes long.",
        ),
      }),
      job?.state === "stopped" && html`<span class="muted">${t("Stopped; what was learned is kept.")}</span>`,
    ];
  }

  training(more) {
    const { steps, demonstrations, variants } = this.numbers.value,
      skills = this.usesSkills.value;
    return {
      kind: "train",
      steps: Number(steps),
      demonstrations: skills ? 0 : Number(demonstrations), // a policy begins with one of them
      variants: Number(variants),
      skills,
      ...more,
    };
  }
}
