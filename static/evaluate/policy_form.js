// Which policies are evaluated, on how many conditions; while that runs, how far it is, and Stop.
import { isActive, stopJob } from "/static/studio/jobs.js";
import { t } from "/static/studio/texts.js";
import { batch, html, signal } from "/static/studio/view.js";

const OWN = { demonstration: t("Demonstration"), learned: t("Learned"), hold: t("Hold still") };

export class PolicyForm {
  chosen = signal(new Set(["demonstration"]));
  others = signal(""); // servers and functions, one a line
  count = signal("20");
  seed = signal("0");
  usesPairs = signal(false);

  /** `act` gets a request of the Evaluate page. */
  constructor(act) {
    this.act = act;
  }

  /** Takes the choices of an evaluation, as a person left them. */
  take({ policies, conditions, seed }) {
    const names = policies.map(({ name }) => name),
      usesPairs = conditions[0]?.endsWith("m") ?? false;
    batch(() => {
      this.chosen.value = new Set(names.filter((name) => name in OWN));
      this.others.value = names.filter((name) => !(name in OWN)).join("\n");
      this.count.value = String(usesPairs ? conditions.length / 2 : conditions.length);
      this.seed.value = String(seed);
      this.usesPairs.value = usesPairs;
    });
  }

  /** `record` is null until the server has answered. */
  template(record, { may_work, may_run_code }) {
    const runs = isActive(record?.job),
      isFixed = Boolean(record) && (runs || !may_work);
    const policy = ([name, label]) => this.#policy(name, label, record, isFixed);
    return html`<section class="form">
      <h3>${t("Policies")}</h3>
      <div class="ticks">${record && Object.entries(OWN).map(policy)}</div>
      <label class="setting flow">${t("Servers and functions (FILE.py:FUNCTION), one a line")}
        <textarea rows="2" spellcheck=${false} placeholder="openpi://127.0.0.1:8000"
          aria-label=${t("Servers and functions, one a line")} disabled=${Boolean(record) && (runs || !may_run_code)}
          title=${may_run_code ? "" : t("Needs the role administer: code and servers act for this machine.")}
          value=${this.others.value} oninput=${({ target }) => (this.others.value = target.value)} />
      </label>
      <div class="numbers">
        ${number(t("Conditions"), t("Number of conditions"), this.count, isFixed, { min: 1, max: 1000 })}
        ${number(t("Seed"), t("Seed"), this.seed, isFixed, { min: 0 })}
        <span>${record && this.#pairs(isFixed)}</span>
      </div>
      <div class="bar" role="status">
        ${record && (runs ? this.#progress(record) : this.#start(record.job, may_work))}
      </div>
    </section>`;
  }

  #policy(name, label, { can_learned }, isFixed) {
    const isMissing = name === "learned" && !can_learned,
      chosen = this.chosen.value;
    const choose = ({ target }) => {
      const next = new Set(chosen);
      target.checked ? next.add(name) : next.delete(name);
      this.chosen.value = next;
    };
    return html`<label class="tick" title=${isMissing ? t("Nothing is learned yet: open Learn.") : null}>
      <input type="checkbox" checked=${chosen.has(name) && !isMissing} disabled=${isFixed || isMissing}
        onchange=${choose} />${label}
    </label>`;
  }

  #pairs(isFixed) {
    return html`<label class="tick"
      title=${t("Each condition twice: with the twin as measured, and within what is uncertain of it")}>
      <input type="checkbox" checked=${this.usesPairs.value} disabled=${isFixed}
        onchange=${({ target }) => (this.usesPairs.value = target.checked)} />${t("Twin's uncertainty")}
    </label>`;
  }

  #start(job, mayWork) {
    return html`<button class="studio-button primary" data-act="start" data-sends="evaluate.start"
        disabled=${!mayWork} onclick=${() => this.#send()}>${t("Evaluate")}</button>
      ${
        job?.state === "stopped" &&
        html`<span class="muted">${t("Stopped. Finished episodes are kept; Evaluate goes on there.")}</span>`
      }`;
  }

  #progress({ job, shown }) {
    const cells = shown?.policies.flatMap((policy) => policy.cells) ?? [],
      count = cells.length,
      done = cells.filter(Boolean).length,
      text =
        job.state === "waiting"
          ? t("Waiting for another evaluation")
          : t("{done} of {count} episodes", { done, count });
    return html`<i class="spin" />
      <span class="progress-text">${text}</span>
      <span class="track"><i class="fill" style="width: ${(100 * done) / Math.max(1, count)}%" /></span>
      <button class="studio-button stop" data-act="stop" data-sends="jobs.stop"
        onclick=${() => stopJob(job.id)}>${t("■ Stop")}</button>`;
  }

  #send() {
    const others = this.others.value.split("\n").map((line) => line.trim());
    this.act({
      kind: "start",
      policies: [...Object.keys(OWN).filter((name) => this.chosen.value.has(name)), ...others.filter(Boolean)],
      count: Number(this.count.value),
      seed: Number(this.seed.value),
      uncertainty: this.usesPairs.value,
    });
  }
}

const number = (title, label, value, disabled, range) => html`<label class="setting flow">${title}
  <input type="number" aria-label=${label} ...${range} value=${value.value} disabled=${disabled}
    oninput=${({ target }) => (value.value = target.value)} />
</label>`;
