// Asks for the surfaces that carry the objects, where several are likely.
import { h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

// `grounds` are [{outline, pixel, share, chosen, parallel}], the current one first. `onPreview` is called with the one
// to outline, or null; `onChoose` with {pixel} of the chosen one and `also`, the pixels of those chosen beside it.
export function groundChoice(grounds, { onPreview, onChoose }) {
  if (!grounds || grounds.length < 2) return null;
  const [current, ...others] = grounds;
  const button = (ground, text, onclick) => {
    const show = () => onPreview(ground),
      hide = () => onPreview(null);
    const events = { onclick, onpointerenter: show, onfocus: show, onpointerleave: hide, onblur: hide };
    return h("button.studio-button", { ...events, "data-sends": "frame-view.ground" }, text);
  };
  const toggle = (ground) => {
    const kept = others.filter((one) => (one === ground ? !one.chosen : one.chosen));
    onChoose({ pixel: current.pixel, also: kept.map((one) => one.pixel) });
  };
  const options = (ground, at) => {
    const number = at + 2,
      text = ground.chosen ? t("Remove surface {number}", { number }) : t("Add surface {number}", { number });
    return [
      button(ground, t("Use surface {number} ({share} likely)", { number, share: ground.share }), () =>
        onChoose({ pixel: ground.pixel }),
      ),
      (ground.parallel || ground.chosen) && button(ground, text, () => toggle(ground)),
    ];
  };
  return h(
    "div.ground",
    { "data-edit": "ground" },
    h("strong", {}, t("Do the objects stand on the outlined surface?")),
    others.map((ground, at) => h("div.row", {}, options(ground, at))),
    h("span.faint", {}, t("Hover to see its outline. Add a surface if objects stand on both. You can undo this.")),
  );
}
