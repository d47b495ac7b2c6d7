import { fill, h } from "/static/studio/dom.js";

export default function mount({ element, trigger }) {
  const bar = element.querySelector(".status-bar");
  let open = false, last = {};
  const draw = (value) => {
    last = value ?? {};
    const { running, halting, message = "", done = 0, of = 0, log = [] } = last;
    const share = of ? Math.min(1, done / of) : null;
    bar.classList.toggle("open", open);
    fill(bar,
      open && h("div.log", { role: "log" }, log.map((line) =>
        h(`div.line.${line.kind}`, {}, h("time", {}, line.at), h("span", {}, line.text)))),
      h("div.now", {},
        running ? h("span.spin", { "aria-hidden": "true" }) : null,
        h("span.message", { role: "status" }, halting ? "Stopping …" : message),
        running && h("span.track", {}, h("span.fill", { style: share === null ? "width:30%" : `width:${(share * 100).toFixed(0)}%` })),
        running && of ? h("span.faint", {}, `${done} of ${of}`) : null,
        running && h("button.studio-button.stop", { disabled: halting, onclick: () => trigger("halt") }, "■ Stop"),
        h("button.studio-button.plain.toggle", { "aria-expanded": String(open), onclick: () => { open = !open; draw(last); } }, open ? "Hide log" : `Log (${log.length})`)),
    );
    const lines = bar.querySelector(".log");
    if (lines) lines.scrollTop = lines.scrollHeight;
  };
  return draw;
}
