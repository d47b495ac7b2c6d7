import { html } from "/static/studio/view.js";

/** Two columns of code, rows of [kind, left number, left, right number, right]; kind "same", "change", "gap". */
export const Diff = ({ rows }) => html`<div class="code-diff" role="table">
  ${rows.map(([kind, leftNumber, left, rightNumber, right]) => {
    const side = (number, code, changed) => html`<span class="number">${number ?? ""}</span>
      <code class=${code === null ? "none" : kind === "change" && changed}>${code ?? ""}</code>`;
    if (kind === "gap") return html`<div class="gap-row">${left}</div>`;
    return [side(leftNumber, left, "was"), side(rightNumber, right, "now")];
  })}
</div>`;
