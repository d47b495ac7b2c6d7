// Form to correct the camera's intrinsics. It shows how wide the picture and the table would be with the typed values.
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const FIELDS = [
  ["fx", t("Focal length x")],
  ["fy", t("Focal length y")],
  ["cx", t("Principal point x")],
  ["cy", t("Principal point y")],
];
const degrees = (side, focal) => (2 * Math.atan(side / 2 / focal) * 180) / Math.PI;

// `onUse` is called with {fx, fy, cx, cy, depth_factor} when a person applies them.
export function cameraForm(value, onUse) {
  const { width, height, camera } = value,
    inputs = {};
  const fieldOfView = h("input", {
    type: "number",
    step: "0.1",
    min: "5",
    max: "160",
    "aria-label": t("Field of view"),
    oninput: () => {
      const focal = width / 2 / Math.tan((fieldOfView.valueAsNumber * Math.PI) / 360);
      if (focal > 0) {
        inputs.fx.value = inputs.fy.value = focal.toFixed(1);
        update();
      }
    },
  });
  for (const [name, title] of FIELDS)
    inputs[name] = h("input", {
      type: "number",
      step: "any",
      value: String(round(camera[name])),
      "aria-label": title,
      oninput: () => {
        showFieldOfView();
        update();
      },
    });
  const distance = h(
    "select",
    { onchange: () => update() },
    camera.factors.map((factor) =>
      h(
        "option",
        { value: String(factor), selected: factor === camera.depth_factor },
        `${((camera.median_depth * factor) / camera.depth_factor).toFixed(2)} m${factor === 1 ? ` (${t("as read")})` : ""}`,
      ),
    ),
  );
  const estimate = h("p.estimate"),
    useButton = h("button.studio-button.primary", { onclick: () => onUse(intrinsics()) }, t("Apply"));
  const intrinsics = () => ({
    ...Object.fromEntries(FIELDS.map(([name]) => [name, inputs[name].valueAsNumber])),
    depth_factor: Number(distance.value),
  });
  const showFieldOfView = () => {
    fieldOfView.value = degrees(width, inputs.fx.valueAsNumber).toFixed(1);
  };
  const update = () => {
    const { fx, fy, depth_factor } = intrinsics(),
      closer = depth_factor / camera.depth_factor,
      isUnchanged =
        closer === 1 && FIELDS.every(([name]) => Math.abs(inputs[name].valueAsNumber - camera[name]) < 0.006);
    useButton.disabled = isUnchanged || !Object.values(intrinsics()).every(Number.isFinite);
    const depth = camera.median_depth * closer,
      sides = [(width / fx) * depth, (height / fy) * depth].map((side) => side.toFixed(2));
    const pictureSize =
      depth &&
      `${t("The picture is {sides} m at the median depth of {depth} m.", { sides: sides.join(" × "), depth: depth.toFixed(2) })} `;
    const scale = closer * Math.sqrt((camera.fx * camera.fy) / (fx * fy)),
      tableSides = camera.table?.map((side) => (side * scale).toFixed(2)).join(" × "),
      table =
        tableSides && isUnchanged
          ? t("Visible table: {sides} m.", { sides: tableSides })
          : t("Visible table: about {sides} m.", { sides: tableSides });
    fill(estimate, pictureSize, table);
  };
  showFieldOfView();
  update();
  return h(
    "details.camera",
    { "data-edit": "camera", "data-sends": "frame-view.camera" },
    h("summary", {}, t("Correct the camera")),
    h(
      "div.numbers",
      {},
      FIELDS.map(([name, title]) => h("label", {}, title, inputs[name])),
      h("label", {}, t("Field of view, °"), fieldOfView),
      camera.median_depth && h("label", {}, t("Median distance"), distance),
    ),
    estimate,
    h(
      "div.row",
      {},
      useButton,
      camera.changed && h("button.studio-button", { onclick: () => onUse(camera.original) }, t("Reset")),
      h("span.faint", {}, t("Recomputes every measurement. You can undo this.")),
    ),
  );
}

const round = (value) => Math.round(value * 100) / 100;
