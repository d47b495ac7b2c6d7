// Notices: what the studio tells a person, each for a while at the edge of the page, and in a list while the browser tab
// is open. Each belongs to the project that was open, or to the gallery.
import { onNotices } from "./channel.js";
import { CountButton } from "./parts.js";
import { t } from "./texts.js";
import { html, show, signal } from "./view.js";

const STORAGE_KEY = "studioNotices",
  MAX_NOTICES = 40,
  SHOWN_MS = 14_000, // long enough to read the longest of them twice
  BELL = "M8 2a4 4 0 0 0-4 4v3l-1.5 2.5h11L12 9V6a4 4 0 0 0-4-4M6.5 13.5h3";
const notices = signal(JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? "[]")),
  newest = signal(/** @type {{at: string, text: string}[]} */ ([])), // those at the edge of the page
  openProject = signal(/** @type {string | null} */ (null)), // not known yet
  list = document.createElement("div"),
  edge = document.createElement("div");

const ofThisProject = () => notices.value.filter((notice) => notice.project === openProject.value);
const close = (notice) => (newest.value = newest.value.filter((one) => one !== notice));

show(
  list,
  () => html`<div class="notices" popover="auto" role="log" aria-label=${t("Notices")}>
    ${ofThisProject()
      .reverse()
      .map(({ at, text }) => html`<p><time>${at}</time>${text}</p>`)}
  </div>`,
);
show(edge, () =>
  newest.value.map(
    (notice) => html`<div class="new-notice" role="alert" key=${notice}>
      <p>${notice.text}</p>
      <button class="studio-button plain" title=${t("Close")} aria-label=${t("Close")}
        onclick=${() => close(notice)}>×</button>
    </div>`,
  ),
);
edge.className = "new-notices";
document.body.append(list, edge);
onNotices(edge, (texts) => texts.forEach(record));

/** The button that shows them, if there are any. */
export function NoticesButton() {
  const n = ofThisProject().length;
  return html`<${CountButton} text=${t("{n} notice|{n} notices", { n })} title=${t("Show recent notices")} hidden=${!n}
    icon=${html`<svg viewBox="0 0 16 16" aria-hidden="true"><path d=${BELL} /></svg>`}
    onclick=${() => list.querySelector("div").togglePopover()} />`;
}

/** Shows the notices of a project, "" for the gallery; those from before it was known are its own. */
export function showNoticesOf(project) {
  if (project === openProject.value) return;
  notices.value = notices.value.map((notice) => ({ ...notice, project: notice.project ?? project }));
  openProject.value = project;
}

function record(text) {
  const at = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false }),
    notice = { at, text, project: openProject.value };
  notices.value = [...notices.value, notice].slice(-MAX_NOTICES);
  sessionStorage.setItem(STORAGE_KEY, JSON.stringify(notices.value));
  newest.value = [...newest.value, notice];
  const end = () => (edge.matches(":hover, :focus-within") ? setTimeout(end, SHOWN_MS) : close(notice));
  setTimeout(end, SHOWN_MS);
}
