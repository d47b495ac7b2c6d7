import { chip, h } from "/static/studio/dom.js";
import { confidenceBadge } from "/static/studio/confidence.js";
import { t } from "/static/studio/texts.js";

// Small cards of all objects; identical ones share a frame.
export function overview(objects, others, onPick) {
  const groups = [],
    grouped = new Set();
  for (const object of objects) {
    if (grouped.has(object.id)) continue;
    const group = object.identical?.length ? objects.filter(({ id }) => object.identical.includes(id)) : [object];
    for (const { id } of group) grouped.add(id);
    groups.push(group);
  }
  return [
    h(
      "div.all",
      {},
      groups.map((group) =>
        group.length > 1
          ? h(
              "div.identical",
              { style: `--n:${Math.min(group.length, 3)}` },
              h("div.count", {}, t("{count} identical", { count: group.length })),
              group.map((object) => objectCard(object, onPick)),
            )
          : objectCard(group[0], onPick),
      ),
    ),
    others.length
      ? [
          h("h3", {}, t("Not objects")),
          h(
            "div.all",
            {},
            others.map((object) => objectCard(object, onPick)),
          ),
        ]
      : null,
  ];
}

function reconstructionText({ match, placed }) {
  const text = match.source === "human" ? t("Reconstructed") : t("No matching asset");
  return placed?.reconstruction ? `${text}: ${placed.reconstruction.shape}` : text;
}

function objectCard(object, onPick) {
  const asset = object.match?.asset;
  return h(
    "div.tile.object",
    {
      "data-id": object.id,
      role: "button",
      tabindex: "0",
      onclick: () => onPick(object.id),
      onkeydown: (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          event.stopPropagation();
          onPick(object.id);
        }
      },
    },
    h("div.crop", { style: `background-image:url("${object.crop}")` }, chip(object)),
    h(
      "div.representation",
      { style: asset && `background-image:url("${asset.image}")` },
      asset ? "" : object.match ? t("From the view") : "…",
    ),
    h(
      "div.text",
      {},
      h("strong", {}, object.words),
      h(
        "span.faint",
        {},
        object.is_object
          ? (asset?.name ?? (!object.match ? t("Not matched yet") : reconstructionText(object)))
          : t("Not in the twin"),
      ),
      confidenceBadge(object.confidence),
    ),
  );
}
