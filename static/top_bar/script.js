import { fill, h } from "/static/studio/dom.js";
import { arrived } from "/static/studio/arriving.js";
import { noticesButton } from "/static/studio/notices.js";
import { openDrawer } from "/static/studio/drawer.js";
import { openLibrary } from "/static/library/opening.js";

const LONGEST = 20_000; // milliseconds that a button looks pressed where no answer comes

export default function mount({ element, trigger }) {
  const bar = element.querySelector(".top-bar");
  let current = {}, taking = null, ends;
  // Looks pressed at once, until the studio has it on record; pressing again takes the one before it, too.
  const take = (kind) => {
    taking = { kind, until: Math.max(current.decided, taking?.until ?? 0) + 1 };
    clearTimeout(ends);
    ends = setTimeout(() => { taking = null; draw(); }, LONGEST);
    draw();
    trigger(kind);
  };
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || event.target.closest("input, textarea, .cm-editor")) return;
    event.preventDefault();
    if (event.shiftKey ? current.can_redo : current.can_undo) take(event.shiftKey ? "redo" : "undo");
  });
  // A page left alone shows what another window did; one whose server is gone says so, and opens anew when it is back.
  document.addEventListener("visibilitychange", () => !document.hidden && current.project && trigger("seen"));
  let gone = false;
  const lost = h("div.lost", { role: "alert", hidden: true }, "The studio does not answer. Is it still running? What you decided is saved; this page goes on by itself when it is back.");
  document.body.append(lost);
  setInterval(async () => {
    const answers = await fetch("/static/studio/icon.svg", { method: "HEAD", cache: "no-store" }).then(() => true, () => false);
    if (gone && answers) location.reload();
    gone = !answers;
    lost.hidden = answers;
  }, 3000);
  const button = (kind, sign, name, keys) => h(`button.studio-button.plain${taking?.kind === kind ? ".on" : ""}`, {
    disabled: !current[`can_${kind}`], title: `${name} ${current[kind] ?? ""} (${keys})`, "aria-busy": String(taking?.kind === kind), onclick: () => take(kind),
  }, taking?.kind === kind ? h("i.spin", { "aria-hidden": "true" }) : h("i", {}, sign), ` ${name}`);
  const working = () => taking && h("span.saved.taking", { role: "status" }, `${taking.kind === "undo" ? "taking back" : "bringing back"} ${current[taking.kind] ?? ""} …`);
  function draw() {
    const { project, title, saved, services = [] } = current;
    fill(bar,
      h("button.brand", { title: "All projects", onclick: () => trigger("home") }, h("span.mark"), "GRS Studio"),
      project && h("span.slash", {}, "/"),
      project && h("strong", {}, title),
      project && h("span.saved", {}, saved),
      project && h("span.history", {},
        button("undo", "↶", "Undo", "Ctrl Z"), button("redo", "↷", "Redo", "Ctrl Shift Z"), working()),
      h("span.services", {}, noticesButton, services.map((service) =>
        h(service.opens === "library" ? "button.shelf.opens" : service.opens ? "button.service.opens" : "span.service", { title: service.note, onclick: () => service.opens && (service.opens === "library" ? openLibrary() : openDrawer(service.opens)) }, service.opens !== "library" && h(`i.${service.live ? "live" : "stand-in"}`, {}, service.live ? "●" : "○"),
          h("span.what", {}, service.what), ` ${service.name}`))),
    );
  }
  return (value) => {
    current = value ?? {};
    const { project, title } = current, address = new URL(location.href);
    if (taking && !(current.decided < taking.until && current[`can_${taking.kind}`])) taking = null;
    if (current.ready) {
      arrived();
      project ? address.searchParams.set("project", project) : address.searchParams.delete("project");
      history.replaceState(null, "", address);
      document.title = project ? `${title} · GRS Studio` : "GRS Studio";
    }
    draw();
  };
}
