// Keeps the texts of notices, so that they can be read after they have disappeared, while the browser tab is open. Each
// belongs to the project that was open, or to the gallery.
//
// Needed of Gradio 6.31, and checked by tests/ui/test_every_page.py: a notice shows its text in an element with
// data-testid="toast-text" of one with "toast-body", which Gradio may reuse for another text; a lost connection is
// announced by a notice that begins with "Connection to the server was lost".
import { fill, h } from "/static/studio/dom.js";
import { t } from "./texts.js";

const STORAGE_KEY = "studioNotices",
  MAX_NOTICES = 40;
const CONNECTION_LOST = /^Connection to the server was lost/; // announced by the banner of the top bar
const notices = JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? "[]");
const shownTexts = new WeakMap(),
  list = h("div.notices", { popover: "auto", role: "log", "aria-label": t("Notices") });
const button = h("button.studio-button.plain", {
  title: t("Show recent notices"),
  onclick: () => {
    draw();
    list.togglePopover();
  },
});
document.body.append(list);

let openProject = null; // not known yet

/** Shows the notices of a project, "" for the gallery; those from before it was known are its own. */
export function showNoticesOf(project) {
  openProject = project;
  for (const notice of notices) notice.project ??= project;
  draw();
}

function draw() {
  const here = notices.filter((notice) => notice.project === openProject);
  button.hidden = !here.length;
  button.textContent = t("{n} notice|{n} notices", { n: here.length });
  fill(
    list,
    here.reverse().map(({ at, text }) => h("p", {}, h("time", {}, at), text)),
  );
}

function record(toast) {
  // Gradio's header is a button around its button to close, which no screen reader can tell apart
  const header = toast.closest("[data-testid=toast-body]")?.querySelector(".toast-header[role=button]");
  for (const attribute of ["role", "tabindex"]) header?.removeAttribute(attribute);
  const text = toast.textContent.trim(),
    body = toast.closest("[data-testid=toast-body]");
  if (body) body.hidden = CONNECTION_LOST.test(text);
  if (!text || CONNECTION_LOST.test(text) || shownTexts.get(toast) === text) return;
  shownTexts.set(toast, text);
  const at = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
  notices.push({ at, text, project: openProject });
  notices.splice(0, notices.length - MAX_NOTICES);
  sessionStorage.setItem(STORAGE_KEY, JSON.stringify(notices));
  draw();
}

new MutationObserver(() => document.querySelectorAll("[data-testid=toast-text]").forEach(record)).observe(
  document.body,
  {
    childList: true,
    subtree: true,
  },
);
draw();

export const noticesButton = button;
