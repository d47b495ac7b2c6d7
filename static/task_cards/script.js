import { fillField } from "/static/studio/fill_field.js";
import { fill, h, plural, tickBox } from "/static/studio/dom.js";

const LEVELS = { easy: "good", medium: "", hard: "warn" };
const FAMILIES = [
  ["all", "All"],
  ["stack", "Stack"],
  ["sort", "Sort"],
  ["place", "Place"],
  ["select", "Select"],
  ["move", "Rearrange"],
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
    isRequested = false;

  // Trials start only when the cards are visible, because they take processor time.
  const visibility = new IntersectionObserver(
    (entries) => entries.some((entry) => entry.isIntersecting) && startTrials(),
  );
  visibility.observe(root);
  const untriedTasks = () => (value.tasks ?? []).filter((task) => !task.tried);
  const startTrials = () => {
    if (isStopped || isRequested || value.current_trial || !untriedTasks().length || !root.getClientRects().length)
      return;
    isRequested = true;
    trigger("start_trials", {});
  };

  const verdict = (task) =>
    task.tried
      ? task.feasible === true
        ? h(
            "span.tag.good",
            { title: "Solved in the twin from the photographed layout" },
            `✓ ${plural(task.moves, "move")}`,
          )
        : task.feasible === false
          ? h("span.tag.bad", { title: task.why }, "✕ Not solved")
          : h("span.tag", { title: task.why }, "? Not tested")
      : task.instruction === value.current_trial
        ? h("span.tag", {}, h("i.spin"), " Testing …")
        : task.refusal
          ? h("span.tag.bad", { title: task.refusal }, "✕ Not with this robot")
          : h("span.tag", {}, "Not tested");
  const picture = (task) =>
    task.picture
      ? h("img", {
          src: task.picture,
          alt: `The table ${task.feasible ? "when solved" : "after the test"}`,
          loading: "lazy",
        })
      : h("span.blank", {}, task.tried ? "No picture" : "");
  const pick = (task) => {
    picked = task.instruction;
    draw();
    fillField(value.fills, picked);
  };
  const addedObjects = (task) =>
    [...new Set(task.goals.flatMap((goal) => goal.match(/\w+(?=, set out on the table)/g) ?? []))]
      .map((name) => `, plus an added ${words(name)}`)
      .join("");
  const card = (task) => {
    const isChosen = task.instruction === (picked || value.chosen),
      isSuggested = isChosen && !picked && !value.decided;
    return h(
      `button.tile.task${isSuggested ? ".suggested" : isChosen ? ".on" : ""}`,
      { "aria-pressed": String(isChosen), "data-kind": task.kind, onclick: () => pick(task) },
      h(
        "span.goal-picture",
        {},
        picture(task),
        h("span.verdict", {}, verdict(task)),
        isChosen && h("span.chosen", {}, isSuggested ? "Suggested" : "Chosen"),
      ),
      h(
        "span.text",
        {},
        h(
          "span.kind",
          {},
          h("b", {}, words(task.kind) || "task"),
          task.level &&
            h(
              `span.tag${LEVELS[task.level] ? `.${LEVELS[task.level]}` : ""}`,
              { title: "Estimated difficulty" },
              task.level,
            ),
        ),
        h("strong", {}, task.words || task.instruction),
        (task.feasible === false || (!task.tried && task.refusal)) && h("span.why", {}, task.why || task.refusal),
        h(
          "span.faint",
          { title: task.goals.join("; ") },
          `${plural(task.objects.length, "object")}: ${task.objects.join(", ")}${addedObjects(task)}`,
        ),
      ),
    );
  };
  const head = (tasks) => {
    const countOf = (name) => tasks.filter((task) => name === "all" || familyOf(task.kind) === name).length;
    const tried = tasks.filter((task) => task.tried).length,
      feasible = tasks.filter((task) => task.feasible).length;
    return h(
      "div.head",
      {},
      h(
        "div.filters",
        { role: "group", "aria-label": "Task kinds" },
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
      tickBox("Solvable only", feasibleOnly, (checked) => {
        feasibleOnly = checked;
        draw();
      }),
      h(
        "span.state",
        { role: "status" },
        value.current_trial
          ? [
              h("i.spin"),
              ` Testing tasks: ${tried} of ${tasks.length} `,
              h(
                "button.studio-button.plain",
                {
                  onclick: () => {
                    isStopped = true;
                    trigger("stop_trials", {});
                  },
                },
                "Stop",
              ),
            ]
          : tried < tasks.length
            ? h(
                "button.studio-button",
                {
                  onclick: () => {
                    isStopped = isRequested = false;
                    startTrials();
                  },
                },
                `Test ${tried ? "remaining" : "all"} tasks`,
              )
            : `${feasible} of ${tasks.length} solved`,
      ),
    );
  };

  const draw = () => {
    const tasks = value.tasks ?? [];
    const visible = tasks.filter(
      (task) => (family === "all" || familyOf(task.kind) === family) && (!feasibleOnly || task.feasible),
    );
    fill(
      root,
      tasks.length
        ? [
            head(tasks),
            h(
              "div.cards",
              {},
              visible.length ? visible.map(card) : h("div.empty.panel", {}, "No tasks match this filter."),
            ),
          ]
        : h("div.empty.panel", {}, value.waiting ?? ""),
    );
  };
  return (next) => {
    if (value.current_trial && !next?.current_trial) isRequested = false;
    if (next?.chosen !== value.chosen) picked = ""; // generated, or undone
    value = next ?? {};
    draw();
    startTrials();
  };
}
