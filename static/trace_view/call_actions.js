// What can be done with a call.
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

export function actions(view, { remedies = [], askable, running, snippets }) {
  const id = view.chosen.value,
    isEditOffered = remedies.some(({ kind }) => kind === "edit"),
    remedy = ({ kind, title, label }) => html`<button class="studio-button" key=${kind} title=${title}
      data-sends="trace-view.act" onclick=${() => (kind === "edit" ? view.edit() : view.send("act", { kind, id }))}>
      ${label}</button>`,
    compare = () => {
      view.comparing.value = id;
      view.compared.value = null;
    };
  return html`<div class="actions">
    ${remedies.map(remedy)}
    ${
      askable &&
      !isEditOffered &&
      html`<button class="studio-button" key="resend" title=${t("Edit the prompt and send it as a new call")}
        data-sends="trace-view.retry" onclick=${() => view.edit()}>${t("Edit and resend")}</button>`
    }
    ${
      !running &&
      html`<button class="studio-button" key="compare" title=${t("Compare two responses")}
        onclick=${compare}>${t("Compare with …")}</button>`
    }
    ${
      snippets &&
      html`<button class="studio-button" key="code" title=${t("Python code for this call, without the key")}
        onclick=${() => view.copySnippet()}>${t("Copy as code")}</button>`
    }
    ${
      running &&
      html`<button class="studio-button stop" key="stop" data-sends="trace-view.cancel"
        onclick=${() => view.attempt({ kind: "cancel", id })}>${t("■ Stop call")}</button>`
    }
  </div>`;
}
