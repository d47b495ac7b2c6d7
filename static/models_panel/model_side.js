// Beside the settings: how the connection was tested, what the project costs with them, and what is sent.
import { openDrawer } from "/static/studio/drawer.js";
import { openSendDialog } from "/static/sending/open_dialog.js";
import { stopJob } from "/static/studio/jobs.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

const SIGNS = { true: ["good", "✓"], false: ["bad", "✕"], null: ["warn", "?"] };
const SENDING = {
  undecided: "Nothing is sent to {address} until you decide.",
  allowed: "Pictures and texts are sent to {address}.",
  declined: "Nothing is sent to {address}. Offline rules answer.",
};
const CONNECTIONS = {
  openai: t("Test connection checks reachability, pictures, schemas, streaming and context length."),
  replay: t("No connection needed. Calls that are not in the record are reported as missing."),
};

export function side(panel) {
  const { value, form, findings, isTesting, estimates } = panel,
    service = form.service.value;
  return html`<div class="side">
    <h3>${t("Connection")}</h3>
    ${
      findings.value.length || isTesting.value
        ? html`<ul class="findings">
            ${findings.value.map(findingRow)}
            ${
              isTesting.value &&
              html`<li><i class="spin" /><span class="muted">${t("Testing …")}</span>
                <button class="studio-button stop" onclick=${() => stopJob(panel.testName)}>
                  ${t("■ Stop")}</button></li>`
            }
          </ul>`
        : html`<p class="hint">${CONNECTIONS[service] ?? t("No connection needed.")}</p>`
    }
    ${value.token && service === "openai" && costs(estimates.value)}
    ${value.token && project(value)}
  </div>`;
}

function findingRow({ ok, what, sentence }) {
  const [tone, sign] = SIGNS[ok];
  return html`<li class=${tone}><i>${sign}</i><span>
    <b>${ok === false && what === "reachable" ? t("not reachable") : what}</b><span class="detail">${sentence}</span>
  </span></li>`;
}

const costs = (sentences) => html`<h3>${t("Estimated cost")}</h3>
  ${
    sentences.length
      ? html`<ul class="plain">${sentences.map((sentence) => html`<li>${sentence}</li>`)}</ul>`
      : html`<p class="hint">${t("No calls left for this project.")}</p>`
  }`;

const project = ({ sending, cost_summary, record }) => html`<h3>${t("This project")}</h3>
  ${
    sending?.address &&
    html`<div class="sending">
      <p class="detail">${t(SENDING[sending.state], { address: sending.address })}</p>
      <div class="actions flow">
        <button class="studio-button" onclick=${openSendDialog}>${t("Review what is sent")}</button></div>
    </div>`
  }
  <p class="detail">${cost_summary}</p>
  ${
    record &&
    html`<div class="actions flow">
        <a class="studio-button" href=${record} download="">${t("Download record")}</a>
        <button class="studio-button" onclick=${() => openDrawer("calls")}>${t("Show calls")}</button>
      </div>
      <p class="hint">
        ${t("The record replays this project on another machine without a key. Choose Recorded run there.")}</p>`
  }`;
