import { centimetres, chip, fact, fill, h, sizeText } from "/static/studio/dom.js";
import { confidenceBadge } from "/static/studio/confidence.js";
import { collapseButton } from "./collapse.js";
import { showStep } from "/static/studio/gradio_tabs.js";
import { onSelect, selected } from "/static/studio/selection.js";
import { t } from "/static/studio/texts.js";

const SOURCES = { measured: t("measured in the frame"), human: t("set by you"), rules: "rules" };

export default function mount({ element, trigger }) {
  const panel = element.querySelector(".inspector");
  let objects = [];
  const decide = (kind, data) => trigger("decide", { kind, ...data });

  const caption = (object) =>
    object.size ? object.caption.replace(/,? *[\d.]+ x [\d.]+ x [\d.]+ cm/, "") : object.caption;
  // An object represented by an asset: its measured caption may name something else than the asset does.
  const hasMeasuredName = (object) => object.source === "measured" && object.placed?.asset_id && object.size;
  const colourChoice = ({ id, placed: { recolour } }) => [
    fact(
      "colour",
      recolour
        ? [h("i.swatch", { style: `background:rgb(${recolour})` }), t("recoloured to the photograph")]
        : t("the asset's own"),
    ),
    h(
      "button.studio-button.recolour",
      { "data-sends": "inspector.decide", onclick: () => decide("recolour", { id, value: !recolour }) },
      recolour ? t("Use the asset's colour") : t("Recolour to the photograph"),
    ),
  ];
  const toggle = collapseButton(element, panel);
  const draw = () => {
    const object = objects.find((object) => object.id === selected());
    if (!object)
      return fill(
        panel,
        toggle,
        h(
          "div.empty",
          {},
          objects.length ? t("Select an object in the list, the image or the viewer.") : t("No objects yet."),
        ),
      );
    fill(
      panel,
      toggle,
      h("h2.hidden-text", {}, t("Inspector")),
      h(
        "div.title",
        {},
        chip(object),
        h("input.name", {
          disabled: Boolean(object.is_brought),
          "data-sends": "inspector.decide",
          value: object.words,
          "aria-label": t("Name"),
          title: t("Rename (Enter to save; empty for the automatic name)"),
          spellcheck: false,
          onkeydown: (event) => {
            if (event.key === "Enter") event.target.blur();
            if (event.key === "Escape") {
              event.target.value = object.words;
              event.target.blur();
            }
            event.stopPropagation();
          },
          onchange: (event) =>
            event.target.value.trim() !== object.words &&
            decide("display_name", { id: object.id, name: event.target.value.trim() }),
        }),
      ),
      object.crop &&
        h("img.crop", {
          src: object.crop,
          alt: object.is_brought
            ? t("Picture of {name}", { name: object.words })
            : t("The photograph of {name}", { name: object.words }),
        }),
      h(
        "p.caption",
        {},
        object.asset_label ? [h("strong", {}, object.asset_label), " · "] : "",
        hasMeasuredName(object) ? t("measured as: {caption}", { caption: caption(object) }) : caption(object),
      ),
      object.confidence && h("p.sure", {}, confidenceBadge(object.confidence), " ", object.confidence.reason),
      object.size && [
        h("h3", {}, t("Measured")),
        fact("size", sizeText(object.size)),
        fact("shape", t(object.shape)),
        fact("colour", h("i.swatch", { style: `background:rgb(${object.rgb})` }), t(object.colour_name)),
        fact("source", SOURCES[object.source] ?? object.source),
        fact("id", h("span.id", { title: t("The name in programs, checks and exports") }, object.name)),
      ],
      (object.warnings ?? []).map((text) => h("p.warning", {}, text)),
      object.match && [
        h("h3", {}, t("In the twin")),
        fact(
          "asset",
          !object.match.asset_id
            ? t("reconstructed from the view")
            : object.placed?.recolour
              ? t("{asset}, recoloured", { asset: object.match.asset_name })
              : object.match.asset_name,
        ),
        fact("reason", object.match.reason),
        object.match.asset_id &&
          object.placed &&
          Math.abs(object.placed.scale - 1) > 0.005 &&
          fact("size", t("{scale} % of the asset", { scale: (object.placed.scale * 100).toFixed(0) })),
        object.placed?.can_recolour && colourChoice(object),
      ],
      object.placed && [
        fact("mass", `${(object.placed.mass * 1000).toFixed(0)} g`),
        h("h3", {}, t("Pose")),
        fact("x · y", `${(object.placed.pos[0] * 100).toFixed(1)} · ${centimetres(object.placed.pos[1])}`),
        fact("yaw", `${((object.placed.yaw * 180) / Math.PI).toFixed(0)}°`),
        object.moved && h("p.note", {}, t("moved by you")),
        h(
          "button.studio-button.adjust",
          { onclick: () => showStep("scene"), title: t("Move, rotate and resize it on the Scene page") },
          t("Adjust in Scene"),
        ),
      ],
      object.fit && [
        h("h3", {}, t("Compared with the photograph")),
        fact("outline", t("{iou} % IoU", { iou: Math.round(object.fit.iou * 100) })),
        object.fit.depth_error !== null &&
          fact("depth", t("{depth_error} error", { depth_error: centimetres(object.fit.depth_error) })),
        fact("verdict", object.fit.short),
      ],
      !object.is_brought &&
        h(
          "div.actions",
          { "data-sends": "inspector.decide" },
          h(
            "button.studio-button",
            { onclick: () => decide("not_object", { id: object.id, value: object.is_object }) },
            object.is_object ? t("Mark as not an object") : t("Mark as object"),
          ),
          h("button.studio-button", { onclick: () => decide("delete_segment", { id: object.id }) }, t("Delete")),
        ),
    );
  };
  onSelect(element, draw);
  return (value) => {
    objects = value?.objects ?? [];
    if (!panel.contains(document.activeElement) || document.activeElement.tagName !== "INPUT") draw();
  };
}
