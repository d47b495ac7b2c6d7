// The camera's numbers, to be corrected: what they would make of the picture's width and of the table is said at once.
import { fill, h } from "/static/studio/dom.js";

const FIELDS = [["fx", "Focal length x"], ["fy", "Focal length y"], ["cx", "Middle x"], ["cy", "Middle y"]];
const degrees = (side, focal) => (2 * Math.atan(side / 2 / focal) * 180) / Math.PI;

// `told(numbers)` is called with what a person wants used.
export function camera(value, told) {
  const { width, height, camera: known } = value, inputs = {};
  const view = h("input", { type: "number", step: "0.1", min: "5", max: "160", "aria-label": "Field of view", oninput: () => { const focal = width / 2 / Math.tan((view.valueAsNumber * Math.PI) / 360); if (focal > 0) { inputs.fx.value = inputs.fy.value = focal.toFixed(1); check(); } } });
  for (const [name, title] of FIELDS) inputs[name] = h("input", { type: "number", step: "any", value: String(round(known[name])), "aria-label": title, oninput: () => { wide(); check(); } });
  const says = h("p.says"), use = h("button.studio-button.primary", { onclick: () => told(numbers()) }, "Use these numbers");
  const numbers = () => Object.fromEntries(FIELDS.map(([name]) => [name, inputs[name].valueAsNumber]));
  const wide = () => { view.value = degrees(width, inputs.fx.valueAsNumber).toFixed(1); };
  const check = () => {
    const { fx, fy } = numbers(), same = FIELDS.every(([name]) => Math.abs(inputs[name].valueAsNumber - known[name]) < 0.006);
    use.disabled = same || !Object.values(numbers()).every(Number.isFinite);
    const seen = known.middle && `The picture is ${((width / fx) * known.middle).toFixed(2)} × ${((height / fy) * known.middle).toFixed(2)} m at its middle distance of ${known.middle.toFixed(2)} m. `;
    const scale = Math.sqrt((known.fx * known.fy) / (fx * fy)), table = known.table && `What is seen of the table is ${same ? "" : "about "}${known.table.map((side) => (side * scale).toFixed(2)).join(" × ")} m: is that so?`;
    fill(says, seen, table);
  };
  wide(); check();
  return h("details.camera", { "data-edit": "camera" }, h("summary", {}, "Correct the camera"),
    h("div.numbers", {}, FIELDS.map(([name, title]) => h("label", {}, title, inputs[name])), h("label", {}, "Field of view, °", view)), says,
    h("div.row", {}, use, known.changed && h("button.studio-button", { onclick: () => told(known.came) }, "As it came"), h("span.faint", {}, "All that was measured is measured anew; undo takes it back.")));
}

const round = (value) => Math.round(value * 100) / 100;
