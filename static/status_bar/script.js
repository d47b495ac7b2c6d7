import { fill, h, plural } from "/static/studio/dom.js";
import { openCalls } from "/static/studio/drawer.js";

export default function mount({ element, trigger }) {
  let open = false, last = {};
  // Made once and only changed: a button that is drawn anew cannot be hit while work goes on.
  const stop = h("button.studio-button.stop", { onclick: () => trigger("halt") }, "■ Stop");
  const spin = h("span.spin", { "aria-hidden": "true" }), message = h("span.message", { role: "status" });
  const share = h("span.fill"), track = h("span.track", {}, share), count = h("span.faint");
  const toggle = h("button.studio-button.plain.toggle", { onclick: () => { open = !open; draw(last); } });
  const calls = h("button.studio-button.plain.calls", { title: "What the model was asked and answered", onclick: () => openCalls() });
  const lines = h("div.log", { role: "log" }), now = h("div.now");
  fill(element.querySelector(".status-bar"), lines, now);

  const draw = (value) => {
    last = value ?? {};
    const { running, halting, message: said = "", done = 0, of = 0, log = [] } = last;
    message.textContent = halting ? "Stopping …" : said;
    share.style.width = of ? `${Math.min(100, (done / of) * 100).toFixed(0)}%` : "30%";
    count.textContent = of ? `${done} of ${of}` : "";
    stop.disabled = Boolean(halting);
    toggle.textContent = open ? "Hide log" : `Log (${log.length})`;
    calls.textContent = plural(last.calls ?? 0, "model call");
    toggle.setAttribute("aria-expanded", String(open));
    lines.hidden = !open;
    if (Boolean(running) !== now.contains(stop) || !now.childElementCount)
      fill(now, running ? [stop, spin, track, count] : null, message, calls, toggle);
    if (!open) return;
    fill(lines, log.map((line) => h(`div.line.${line.kind}`, {}, h("time", {}, line.at), h("span", {}, line.text))));
    lines.scrollTop = lines.scrollHeight;
  };
  return draw;
}
