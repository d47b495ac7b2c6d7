// Proposed tasks as cards with a picture of the solved table; a click on one fills the text field.
import { fillField, suggestField } from "/static/studio/fill_field.js";
import { TickBox } from "/static/studio/parts.js";
import { isRefused } from "/static/studio/refused_controls.js";
import { t } from "/static/studio/texts.js";
import { classes, follow, html, mounts, signal, View } from "/static/studio/view.js";

const LEVELS = { easy: "good", medium: "", hard: "warn" };
const FAMILIES = [
  ["all", t("All")],
  ["stack", t("Stack")],
  ["sort", t("Sort")],
  ["place", t("Place")],
  ["select", t("Select")],
  ["move", t("Rearrange")],
];
const FAMILY = {
  stack: "stack",
  put_on: "place",
  put_in: "place",
  put_in_tray: "place",
  take_out: "place",
  put_on_table: "place",
  put_in_drawer: "place",
  gather: "select",
  select: "select",
  group: "select",
  line_up: "sort",
};
const familyOf = (kind) => FAMILY[kind] ?? (kind.startsWith("sort") ? "sort" : "move");
const words = (text) => text.replaceAll("_", " ");
const isUnsolved = (task) => task.feasible === false || (!task.tried && Boolean(task.refusal));

class TaskCards extends View {
  picked = signal(""); // instruction of the card that fills the text field, until it is generated
  family = signal("all");
  feasibleOnly = signal(false);
  isStopped = false;
  requested = ""; // the offer that was taken last
  suggested = null; // the task that filled the text field by itself
  chosen = "";

  constructor(context) {
    super(context);
    follow(this.root, () => this.takeValue());
    // Trials start only when the cards are visible, because they take processor time.
    const watch = new IntersectionObserver(
      (entries) => entries.some((one) => one.isIntersecting) && this.startTrials(),
    );
    watch.observe(this.root);
  }

  takeValue() {
    const { chosen } = this.value;
    if (chosen !== this.chosen) this.picked.value = ""; // generated, or undone
    this.chosen = chosen;
    this.suggest();
    this.startTrials();
  }

  get tasks() {
    return this.value.tasks ?? [];
  }

  startTrials() {
    const { offer } = this.value,
      isUntried = this.tasks.some((task) => !task.tried);
    if (isRefused("task-cards.start_trials") || this.isStopped || !offer || offer === this.requested) return;
    if (!isUntried || !this.root.getClientRects().length) return;
    this.requested = offer;
    this.send("start_trials", {});
  }

  proposedTask() {
    return this.tasks.find((task) => task.instruction === this.value.chosen);
  }

  // Until a person decides: the first proposal, or the first that the robot solved if it does not solve that one.
  suggestedTask() {
    const { decided, chosen } = this.value;
    if (this.picked.value || decided || !chosen) return null;
    const first = this.proposedTask();
    return (first && isUnsolved(first) && this.tasks.find((task) => task.feasible)) || first || null;
  }

  suggest() {
    const task = this.suggestedTask();
    if (task && task.instruction !== this.suggested?.instruction)
      suggestField(this.value.fills, task.text, [this.suggested?.text, this.proposedTask().text]);
    this.suggested = task;
  }

  pick(task) {
    this.picked.value = task.instruction;
    fillField(this.value.fills, task.text);
  }

  edit(task) {
    this.pick(task);
    dispatchEvent(new Event("grs-build"));
  }

  // Solved tasks first, but no card moves away under the pointer while tasks are tested.
  visibleTasks() {
    const family = this.family.value,
      visible = this.tasks.filter(
        (task) => (family === "all" || familyOf(task.kind) === family) && (!this.feasibleOnly.value || task.feasible),
      );
    return this.value.current_trial ? visible : visible.sort((a, b) => +isUnsolved(a) - +isUnsolved(b));
  }

  template() {
    if (!this.tasks.length) return html`<div class="empty panel">${this.value.waiting}</div>`;
    const visible = this.visibleTasks();
    return html`${this.head()}
      <div class="cards">
        ${visible.map((task) => this.editableCard(task))}
        ${!visible.length && html`<div class="empty panel">${t("No tasks match this filter.")}</div>`}
      </div>`;
  }

  head() {
    return html`<div class="head">
      <div class="filters" role="group" aria-label=${t("Task kinds")}>${FAMILIES.map((one) => this.filter(...one))}</div>
      <${TickBox} label=${t("Solvable only")} checked=${this.feasibleOnly.value}
        onChange=${(isTicked) => (this.feasibleOnly.value = isTicked)} />
      <span class="state" role="status">${this.progress()}</span>
    </div>`;
  }

