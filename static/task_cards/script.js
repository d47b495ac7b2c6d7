import { fill, h, plural } from "/static/studio/dom.js";

const LEVELS = { easy: "good", medium: "", hard: "warn" };
const FAMILIES = [["all", "All"], ["stack", "Stack"], ["sort", "Sort"], ["place", "Put"], ["select", "Select"], ["move", "Rearrange"]];
const FAMILY = { stack: "stack", put_on: "place", put_in: "place", put_in_tray: "place", put_on_table: "place", put_in_drawer: "place", gather: "select", select: "select", group: "select", line_up: "sort" };
const family = (kind) => FAMILY[kind] ?? (kind.startsWith("sort") ? "sort" : "move");
const said = (text) => text.replaceAll("_", " ");

export default function mount({ element, trigger }) {
  const root = element.querySelector(".task-cards");
  let value = {}, only = "all", doableOnly = false, hushed = false, asked = false;

  // Tasks are tried only when somebody looks at them: it takes the processor for a while.
  const eye = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && look());
  eye.observe(root);
  const untried = () => (value.tasks ?? []).filter((task) => !task.tried);
  const look = () => {
    if (hushed || asked || value.trying || !untried().length || !root.getClientRects().length) return;
    asked = true;
    trigger("rehearse", {});
  };

  const verdict = (task) => task.tried
    ? task.doable === true ? h("span.tag.good", { title: "The robot did it in the twin, as photographed" }, `✓ ${plural(task.carries, "move")}`)
      : task.doable === false ? h("span.tag.bad", { title: task.why }, "✕ not managed") : h("span.tag", { title: task.why }, "? not tried")
    : task.instruction === value.trying ? h("span.tag", {}, h("i.spin"), " trying it") : h("span.tag", {}, "not tried yet");
  const picture = (task) => task.picture
    ? h("img", { src: task.picture, alt: `The table when this is ${task.doable ? "done" : "tried"}`, loading: "lazy" })
    : h("span.blank", {}, task.tried ? "no picture" : "");
  const pick = (task) => {
    value = { ...value, chosen: task.instruction, decided: true };
    draw();
    trigger("pick", { instruction: task.instruction });
  };
  const added = (task) => [...new Set(task.goals.flatMap((goal) => goal.match(/\w+(?=, set out on the table)/g) ?? []))].map((name) => `, and a ${said(name)} that is set out`).join("");
  const card = (task) => {
    const on = task.instruction === value.chosen, hinted = on && !value.decided;
    return h(`button.task${hinted ? ".suggested" : on ? ".on" : ""}`, { "aria-pressed": String(on), "data-kind": task.kind, onclick: () => pick(task) },
      h("span.goal-picture", {}, picture(task), h("span.verdict", {}, verdict(task)), on && h("span.chosen", {}, hinted ? "suggested" : "chosen")),
      h("span.words", {},
        h("span.kind", {}, h("b", {}, said(task.kind) || "task"), task.level && h(`span.tag${LEVELS[task.level] ? `.${LEVELS[task.level]}` : ""}`, { title: "How hard it looks" }, task.level)),
        h("strong", {}, task.instruction),
        task.doable === false && h("span.why", {}, task.why),
        h("span.faint", { title: task.goals.join("; ") }, `${plural(task.objects.length, "object")}: ${task.objects.join(", ")}${added(task)}`)));
  };
  const head = (tasks) => {
    const many = (name) => tasks.filter((task) => name === "all" || family(task.kind) === name).length;
    const tried = tasks.filter((task) => task.tried).length, good = tasks.filter((task) => task.doable).length;
    return h("div.head", {},
      h("div.filters", { role: "group", "aria-label": "Kinds of tasks" }, FAMILIES.filter(([name]) => many(name)).map(([name, title]) =>
        h(`button.filter${only === name ? ".on" : ""}`, { "aria-pressed": String(only === name), onclick: () => { only = name; draw(); } }, title, h("span.many", {}, String(many(name)))))),
      h("label.only", {}, h("input", { type: "checkbox", checked: doableOnly, onchange: (event) => { doableOnly = event.target.checked; draw(); } }), " only what the robot managed"),
      h("span.state", { role: "status" }, value.trying
        ? [h("i.spin"), ` trying them in the twin: ${tried} of ${tasks.length} `, h("button.studio-button.plain", { onclick: () => { hushed = true; trigger("hush", {}); } }, "Stop trying")]
        : tried < tasks.length ? h("button.studio-button", { onclick: () => { hushed = asked = false; look(); } }, `Try ${tried ? "the rest" : "them"} in the twin`)
        : `the robot managed ${good} of ${tasks.length}`));
  };

  const draw = () => {
    const tasks = value.tasks ?? [];
    const seen = tasks.filter((task) => (only === "all" || family(task.kind) === only) && (!doableOnly || task.doable));
    fill(root, tasks.length ? [head(tasks), h("div.cards", {}, seen.length ? seen.map(card) : h("div.empty.panel", {}, "No task is left with this filter."))] : h("div.empty.panel", {}, value.waiting ?? ""));
  };
  return (next) => {
    if (value.trying && !next?.trying) asked = false;
    value = next ?? {};
    draw();
    look();
  };
}
