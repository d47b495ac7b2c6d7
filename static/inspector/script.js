import { centimetres, chip, fill, h, sizeText } from "/static/studio/dom.js";
import { badge } from "/static/studio/sure.js";
import { folding } from "./folding.js";
import { onSelect, selected } from "/static/studio/selection.js";

const SOURCES = { measured: "measured in the frame", human: "said by a person", rules: "offline rules" };

export default function mount({ element, trigger }) {
  const panel = element.querySelector(".inspector");
  let objects = [];
  const decide = (kind, data) => trigger("decide", { kind, ...data });
  const fact = (name, ...value) => h("div.fact", {}, h("span.key", {}, name), h("span.value", {}, ...value));

  const caption = (object) => (object.size ? object.caption.replace(/,? *[\d.]+ x [\d.]+ x [\d.]+ cm/, "") : object.caption);
  // What stands for it is an asset: then what was measured of it may be called by another name.
  const stands = (one) => one.source === "measured" && one.placed?.asset_id && one.size;
  const fold = folding(element, panel);
  const draw = () => {
    const one = objects.find((object) => object.id === selected());
    if (!one) return fill(panel, fold, h("div.empty", {}, objects.length ? "Select an object in the list, the image or the viewer to see all that is known of it." : "What is known of the selected object stands here."));
    fill(panel, fold,
      h("div.title", {}, chip(one), h("input.name", {
        value: one.name, "aria-label": "Name", title: "Rename: type and press Enter", spellcheck: false,
        onkeydown: (event) => { if (event.key === "Enter") event.target.blur(); if (event.key === "Escape") { event.target.value = one.name; event.target.blur(); } event.stopPropagation(); },
        onchange: (event) => event.target.value.trim() && event.target.value !== one.name && decide("rename", { id: one.id, name: event.target.value.trim() }),
      })),
      one.crop && h("img.crop", { src: one.crop, alt: `The photograph of ${one.name}` }),
      h("p.caption", {}, one.known_as ? [h("strong", {}, one.known_as), " · "] : "", stands(one) ? `measured as ${/^[aeiou]/.test(caption(one)) ? "an" : "a"} ${caption(one)}` : caption(one)),
      one.sure && h("p.sure", {}, badge(one.sure), " ", one.sure.reason),
      one.size && [
        h("h4", {}, "Measured"),
        fact("size", sizeText(one.size)),
        fact("shape", one.shape),
        fact("colour", h("i.swatch", { style: `background:rgb(${one.rgb})` }), one.colour_name),
        fact("source", SOURCES[one.source] ?? one.source),
      ],
      (one.warnings ?? []).map((text) => h("p.warning", {}, text)),
      one.match && [
        h("h4", {}, "In the twin"),
        fact("asset", one.match.asset_id ? one.match.asset_name : "made from the view"),
        fact("why", one.match.reason),
        one.match.asset_id && one.placed && Math.abs(one.placed.scale - 1) > 0.005 && fact("size", `${(one.placed.scale * 100).toFixed(0)} % of the asset's own`),
      ],
      one.placed && [
        fact("mass", `${(one.placed.mass * 1000).toFixed(0)} g`),
        h("h4", {}, "Where it stands"),
        fact("x · y", `${(one.placed.pos[0] * 100).toFixed(1)} · ${centimetres(one.placed.pos[1])}`),
        fact("turn", `${((one.placed.yaw * 180) / Math.PI).toFixed(0)}°`),
        one.moved && h("p.note", {}, "moved by a person"),
        h("button.studio-button.adjust", { onclick: toScene, title: "Move, turn and resize it beside the photograph" }, "Adjust in Scene"),
      ],
      one.fit && [h("h4", {}, "Compared with the photograph"), fact("outline", `${Math.round(one.fit.iou * 100)} % overlap`), one.fit.depth_error !== null && fact("depth", `${centimetres(one.fit.depth_error)} off`), fact("verdict", one.fit.short)],
      h("div.actions", {},
        h("button.studio-button", { onclick: () => decide("not_object", { id: one.id, value: one.is_object }) }, one.is_object ? "Not an object" : "It is an object"),
        h("button.studio-button", { onclick: () => decide("delete_segment", { id: one.id }) }, "Delete")),
    );
  };
  const toScene = () => [...document.querySelectorAll("#steps .tab-container [role=tab]")].find((tab) => tab.textContent.trim().startsWith("Scene"))?.click();
  onSelect(element, draw);
  return (value) => {
    objects = value?.objects ?? [];
    if (!panel.contains(document.activeElement) || document.activeElement.tagName !== "INPUT") draw();
  };
}
