import { html } from "./view.js";

// Two columns of code, rows of [kind, left number, left, right number, right]; kind "same", "change", "gap".
export const diff = (rows) => html`<div class="code-diff" role="table">${rows.map(row)}</div>`;

function row([kind, leftNumber, left, rightNumber, right]) {
  if (kind === "gap") return html`<div class="gap-row">${left}</div>`;
  return html`<span class="number">${leftNumber}</span>${code(left, kind, "was")}
    <span class="number">${rightNumber}</span>${code(right, kind, "now")}`;
}

const code = (text, kind, changed) =>
  html`<code class=${text === null ? "none" : kind === "change" ? changed : null}>${text}</code>`;
