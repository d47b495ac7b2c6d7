// What runs in the studio: one list, which every page gets by its channel, with a stop for each job. Who shows more of a
// kind of job asks for it when the list says that something about it has changed.
import { mayWork } from "./account.js";
import { listedJobs, send } from "./channel.js";
import { CountButton } from "./parts.js";
import { t } from "./texts.js";
import { html, onChange, show } from "./view.js";

const ACTIVE = ["waiting", "running"];
export const isActive = (job) => ACTIVE.includes(job?.state);

/**
 * Calls `look` whenever a job of that kind begins, gets on or ends, as long as `element` is in the page, once at a time.
 * Returns a function that calls it too: a job may end before the page knows the answer that began it.
 * @param {Element} element
 * @param {string} kind
 * @param {() => Promise<any>} look
 */
export function onJobs(element, kind, look) {
  let looks = 0; // that are due
  const begin = async () => {
    if (looks++) return;
    try {
      do {
        looks = 1;
        await look();
      } while (looks > 1);
    } finally {
      looks = 0;
    }
  };
  onChange(element, () => JSON.stringify(listedJobs().filter((job) => job.kind === kind)), begin);
  return begin;
}

export const stopJob = (id) => send("jobs", "stop", { id });

const runningJobs = () => listedJobs().filter(isActive),
  list = document.createElement("div");

show(
  list,
  () => html`<div class="jobs-list" popover="auto" aria-label=${t("Jobs")}>
  ${runningJobs().map(row)}
  ${!runningJobs().length && html`<p class="muted">${t("No job runs.")}</p>`}
</div>`,
);
document.body.append(list);

function row({ id, title, state, message, done, of, stopping }) {
  const about = state === "waiting" ? t("Waiting") : message;
  return html`<div class="job" key=${id}>
    <strong>${title}</strong><span class="faint">${about}</span>
    ${of > 0 && html`<progress max=${of} value=${done} aria-label=${title} />`}
    ${
      mayWork &&
      html`<button class="studio-button stop" data-sends="jobs.stop" disabled=${stopping} onclick=${() => stopJob(id)}>
        ${stopping ? t("Stopping …") : t("■ Stop")}</button>`
    }
  </div>`;
}

/** The button that shows them, while any runs. */
export function JobsButton() {
  const n = runningJobs().length;
  return html`<${CountButton} text=${t("{n} job|{n} jobs", { n })} title=${t("Show what runs")} hidden=${!n}
    icon=${html`<i class="spin" aria-hidden="true" />`} onclick=${() => list.querySelector("div").togglePopover()} />`;
}
