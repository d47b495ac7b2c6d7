// Small cards of all objects; identical ones share a frame.
import { Chip, ConfidenceBadge } from "/static/studio/parts.js";
import { select } from "/static/studio/selection.js";
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";
import { FROM_VIEW } from "./candidates.js";

function groupsOf(objects) {
  const grouped = new Set();
  return objects.flatMap((object) => {
    if (grouped.has(object.id)) return [];
    const group = object.identical?.length ? objects.filter(({ id }) => object.identical.includes(id)) : [object];
    for (const { id } of group) grouped.add(id);
    return [group];
  });
}

export function overview(objects, others, current) {
  const card = (object) => objectCard(object, object === current);
  return html`<div class="all">
      ${groupsOf(objects).map((group) =>
        group.length > 1
          ? html`<div class="identical" key=${`group ${group[0].id}`} style=${`--n:${Math.min(group.length, 3)}`}>
              <div class="count">${t("{count} identical", { count: group.length })}</div>${group.map(card)}
            </div>`
          : card(group[0]),
      )}
    </div>
    ${others.length > 0 && html`<h3>${t("Not objects")}</h3><div class="all">${others.map(card)}</div>`}`;
}

function representation({ is_object, match, placed }) {
  if (!is_object) return t("Not in the twin");
  if (match?.asset) return match.asset.name;
  if (!match) return t("Not matched yet");
  const text = match.source === "human" ? t("Reconstructed") : t("No matching asset");
  return placed?.reconstruction ? `${text}: ${placed.reconstruction.shape}` : text;
}

function objectCard(object, isCurrent) {
  const asset = object.match?.asset,
    onKeyDown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      select(object.id);
    };
  return html`<div class=${classes("tile object", isCurrent && "selected")} key=${object.id} data-id=${object.id}
    role="button" tabindex="0" onclick=${() => select(object.id)} onkeydown=${onKeyDown}>
    <div class="crop" style=${`background-image:url("${object.crop}")`}><${Chip} object=${object} /></div>
    <div class="representation" style=${asset && `background-image:url("${asset.image}")`}>
      ${!asset && (object.match ? FROM_VIEW : "…")}</div>
    <div class="text">
      <strong>${object.words}</strong>
      <span class="faint">${representation(object)}</span>
      <${ConfidenceBadge} confidence=${object.confidence} />
    </div>
  </div>`;
}
