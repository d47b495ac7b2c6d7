// How well each object fits the photograph.
import { centimetres, Chip, ConfidenceBadge } from "/static/studio/parts.js";
import { select, selected } from "/static/studio/selection.js";
import { t } from "/static/studio/texts.js";
import { html, mounts, View } from "/static/studio/view.js";

const COLUMNS = [t("Object"), t("Confidence"), t("Outline"), t("Depth"), t("Verdict")];

class FitTable extends View {
  template() {
    const { rows = [], notes = [], waiting, walls } = this.value;
    if (!rows.length) return [waiting && html`<div class="empty panel">${waiting}</div>`, walls && this.walls(walls)];
    return html`<table>
        <thead><tr>${COLUMNS.map((name) => html`<th>${name}</th>`)}</tr></thead>
        <tbody>${rows.map(tableRow)}</tbody>
      </table>
      ${notes.map((note) => html`<p class="note">${note}</p>`)} ${walls && this.walls(walls)}`;
  }

  walls({ note, kept, change }) {
    return html`<p class="note">${note}
      <button class="studio-button" data-sends="fit-table.keep_walls" onclick=${() => this.send("keep_walls", { value: !kept })}>
        ${change}</button></p>`;
  }
}

function tableRow(row) {
  const { id, name, confidence, iou, depth_error, ok, short, verdict } = row,
    depth = depth_error === null ? "" : t("{depth_error} error", { depth_error: centimetres(depth_error) });
  return html`<tr key=${id} data-id=${id} class=${id === selected() && "selected"} onclick=${() => select(id)}>
    <td><${Chip} object=${row} /> ${name}</td>
    <td><${ConfidenceBadge} confidence=${confidence} /></td>
    <td>${iou === null ? "" : t("{iou} % IoU", { iou: Math.round(iou * 100) })}</td>
    <td>${depth}</td>
    <td><span class=${ok ? "tag good" : "tag warn"}>${ok ? "✓" : "!"}</span> ${short ?? verdict}</td>
  </tr>`;
}

export default mounts(FitTable);
