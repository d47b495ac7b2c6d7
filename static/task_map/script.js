// Generated tasks on a map of difficulty and novelty; a click shows what was measured. See components/steps.py.
import { fillField } from "/static/studio/fill_field.js";
import { TickBox } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { follow, html, mounts, signal, View } from "/static/studio/view.js";
import { legend, map, percent } from "/static/task_map/map.js";

const LEVELS = [
  ["", t("By measured success")],
  ["1", t("1: one object")],
  ["2", t("2: two or three objects")],
  ["3", t("3: many objects or steps")],
];
const round = (number) => Number(number.toFixed(2));

class TaskMap extends View {
  chosen = signal(""); // id of the task that is shown
  count = signal("6");
  level = signal("");
  measuresWorth = signal(false);
  showsDropped = signal(false);
  hasRun = signal(false); // opens the map once; after that a person opens and closes it

  constructor(context) {
    super(context);
    follow(this.root, () => {
      if (this.value.running) this.hasRun.value = true;
    });
  }

  generate() {
    const level = this.level.value;
    this.send("generate", {
      count: Number(this.count.value),
      level: level ? Number(level) : null,
      worth: this.measuresWorth.value,
    });
  }

  use(task) {
    if (task.brings.length) this.send("bring", { id: task.id });
    fillField(this.value.fills, task.text);
  }

  template() {
    const { tasks = [], dropped = [], summary, running } = this.value;
    return html`<details open=${this.hasRun.value || null}>
      <summary>
        <h3>${t("Many tasks")}</h3>
        <span class="faint">${summary || t("Generated, measured and kept if they are worth having")}</span>
      </summary>
      ${running ? this.progress(running) : this.controls()}
      ${tasks.length > 0 && this.tasks(tasks)}
      ${dropped.length > 0 && this.dropped(dropped)}
    </details>`;
  }

  progress(running) {
    const { kept, wanted, message } = running;
    return html`<div class="controls" role="status">
      <span class="track"><span class="fill" style="width:${(100 * kept) / Math.max(wanted, 1)}%" /></span>
      <span>${t("{kept} of {wanted} kept", running)}</span>
      <button class="studio-button" data-sends="task-map.stop" onclick=${() => this.send("stop", {})}>
        ${t("Stop")}</button>
      <span class="faint message clip" title=${message}>${message}</span>
    </div>`;
  }

  controls() {
    const { tasks, can_start } = this.value;
    return html`<div class="controls">
      <label>${t("Tasks")}
        <input type="number" min="1" max="100" value=${this.count.value}
          oninput=${({ target }) => (this.count.value = target.value)} />
      </label>
      <label>${t("Level")}
        <select value=${this.level.value} onchange=${({ target }) => (this.level.value = target.value)}>
          ${LEVELS.map(([key, title]) => html`<option value=${key}>${title}</option>`)}
        </select>
      </label>
      ${this.value.can_learn && this.learnerChoice()}
      <button class="studio-button" data-sends="task-map.generate" disabled=${!can_start}
        onclick=${() => this.generate()}>${tasks?.length ? t("Generate more") : t("Generate tasks")}</button>
    </div>`;
  }

  learnerChoice() {
    const title = t(
      "A learner imitates {n} demonstrations of each task, in about 15 s. Tasks of 20 to 80 % are kept.",
      this.value,
    );
    return html`<span title=${title}>
      <${TickBox} label=${t("Try with a learner")} checked=${this.measuresWorth.value}
        onChange=${(isTicked) => (this.measuresWorth.value = isTicked)} />
    </span>`;
  }

  tasks(tasks) {
    const shown = tasks.find((task) => task.id === this.chosen.value),
      about = t("Percentages: a learner's success on new layouts after {n} demonstrations", this.value);
    return html`${legend()}
      ${tasks.some((task) => task.worth !== null) && html`<div class="faint">${about}</div>`}
      <div class="map">
        ${map(tasks, this.chosen.value, (task) => (this.chosen.value = task.id))}
        ${shown ? this.details(shown) : html`<div class="details faint">${t("Choose a task on the map.")}</div>`}
      </div>`;
  }

  details(task) {
    const { nearest, brings } = task;
    return html`<div class="details" data-task=${task.id}>
      <strong>${task.words}</strong>
      ${fact(t("Level"), task.level ? `${task.level}: ${task.demands}` : t("not known: only the model reads its goals"))}
      ${fact(t("Goals"), task.goals.join("; "))}
      ${fact(t("Oracle"), t("{solved} of {layouts} new layouts", task))}
      ${fact(t("Program"), task.program)}
      ${fact(t("Difficulty"), String(round(task.difficulty)))}
      ${fact(t("Learner"), learnerText(task))}
      ${fact(t("Novelty"), `${round(task.novelty)}${nearest ? ` (${t("nearest")}: ${nearest})` : ""}`)}
      ${fact(t("Brought"), task.brought.join(", "))}
      ${fact(t("Distractors"), task.distractors.join(", "))}
      <button class="studio-button" data-sends=${brings.length ? "task-map.bring" : null}
        onclick=${() => this.use(task)}>${t("Use task")}</button>
      ${
        brings.length > 0 &&
        html`<span class="faint">${t("Adds to the twin: {names}", { names: brings.join(", ") })}</span>`
      }
    </div>`;
  }

  dropped(rows) {
    const label = t("{n} task was not kept|{n} tasks were not kept", { n: rows.length }),
      row = ({ words, reason }) => html`<li>${words}<span class="faint"> ${reason}</span></li>`;
    return html`<div class="dropped">
      <${TickBox} label=${label} checked=${this.showsDropped.value}
        onChange=${(isTicked) => (this.showsDropped.value = isTicked)} />
      ${this.showsDropped.value && html`<ul>${rows.map(row)}</ul>`}
    </div>`;
  }
}

const fact = (name, text) =>
  text && html`<div class="fact"><span class="key">${name}</span><span class="text">${text}</span></div>`;

function learnerText({ worth, worth_reason, worth_layouts: layouts }) {
  if (worth === null) return worth_reason || t("Not measured");
  return t("{share} of {layouts} new layouts", { share: percent(worth), layouts });
}

export default mounts(TaskMap);
