// Fields for an object's position, turn and size, which show its pose or the one that is tried.
import { TypedInput } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";
import { angles, halfHeight, quaternion } from "./euler_angles.js";
import { leaveOnEnter } from "./physics_fields.js";

const FIELDS = ["x", "y", "z", t("yaw"), t("pitch"), t("roll"), t("size")];
const unitOf = (index) => (index < 3 ? "cm" : index < 6 ? "°" : "%");
const STEPS = { cm: 0.1, "°": 1, "%": 1 };

const numbersOf = ({ pos, quat_wxyz, scale }) =>
  [
    ...pos.map((length) => (length * 100).toFixed(1)),
    ...angles(quat_wxyz).map((angle) => angle.toFixed(0)),
    (scale * 100).toFixed(0),
  ].map((text) => text.replace(/^-(0(\.0)?)$/, "$1"));

// The pose of all fields after the one at `index` was typed in; null if they are no pose.
function typedPose(object, before, numbers, index) {
  if (!numbers.every(Number.isFinite) || !(numbers[6] > 0)) return null;
  const scale = index === 6 ? numbers[6] / 100 : before.scale,
    quat_wxyz = index >= 3 && index < 6 ? quaternion(numbers.slice(3, 6)) : before.quat_wxyz,
    pos = index < 3 ? numbers.slice(0, 3).map((length) => length / 100) : [...before.pos];
  if (index === 6) pos[2] += halfHeight(quat_wxyz, object.size) * ((scale - before.scale) / object.made_scale);
  return { pos, quat_wxyz, scale };
}

/** `onTry` is called with each pose that is typed, `onDone` once it is. */
export function poseFields(object, pose, onTry, onDone) {
  const type = ({ target }) => {
    const inputs = [...target.closest(".pose").querySelectorAll("input")],
      numbers = inputs.map((input) => Number(input.value)),
      typed = typedPose(object, pose, numbers, inputs.indexOf(target));
    if (typed) onTry(typed);
    return typed;
  };
  const sizeTitle = object.reconstructed
    ? t("100 %: as reconstructed from the view")
    : t("100 %: the asset's size in the library");
  const field = (number, index) => {
    const [name, unit] = [FIELDS[index], unitOf(index)];
    return html`<label title=${index === 6 ? sizeTitle : undefined}>${name}
      <${TypedInput} class="number" type="number" data-sends="adjuster.decide" step=${STEPS[unit]} value=${number}
        aria-label=${t("{name} in {unit}", { name, unit })} data-index=${index} oninput=${type}
        onchange=${(event) => type(event) && onDone()} onkeydown=${leaveOnEnter} />${unit}</label>`;
  };
  return html`<div class="pose flow" key=${`pose ${object.id}`}>${numbersOf(pose).map(field)}</div>`;
}
