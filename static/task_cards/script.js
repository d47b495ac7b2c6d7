import { fill, h } from "/static/studio/dom.js";

export default function mount({ element, trigger }) {
  const list = element.querySelector(".task-cards");
  return (value) => {
    const tasks = value?.tasks ?? [];
    fill(list, tasks.length ? tasks.map((task) => {
      const on = task.instruction === value.chosen;
      return h(`button.task${on ? ".on" : ""}`, { "aria-pressed": String(on), onclick: () => trigger("pick", { instruction: task.instruction }) },
        h("span.kind", {}, task.kind.replaceAll("_", " ") || "task", on && h("span.tag.good", {}, "✓ chosen")), h("strong", {}, task.instruction),
        h("span.goals", {}, task.goals.join("; ")), h("span.faint", {}, `proposed by ${task.source}`));
    }) : h("div.empty.panel", {}, value?.waiting ?? ""));
  };
}
