// Keeps the texts of notices, so that they can be read after they have disappeared, while the browser tab is open. Each
// belongs to the project that was open, or to the gallery.
//
// Needed of Gradio 6.31, and checked by tests/ui/test_every_page.py: a notice shows its text in an element with
// data-testid="toast-text" of one with "toast-body", which Gradio may reuse for another text; a lost connection is
// announced by a notice that begins with "Connection to the server was lost".
import { t } from "./texts.js";
import { html, show, signal } from "./view.js";

const STORAGE_KEY = "studioNotices",
  MAX_NOTICES = 40;
const CONNECTION_LOST = /^Connection to the server was lost/; // announced by the banner of the top bar
const notices = signal(JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? "[]")),
  openProject = signal(/** @type {string | null} */ (null)), // not known yet
  shownTexts = new WeakMap(),
  list = document.createElement("div");

const ofThisProject = () => notices.value.filter((notice) => notice.project === openProject.value);

show(
  list,
  () => html`<div class="notices" popover="auto" role="log" aria-label=${t("Notices")}>
    ${ofThisProject()
      .reverse()
      .map(({ at, text }) => html`<p><time>${at}</time>${text}</p>`)}
  </div>`,
);
document.body.append(list);

/** The button that shows them, if there are any. */
export const NoticesButton = () => html`<button class="studio-button plain" title=${t("Show recent notices")}
  hidden=${!ofThisProject().length} onclick=${() => list.querySelector("div").togglePopover()}>
  ${t("{n} notice|{n} notices", { n: ofThisProject().length })}</button>`;

/** Shows the notices of a project, "" for the gallery; those from before it was known are its own. */
export function showNoticesOf(project) {
  if (project === openProject.value) return;
  notices.value = notices.value.map((notice) => ({ ...notice, project: notice.project ?? project }));
  openProject.value = project;
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
  notices.value = [...notices.value, { at, text, project: openProject.value }].slice(-MAX_NOTICES);
  sessionStorage.setItem(STORAGE_KEY, JSON.stringify(notices.value));
}

new MutationObserver(() => document.querySelectorAll("[data-testid=toast-text]").forEach(record)).observe(
  document.body,
  { childList: true, subtree: true },
);
