import { fill, h } from "/static/studio/dom.js";

export default function mount({ element, trigger }) {
  const root = element.querySelector(".results");
  return (value) => {
    if (!value?.stages) return fill(root);
    const seeds = value.seeds ?? [], missed = seeds.filter((one) => !one.success);
    const at = value.failure?.instant == null ? "" : `, at ${value.failure.instant.toFixed(1)} s`;
    fill(root,
      value.sentence && h(`div.verdict.${value.solved ? "good" : "warn"}`, {}, h("strong", {}, value.solved ? "✓ Solved. " : "! Not solved. "), value.sentence),
      h("div.panel.box.robots", {}, h("h4", {}, "Who does it"), (value.robots ?? []).map((one) =>
        h(`button.robot${one.chosen ? ".chosen" : ""}`, { disabled: value.busy || !value.ready, "aria-pressed": String(one.chosen), title: value.ready ? `Try every seed with it: ${one.note}` : "Generate a task first", onclick: () => trigger("solve", { robot: one.name }) },
          h("strong", {}, `${one.chosen ? "● " : "○ "}${one.title}`), h("span.faint", {}, one.note)))),
      h("div.grid", {},
        h("div.panel.box", {}, h("h4", {}, "Reward per seed"), seeds.length ? [
          h("div.bars", { role: "img", "aria-label": seeds.map((one) => `seed ${one.seed}: ${one.reward.toFixed(2)}`).join(", ") }, seeds.map((one) =>
            h("div.seed", { title: one.crash || `seed ${one.seed}: reward ${one.reward.toFixed(2)}` },
              h("span.number", {}, one.crash ? "✕" : one.reward.toFixed(2)), h("span.column", {}, h(`span.level${one.success ? ".good" : ""}`, { style: `height:${Math.max(2, one.reward * 100)}%` })), h("span.faint", {}, `${one.success ? "✓" : "✕"} ${one.seed}`)))),
          h("p.faint", {}, "A seed is one drawing of the starting layout; seed 0 is as photographed. A full bar is reward 1."),
          missed.length ? h("ul.missed", {}, missed.slice(0, 4).map((one) => h("li", {}, h("strong", {}, `Seed ${one.seed}: `), one.why || one.crash))) : null] : h("p.muted", {}, value.waiting ?? "")),
        h("div.panel.box", {}, h("h4", {}, "Take it with you"),
          value.video && value.solved && h("p.caption", {}, "✓ The first seed that is solved"),
          value.video && h("video", { src: value.video, controls: true, muted: true, preload: "metadata" }),
          value.video_missing && h("p.muted", {}, value.video_missing),
          value.failure?.video && [h("p.caption", {}, `✕ Seed ${value.failure.seed}, the first that failed${at}`), h("video", { src: value.failure.video, controls: true, muted: true, preload: "metadata" })],
          h("div.links", {}, value.zip ? h("a.studio-button.primary", { href: value.zip, download: "" }, "Download zip") : null, value.video ? h("a.studio-button", { href: value.video, download: "solution.mp4" }, "Download video") : null),
          h("p.faint", {}, value.zip ? "MJCF, meshes, task, code, solution and a README that says how to run it alone." : "The zip can be had as soon as there is a twin."))),
      h("div.panel.box.wide", {}, h("h4", {}, "How each step came about"), h("table", {}, h("tbody", {}, value.stages.map((one) =>
        h("tr", {}, h("td", {}, one.stage), h("td", {}, h(`span.tag.${one.tone}`, {}, one.state)), h("td", {}, one.source), h("td.faint", {}, one.note)))))));
  };
}
