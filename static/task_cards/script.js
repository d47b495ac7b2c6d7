import { fillField, suggestField } from "/static/studio/fill_field.js";
import { fill, h, tickBox } from "/static/studio/dom.js";
import { isRefused } from "/static/studio/refused_controls.js";
import { t } from "/static/studio/texts.js";

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
  put_on_table: "place",
  put_in_drawer: "place",
  gather: "select",
  select: "select",
  group: "select",
  line_up: "sort",
};
const familyOf = (kind) => FAMILY[kind] ?? (kind.startsWith("sort") ? "sort" : "move");
const words = (text) => text.replaceAll("_", " ");

export default function mount({ element, trigger }) {
  const root = element.querySelector(".task-cards");
  let value = {},
    picked = "", // instruction of the card that fills the text field, until it is generated
    family = "all",
    feasibleOnly = false,
    isStopped = false,
    requested = "", // the offer that was taken last
    suggested = null; // the task that filled the text field by itself

  // Trials start only when the cards are visible, because they take processor time.
  const visibility = new IntersectionObserver(
    (entries) => entries.some((entry) => entry.isIntersecting) && startTrials(),
  );
  visibility.observe(root);
  const untriedTasks = () => (value.tasks ?? []).filter((task) => !task.tried);
  const startTrials = () => {
    const { offer } = value;
    if (
      isRefused("task-cards.start_trials") ||
      isStopped ||
      !offer ||
      offer === requested ||
      !untriedTasks().length ||
      !root.getClientRects().length
    )
      return;
    requested = offer;
    trigger("start_trials", {});
  };

  // Until a person decides: the first proposal, or the first that the robot solved if it does not solve that one.
  const suggestedTask = () => {
    if (value.decided || !value.chosen) return null;
    const first = proposedTask(),
      isUnsolved = first && (first.feasible === false || (!first.tried && first.refusal));
    return (isUnsolved && value.tasks.find((task) => task.feasible)) || first || null;
  };
  const proposedTask = () => value.tasks?.find((task) => task.instruction === value.chosen);
  const suggest = () => {
    const task = picked ? null : suggestedTask();
    if (task && task.instruction !== suggested?.instruction)
      suggestField(value.fills, task.text, [suggested?.text, proposedTask().text]);
    suggested = task;
  };

  const verdict = (task) =>
    task.tried
      ? task.feasible === true
        ? h(
            "span.tag.good",
            { title: t("Solved in the twin from the photographed layout") },
            `✓ ${t("{n} move|{n} moves", { n: task.moves })}`,
          )
        : task.feasible === false
          ? h("span.tag.bad", { title: task.why }, t("✕ Not solved"))
          : h("span.tag", { title: task.why }, t("? Not tested"))
      : task.instruction === value.current_trial
        ? h("span.tag", {}, h("i.spin"), ` ${t("Testing …")}`)
        : task.refusal
          ? h("span.tag.bad", { title: task.refusal }, t("✕ Not with this robot"))
          : h("span.tag", {}, t("Not tested"));
  const picture = (task) =>
    task.picture
      ? h("img", {
          src: task.picture,
          alt: task.feasible ? t("The table when solved") : t("The table after the test"),
          loading: "lazy",
        })
      : h("span.blank", {}, task.tried ? t("No picture") : "");
  const pick = (task) => {
    picked = task.instruction;
    draw();
    fillField(value.fills, task.text);
  };
  const edit = (task) => {
    pick(task);
    dispatchEvent(new Event("grs-build"));
  };
  const addedObjects = (task) =>
    [...new Set(task.goals.flatMap((goal) => goal.match(/\w+(?=, set out on the table)/g) ?? []))]
      .map((name) => t(", plus an added {name}", { name: words(name) }))
      .join("");
  const card = (task) => {
    const suggestion = picked ? null : suggestedTask(),
      isSuggested = task === suggestion,
      isChosen = isSuggested || (!suggestion && task.instruction === (picked || value.chosen));
    return h(
      `button.tile.task${isSuggested ? ".suggested" : isChosen ? ".on" : ""}`,
      { "aria-pressed": String(isChosen), "data-kind": task.kind, onclick: () => pick(task) },
      h(
        "span.goal-picture",
        {},
        picture(task),
        h("span.verdict", {}, verdict(task)),
        isChosen && h("span.chosen", {}, isSuggested ? t("Suggested") : t("Chosen")),
      ),
      h(
        "span.text",
        {},
        h(
          "span.kind",
          {},
          h("b", {}, t(words(task.kind) || "task")),
          task.level &&
            h(
              `span.tag${LEVELS[task.level] ? `.${LEVELS[task.level]}` : ""}`,
              { title: t("Estimated difficulty") },
              t(task.level),
            ),
        ),
        h("strong", {}, task.words || task.instruction),
        (task.feasible === false || (!task.tried && task.refusal)) && h("span.why", {}, task.why || task.refusal),
        task.doubts?.length > 0 &&
          h(
            "span.faint",
            { title: task.doubts.join(" ") },
            t("Uncertain what it is: {objects}", { objects: task.uncertain.join(", ") }),
          ),
        h(
          "span.faint",
          { title: task.goals.join("; ") },
          `${t("{n} object|{n} objects", { n: task.objects.length })}: ${task.objects.join(", ")}${addedObjects(task)}`,
        ),
      ),
    );
  };
  const editable = (task) =>
    h(
      "div.card",
      {},
      card(task),
      h(
        "button.studio-button.edit",
        {
          "aria-label": t("Edit the task: {task}", { task: task.words || task.instruction }),
          "data-sends": "task-builder.build",
          onclick: () => edit(task),
        },
        t("Edit"),
      ),
    );
  const head = (tasks) => {
    const countOf = (name) => tasks.filter((task) => name === "all" || familyOf(task.kind) === name).length;
    const tried = tasks.filter((task) => task.tried).length,
      feasible = tasks.filter((task) => task.feasible).length;
    return h(
      "div.head",
      {},
      h(
        "div.filters",
        { role: "group", "aria-label": t("Task kinds") },
        FAMILIES.filter(([name]) => countOf(name)).map(([name, title]) =>
          h(
            `button.filter${family === name ? ".on" : ""}`,
            {
              "aria-pressed": String(family === name),
              onclick: () => {
                family = name;
                draw();
              },
            },
            title,
            h("span.count", {}, String(countOf(name))),
          ),
        ),
      ),
      tickBox(t("Solvable only"), feasibleOnly, (checked) => {
        feasibleOnly = checked;
        draw();
      }),
      h(
        "span.state",
        { role: "status" },
        value.current_trial
          ? [
              h("i.spin"),
              ` ${t("Testing tasks: {tried} of {tasks}", { tried, tasks: tasks.length })} `,
              h(
                "button.studio-button.plain",
                {
                  "data-sends": "task-cards.stop_trials",
                  onclick: () => {
                    isStopped = true;
                    trigger("stop_trials", {});
                  },
                },
                t("Stop"),
              ),
            ]
          : tried < tasks.length
            ? h(
                "button.studio-button",
                {
                  "data-sends": "task-cards.start_trials",
                  onclick: () => {
                    isStopped = false;
                    requested = "";
                    startTrials();
                  },
                },
                tried ? t("Test remaining tasks") : t("Test all tasks"),
              )
            : t("{feasible} of {tasks} solved", { feasible, tasks: tasks.length }),
      ),
    );
  };

  const draw = () => {
    const tasks = value.tasks ?? [];
    const isUnsolved = (task) => task.feasible === false || (!task.tried && Boolean(task.refusal));
    const visible = tasks.filter(
      (task) => (family === "all" || familyOf(task.kind) === family) && (!feasibleOnly || task.feasible),
    );
    // Solved tasks first, but no card moves away under the pointer while tasks are tested.
    if (!value.current_trial) visible.sort((a, b) => isUnsolved(a) - isUnsolved(b));
    fill(
      root,
      tasks.length
        ? [
            head(tasks),
            h(
              "div.cards",
              {},
              visible.length ? visible.map(editable) : h("div.empty.panel", {}, t("No tasks match this filter.")),
            ),
          ]
        : h("div.empty.panel", {}, value.waiting ?? ""),
    );
  };
  return (next) => {
    if (next?.chosen !== value.chosen) picked = ""; // generated, or undone
    value = next ?? {};
    draw();
    suggest();
    startTrials();
  };
}
