// How well a pose fits the photograph, beside the automatic one.
import { centimetres } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

const CHANGES = {
  better: ["tag good", t("✓ better")],
  worse: ["tag warn", t("! worse")],
  "the same": ["tag", t("≈ same fit")],
};
const COMPARED = t("Compared with the automatic pose");
const signed = (number) => (Number(number) > 0 ? `+${number}` : `−${Math.abs(number)}`);

function overlap({ iou, machine_fit }) {
  const percent = Math.round(iou * 100),
    change = machine_fit ? percent - Math.round(machine_fit.iou * 100) : 0;
  return [t("outline {percent} %", { percent }), change ? ` (${signed(change)})` : ""];
}

/** Such as "outline 90 % (−5)". */
export const overlapText = (fit) => overlap(fit).join("");

export function fitLine(fit, isChanged) {
  const { depth_error: depth, machine_fit, change } = fit,
    [outline, outlineChange] = overlap(fit),
    hasDepths = machine_fit && depth !== null && machine_fit.depth_error !== null,
    depthChange = hasDepths ? Math.round(depth * 1000) - Math.round(machine_fit.depth_error * 1000) : 0,
    [tone, word] = (isChanged && CHANGES[change]) || [];
  return html`${word && html`<span class=${tone} title=${COMPARED}>${word}</span> `}${outline}
    ${outlineChange && html`<b>${outlineChange}</b>`}
    ${depth !== null && ` ${t("· depth {depth}", { depth: centimetres(depth) })}`}
    ${depthChange !== 0 && html`<b> (${signed((depthChange / 10).toFixed(1))})</b>`}`;
}
