import { h } from "/static/studio/dom.js";
import { html } from "/static/studio/view.js";

// Two columns of code, rows of [kind, left number, left, right number, right]; kind "same", "change", "gap".
export function diff(rows) {
  return h(
    "div.code-diff",
    { role: "table" },
    rows.map(([kind, leftNumber, left, rightNumber, right]) =>
      kind === "gap"
        ? h("div.gap-row", {}, left)
        : [
            h("span.number", {}, leftNumber ?? ""),
            h(`code${kind === "change" && left !== null ? ".was" : left === null ? ".none" : ""}`, {}, left ?? ""),
            h("span.number", {}, rightNumber ?? ""),
            h(`code${kind === "change" && right !== null ? ".now" : right === null ? ".none" : ""}`, {}, right ?? ""),
          ],
    ),
  );
}

/** The same in a template. */
export const Diff = ({ rows }) => html`<div class="code-diff" role="table">
  ${rows.map(([kind, leftNumber, left, rightNumber, right]) => {
    const side = (number, code, changed) => html`<span class="number">${number ?? ""}</span>
      <code class=${code === null ? "none" : kind === "change" && changed}>${code ?? ""}</code>`;
    if (kind === "gap") return html`<div class="gap-row">${left}</div>`;
    return [side(leftNumber, left, "was"), side(rightNumber, right, "now")];
  })}
</div>`;
