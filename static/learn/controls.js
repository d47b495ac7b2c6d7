// Settings and buttons of training; while one runs, what it does, and Stop.
import { progressText } from "/static/learn/progress.js";
import { fill, h, tickBox } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const ABLATION_STEPS = 40_000;
const minutes = (seconds) =>
  seconds < 90 ? t("{n} s", { n: Math.round(seconds) }) : t("{n} min", { n: Math.round(seconds / 60) });

const numberInput = (label, value, range) => h("input", { type: "number", value, "aria-label": label, ...range });

/** `act` gets a request of the Learn page. */
export class TrainingControls {
  constructor(act) {
    this.act = act;
    this.element = h("div.controls");
    this.steps = numberInput(t("Most steps"), "80000", { min: "4096", step: "4096" });
    this.demonstrations = numberInput(t("Demonstrations"), "40", { min: "0", max: "200" });
    this.variants = numberInput(t("Variants"), "0", { min: "0", max: "20" });
    this.usesSkills = false;
  }

  /** Shows what a person can do with `subtask`, of the page's `record`. */
  show(record, subtask, mayWork) {
    const isRunning = ["waiting", "running"].includes(record.job?.state);
    fill(this.element, isRunning ? this.progress(record) : [this.settings(), this.buttons(record, subtask, mayWork)]);
  }

  progress({ job, subtasks }) {
    const title = subtasks.find((one) => one.name === job.subtask)?.title ?? t("Whole task, one policy"),
      left = job.left ? ` · ${t("at most {time} left", { time: minutes(job.left) })}` : "";
    return [
      h("i.spin"),
      h("span.progress-text", {}, progressText(job, title), left),
      h(
        "button.studio-button.stop",
        { "data-act": "stop", "data-sends": "learn.stop", onclick: () => this.act({ kind: "stop" }) },
        t("■ Stop"),
      ),
    ];
  }

  settings() {
    const setting = (title, ...content) => h("label.setting", { title }, content);
    return [
      setting("", t("Steps"), this.steps),
      setting(
        t("Starts from which the oracle is imitated first; 0 to learn by trial and error alone"),
        t("Demonstrations"),
        this.demonstrations,
      ),
      setting(
        t("Twins with other masses, frictions, sizes and poses: trained on, and others measured on"),
        t("Variants"),
        this.variants,
      ),
      h(
        "span.setting",
        { title: t("Begin with policies that solved such subtasks in this workspace, where there are any") },
        tickBox(t("Start from skills"), this.usesSkills, (checked) => {
          this.usesSkills = checked;
        }),
      ),
    ];
  }

  buttons({ job, install, subtasks = [] }, subtask, mayWork) {
    const cannot = !mayWork || Boolean(install) || !subtasks.length,
      allLearned = subtasks.filter((one) => one.can_edit).every((one) => one.learned);
    const button = (name, label, request, { disabled = cannot, kind = "", title = "" } = {}) =>
      h(
        `button.studio-button${kind}`,
        {
          "data-act": name,
          "data-sends": `learn.${request().kind}`,
          disabled,
          title,
          onclick: () => this.act(request()),
        },
        label,
      );
    return [
      button("train", t("Train all"), () => this.training({}), { kind: ".primary" }),
      subtask && button("train-one", t("Train this subtask"), () => this.training({ subtask: subtask.name })),
      button("whole", t("Train one policy for all"), () => this.training({ subtask: "whole" }), {
        disabled: cannot || !allLearned,
        title: t("The whole task by one policy, with as many steps as all subtasks took"),
      }),
      button("evaluate", t("Evaluate"), () => ({ kind: "evaluate", variants: Number(this.variants.value) }), {
        disabled: cannot || !allLearned,
      }),
      button("ablation", t("Ablation"), () => ({ kind: "ablation", steps: ABLATION_STEPS }), {
        title: t(
          "Learns the task with and without subtasks, shaping and demonstrations, with three seeds. Takes long.",
        ),
      }),
      job?.state === "stopped" && h("span.muted", {}, t("Stopped; what was learned is kept.")),
    ];
  }

  training(more) {
    return {
      kind: "train",
      steps: Number(this.steps.value),
      demonstrations: this.usesSkills ? 0 : Number(this.demonstrations.value), // a policy begins with one of them
      variants: Number(this.variants.value),
      skills: this.usesSkills,
      ...more,
    };
  }
}
