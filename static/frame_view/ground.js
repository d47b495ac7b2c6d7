// Asks for the surfaces that carry the objects, where several are likely.
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

// `grounds` are [{outline, pixel, share, chosen, parallel}], the current one first. `onPreview` is called with the one
// to outline, or null; `onChoose` with {pixel} of the chosen one and `also`, the pixels of those chosen beside it.
export function groundChoice(grounds, { onPreview, onChoose }) {
  if (!grounds || grounds.length < 2) return null;
  const [current, ...others] = grounds;
  const button = (ground, text, onclick) => {
    const show = () => onPreview(ground),
      hide = () => onPreview(null);
    return html`<button class="studio-button" data-sends="frame-view.ground" onclick=${onclick} onpointerenter=${show}
      onfocus=${show} onpointerleave=${hide} onblur=${hide}>${text}</button>`;
  };
  const toggle = (ground) => {
    const kept = others.filter((one) => (one === ground ? !one.chosen : one.chosen));
    onChoose({ pixel: current.pixel, also: kept.map((one) => one.pixel) });
  };
  const options = (ground, at) => {
    const number = at + 2,
      use = t("Use surface {number} ({share} likely)", { number, share: ground.share }),
      toggling = ground.chosen ? t("Remove surface {number}", { number }) : t("Add surface {number}", { number });
    return html`<div class="row">${button(ground, use, () => onChoose({ pixel: ground.pixel }))}
      ${(ground.parallel || ground.chosen) && button(ground, toggling, () => toggle(ground))}</div>`;
  };
  return html`<div class="ground" data-edit="ground">
    <strong>${t("Do the objects stand on the outlined surface?")}</strong>
    ${others.map(options)}
    <span class="faint">
      ${t("Hover to see its outline. Add a surface if objects stand on both. You can undo this.")}</span>
  </div>`;
}
