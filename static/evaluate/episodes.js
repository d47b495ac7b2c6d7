// The episodes of a condition that play, with what can be done with the condition.
import { eventName } from "/static/compare/plots.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

const short = (value) => (typeof value === "number" ? String(Number(value.toPrecision(3))) : value);

/** `page` is the EvaluatePage of script.js. */
export function episodes(page) {
  const played = page.played.value;
  if (!played) return null;
  const { condition, panes, values } = played,
    drawn = ([name, value]) => html`<div><dt>${name}</dt><dd>${short(value)}</dd></div>`;
  return html`<h3>${t("Events")}</h3>
    ${panes.map((pane) => events(pane, page.viewers))}
    <p class="actions">
      ${page.value.may_work && logButtons(page, played)}
      <button class="studio-button" data-act="make-project" data-sends="evaluate.make_project"
        disabled=${!page.value.may_work} onclick=${() => page.makeProject(condition)}>
        ${t("Make this condition a project")}</button>
    </p>
    <p class="made" role="status">${page.made.value}</p>
    <details key=${condition}>
      <summary>${t("Condition {id}", { id: condition })}</summary>
      <dl>${Object.entries(values).map(drawn)}</dl>
    </details>`;
}

const events = ({ title, events, note }, viewers) => html`<p class="events" aria-label=${title}>
  <strong>${title}</strong>
  ${events.map(
    ([time, name]) =>
      html`<button class="link" onclick=${() => viewers.seek(time)}>${time.toFixed(1)} s ${eventName(name)}</button>`,
  )}
  ${!events.length && html`<span class="muted">${t("None.")}</span>`}
  ${note && html`<span class="muted">${note}</span>`}
</p>`;

function logButtons(page, { condition, log, buttons }) {
  return html`<span class="muted">${log ? t("Real log: {file}", log) : t("Real log of a robot:")}</span>
    ${buttons}
    ${
      log &&
      html`<button class="link" data-sends="evaluate.remove_log" onclick=${() => page.setLog(condition, [])}>
        ${t("Remove")}</button>`
    }`;
}
