// Which policies are evaluated, on how many conditions; while that runs, how far it is, and Stop.
import { fill, h, tickBox } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const OWN = { demonstration: t("Demonstration"), learned: t("Learned"), hold: t("Hold still") };
const number = (label, value, range) =>
  h("input", { type: "number", "aria-label": label, value: String(value), ...range });

export class PolicyForm {
  /** `act` gets a request of the Evaluate page. */
  constructor(act) {
    this.act = act;
    this.chosen = new Set(["demonstration"]);
    this.count = number(t("Number of conditions"), 20, { min: "1", max: "1000" });
    this.seed = number(t("Seed"), 0, { min: "0" });
    this.others = h("textarea", {
      rows: "2",
      spellcheck: "false",
      placeholder: "openpi://127.0.0.1:8000",
      "aria-label": t("Servers and functions, one a line"),
    });
    this.ticks = h("div.ticks");
    this.usesPairs = false;
    this.pairs = h("span");
    this.bar = h("div.bar", { role: "status" });
    const setting = (title, ...content) => h("label.setting", {}, title, content);
    this.element = h(
      "section.form",
      {},
      h("h3", {}, t("Policies")),
      this.ticks,
      setting(t("Servers and functions (FILE.py:FUNCTION), one a line"), this.others),
      h("div.numbers", {}, setting(t("Conditions"), this.count), setting(t("Seed"), this.seed), this.pairs),
      this.bar,
    );
  }

  /** Takes the choices of an evaluation, as a person left them. */
  take({ policies, conditions, seed }) {
    const names = policies.map(({ name }) => name);
    this.chosen = new Set(names.filter((name) => name in OWN));
    this.others.value = names.filter((name) => !(name in OWN)).join("\n");
    this.count.value = conditions.length;
    this.seed.value = seed;
    this.usesPairs = conditions[0]?.endsWith("m") ?? false;
    if (this.usesPairs) this.count.value = conditions.length / 2;
  }

  show({ job, can_learned, shown }, { may_work, may_run_code }) {
    const runs = ["waiting", "running"].includes(job?.state);
    for (const field of [this.count, this.seed]) field.disabled = runs || !may_work;
    this.others.disabled = runs || !may_run_code;
    this.others.title = may_run_code ? "" : t("Needs the role administer: code and servers act for this machine.");
    fill(
      this.ticks,
      Object.entries(OWN).map(([name, label]) => this.#tick(name, label, runs || !may_work, can_learned)),
    );
    const pairs = tickBox(t("Twin's uncertainty"), this.usesPairs, (on) => {
      this.usesPairs = on;
    });
    pairs.title = t("Each condition twice: with the twin as measured, and within what is uncertain of it");
    pairs.firstChild.disabled = runs || !may_work;
    fill(this.pairs, pairs);
    fill(this.bar, runs ? this.#progress(job, shown) : this.#start(job, may_work));
  }

  #tick(name, label, disabled, canLearned) {
    const isMissing = name === "learned" && !canLearned;
    const box = tickBox(label, this.chosen.has(name) && !isMissing, (on) =>
      on ? this.chosen.add(name) : this.chosen.delete(name),
    );
    box.firstChild.disabled = disabled || isMissing;
    if (isMissing) box.title = t("Nothing is learned yet: open Learn.");
    return box;
  }

  #start(job, mayWork) {
    return [
      h(
        "button.studio-button.primary",
        { "data-act": "start", "data-sends": "evaluate.start", disabled: !mayWork, onclick: () => this.#send() },
        t("Evaluate"),
      ),
      job?.state === "stopped" &&
        h("span.muted", {}, t("Stopped. Finished episodes are kept; Evaluate goes on there.")),
    ];
  }

  #progress(job, shown) {
    const cells = shown?.policies.flatMap((policy) => policy.cells) ?? [];
    const done = cells.filter(Boolean).length;
    return [
      h("i.spin"),
      h(
        "span.progress-text",
        {},
        job.state === "waiting"
          ? t("Waiting for another evaluation")
          : t("{done} of {count} episodes", { done, count: cells.length }),
      ),
      h("span.track", {}, h("i.fill", { style: `width: ${(100 * done) / Math.max(1, cells.length)}%` })),
      h(
        "button.studio-button.stop",
        { "data-act": "stop", "data-sends": "evaluate.stop", onclick: () => this.act({ kind: "stop" }) },
        t("■ Stop"),
      ),
    ];
  }

  #send() {
    const others = this.others.value.split("\n").map((line) => line.trim());
    this.act({
      kind: "start",
      policies: [...Object.keys(OWN).filter((name) => this.chosen.has(name)), ...others.filter(Boolean)],
      count: Number(this.count.value),
      seed: Number(this.seed.value),
      uncertainty: this.usesPairs,
    });
  }
}
