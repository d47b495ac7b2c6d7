import { fill, h } from "/static/studio/dom.js";
import { openDrawer } from "/static/studio/drawer.js";
import { openLibrary } from "/static/library/opening.js";

export default function mount({ element, trigger }) {
  const bar = element.querySelector(".top-bar");
  let current = {};
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || event.target.closest("input, textarea, .cm-editor")) return;
    event.preventDefault();
    if (event.shiftKey ? current.can_redo : current.can_undo) trigger(event.shiftKey ? "redo" : "undo");
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
  return (value) => {
    current = value ?? {};
    const { project, title, saved, services = [] } = current;
    const address = new URL(location.href);
    if (current.ready) {
      project ? address.searchParams.set("project", project) : address.searchParams.delete("project");
      history.replaceState(null, "", address);
      document.title = project ? `${title} · GRS Studio` : "GRS Studio";
    }
    fill(bar,
      h("button.brand", { title: "All projects", onclick: () => trigger("home") }, h("span.mark"), "GRS Studio"),
      project && h("span.slash", {}, "/"),
      project && h("strong", {}, title),
      project && h("span.saved", {}, saved),
      project && h("span.history", {},
        h("button.studio-button.plain", { disabled: !current.can_undo, title: `Undo ${current.undo ?? ""} (Ctrl Z)`, onclick: () => trigger("undo") }, "↶ Undo"),
        h("button.studio-button.plain", { disabled: !current.can_redo, title: `Redo ${current.redo ?? ""} (Ctrl Shift Z)`, onclick: () => trigger("redo") }, "↷ Redo")),
      h("span.services", {}, services.map((service) =>
        h(service.opens === "library" ? "button.shelf.opens" : service.opens ? "button.service.opens" : "span.service", { title: service.note, onclick: () => service.opens && (service.opens === "library" ? openLibrary() : openDrawer(service.opens)) }, service.opens !== "library" && h(`i.${service.live ? "live" : "stand-in"}`, {}, service.live ? "●" : "○"),
          h("span.what", {}, service.what), ` ${service.name}`))),
    );
  };
}