  filter(name, title) {
    const count = this.tasks.filter((task) => name === "all" || familyOf(task.kind) === name).length,
      isOn = this.family.value === name;
    if (!count) return null;
    return html`<button class=${classes("filter", isOn && "on")} aria-pressed=${isOn}
      onclick=${() => (this.family.value = name)}>${title}<span class="count">${count}</span></button>`;
  }

  progress() {
    const { tasks } = this,
      tried = tasks.filter((task) => task.tried).length,
      feasible = tasks.filter((task) => task.feasible).length,
      stop = () => {
        this.isStopped = true;
        this.send("stop_trials", {});
      },
      start = () => {
        this.isStopped = false;
        this.requested = "";
        this.startTrials();
      };
    if (this.value.current_trial)
      return html`<i class="spin" /> ${t("Testing tasks: {tried} of {tasks}", { tried, tasks: tasks.length })}${" "}
        <button class="studio-button plain" data-sends="task-cards.stop_trials" onclick=${stop}>${t("Stop")}</button>`;
    if (tried === tasks.length) return t("{feasible} of {tasks} solvable", { feasible, tasks: tasks.length });
    return html`<button class="studio-button" data-sends="task-cards.start_trials" onclick=${start}>
      ${tried ? t("Test remaining tasks") : t("Test all tasks")}</button>`;
  }

  editableCard(task) {
    return html`<div class="card" key=${task.instruction}>${this.card(task)}
      <button class="studio-button edit" aria-label=${t("Edit the task: {task}", { task: task.words || task.instruction })}
        data-sends="task-builder.build" onclick=${() => this.edit(task)}>${t("Edit")}</button>
    </div>`;
  }

  card(task) {
    const suggestion = this.suggestedTask(),
      isSuggested = task === suggestion,
      isChosen = isSuggested || (!suggestion && task.instruction === (this.picked.value || this.value.chosen));
    return html`<button class=${classes("tile task", isSuggested ? "suggested" : isChosen && "on")}
      aria-pressed=${isChosen} data-kind=${task.kind} onclick=${() => this.pick(task)}>
      <span class="goal-picture">${picture(task)}
        <span class="verdict">${verdict(task, this.value.current_trial)}</span>
        ${isChosen && html`<span class="chosen">${isSuggested ? t("Suggested") : t("Chosen")}</span>`}
      </span>
      ${description(task)}
    </button>`;
  }
}

function picture(task) {
  if (!task.picture) return html`<span class="blank cover">${task.tried && t("No picture")}</span>`;
  const alt = task.feasible ? t("The table when solved") : t("The table after the test");
  return html`<img src=${task.picture} alt=${alt} loading="lazy" />`;
}

function verdict(task, currentTrial) {
  if (!task.tried && task.instruction === currentTrial)
    return html`<span class="tag"><i class="spin" /> ${t("Testing …")}</span>`;
  if (!task.tried && task.refusal)
    return html`<span class="tag bad" title=${task.refusal}>${t("✕ Not with this robot")}</span>`;
  if (!task.tried) return html`<span class="tag">${t("Not tested")}</span>`;
  if (task.feasible === false) return html`<span class="tag bad" title=${task.why}>${t("✕ Not solved")}</span>`;
  if (!task.feasible) return html`<span class="tag" title=${task.why}>${t("? Not tested")}</span>`;
  return html`<span class="tag good" title=${t("Solved in the twin from the photographed layout")}>
    ✓ ${t("{n} move|{n} moves", { n: task.moves })}</span>`;
}

function description(task) {
  return html`<span class="text">
    <span class="kind flow"><b>${t(words(task.kind) || "task")}</b>
      ${
        task.level &&
        html`<span class=${classes("tag", LEVELS[task.level])} title=${t("Estimated difficulty")}>${t(task.level)}</span>`
      }
    </span>
    <strong>${task.words || task.instruction}</strong>
    ${isUnsolved(task) && html`<span class="why">${task.why || task.refusal}</span>`}
    ${
      task.doubts?.length > 0 &&
      html`<span class="faint" title=${task.doubts.join(" ")}>
      ${t("Uncertain what it is: {objects}", { objects: task.uncertain.join(", ") })}</span>`
    }
    <span class="faint" title=${task.goals.join("; ")}>
      ${t("{n} object|{n} objects", { n: task.objects.length })}: ${task.objects.join(", ")}${addedObjects(task)}</span>
  </span>`;
}

function addedObjects(task) {
  const names = new Set(task.goals.flatMap((goal) => goal.match(/\w+(?=, set out on the table)/g) ?? []));
  return [...names].map((name) => t(", plus an added {name}", { name: words(name) })).join("");
}

export default mounts(TaskCards);
