// Asks for the surface that carries the objects, where several are likely.
import { h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

// `grounds` are [{outline, pixel, share}], the current one first. `onPreview` is called with the one to outline, or
// null; `onChoose` with the pixel of the chosen one.
export function groundChoice(grounds, { onPreview, onChoose }) {
  if (!grounds || grounds.length < 2) return null;
  const option = (ground, number) => {
    const show = () => onPreview(ground),
      hide = () => onPreview(null);
    return h(
      "button.studio-button",
      {
        onclick: () => onChoose(ground.pixel),
        onpointerenter: show,
        onfocus: show,
        onpointerleave: hide,
        onblur: hide,
        "data-sends": "frame-view.ground",
      },
      t("Use surface {number} ({share} likely)", { number: number + 2, share: ground.share }),
    );
  };
  return h(
    "div.ground",
    { "data-edit": "ground" },
    h("strong", {}, t("Do the objects stand on the outlined surface?")),
    h(
      "div.row",
      {},
      grounds.slice(1).map(option),
      h("span.faint", {}, t("Hover to see its outline. You can undo this.")),
    ),
  );
}
