// The holes of a row: menus, names that can be put in order, and pads. `builder` is the TaskBuilder of script.js.
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";
import { source, target } from "./dragging.js";
import { placePad, zonePad } from "./pads.js";
import { isMany, reordered, takesObjects, withName, withNames } from "./rows.js";

/** Draws a hole of a row. */
export function holeElement(builder, row, hole) {
  const { key, names } = row;
  if (hole.type === "place") return placePad(builder, row);
  if (hole.type === "zone") {
    const choose = (zone) => builder.change(withNames(row, hole, [zone]));
    return zonePad(row, builder.value.zones, names[hole.index][0], choose);
  }
  const active = builder.active.value,
    isActive = active?.key === key && active.index === hole.index;
  const drop = target(
    (what) => what.name && takesObjects(hole),
    (what) => builder.drop(what, row, hole, null),
  );
  return html`<span class=${classes("hole", isActive && "active")} data-hole="${key} ${hole.index}" ...${drop}>
    ${isMany(hole) && names[hole.index].map((name) => nameElement(builder, row, hole, name))}
    ${menu(builder, row, hole)}
  </span>`;
}

// What may fill a hole: [{name, words}].
function choices({ value }, row, hole) {
  if (hole.type === "container") return value.containers;
  if (hole.type !== "part") return value.objects;
  return value.objects.find((one) => one.name === row.names[hole.index - 1]?.[0])?.parts ?? [];
}

const MENU_TITLES = {
  object: t("Object"),
  objects: t("Add an object"),
  list: t("Add an object"),
  container: t("Container"),
  part: t("Part"),
};

// A menu: of one choice that it shows, or one that adds to the names before it.
function menu(builder, row, hole) {
  const names = row.names[hole.index],
    chosen = isMany(hole) ? "" : (names[0] ?? ""),
    more = choices(builder, row, hole).filter((one) => !isMany(hole) || !names.includes(one.name)),
    hasNames = isMany(hole) && names.length > 0;
  const choose = ({ target: { value } }) => builder.change(withName(row, hole, value, builder.value.objects));
  return html`<select class=${hasNames ? "more" : null} aria-label=${MENU_TITLES[hole.type]}
    data-act="menu ${row.key} ${hole.index}" value=${chosen} onkeydown=${openAtKey}
    onfocus=${() => takesObjects(hole) && builder.activate(row, hole)} onchange=${choose}>
    ${!chosen && html`<option key="" value="" disabled>${hasNames ? "+" : t("Choose …")}</option>`}
    ${more.map(({ name, words }) => html`<option key=${name} value=${name}>${words}</option>`)}
  </select>`;
}

// Without this each arrow key would choose, and each letter of a name that is typed.
function openAtKey(event) {
  const chooses = /^Arrow(Up|Down)$|^[^ \d]$/.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey;
  if (!chooses || !event.currentTarget.showPicker) return;
  event.preventDefault();
  event.currentTarget.showPicker();
}

function nameElement(builder, row, hole, name) {
  const { key } = row,
    { index } = hole,
    names = row.names[index],
    object = builder.value.objects.find((one) => one.name === name),
    words = object?.words ?? name,
    set = (next) => builder.change(withNames(row, hole, next));
  const remove = ({ currentTarget }) => {
    set(names.filter((one) => one !== name));
    builder.focusSoon(`[data-hole="${key} ${index}"] .${currentTarget.className}`, names.indexOf(name));
  };
  const press = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key],
      beside = names[names.indexOf(name) + step];
    if (!step && !["Delete", "Backspace"].includes(event.key)) return;
    event.preventDefault();
    if (!step) remove(event);
    else if (beside) set(names.map((one) => (one === name ? beside : one === beside ? name : one)));
  };
  const put = target(
    (what) => what.name,
    (what) =>
      what.key === key && what.index === index
        ? set(reordered(names, what.name, name))
        : builder.drop(what, row, hole, name),
  );
  return html`<span class="name" key=${name} style="--colour:${object?.colour ?? "transparent"}"
    ...${source({ name, key, index })} ...${put}>
    <button class="word" data-act="name ${key} ${index} ${name}" title=${t("Drag, or use the arrow keys")}
      onkeydown=${press}>${words}</button>
    <button class="remove" aria-label=${t("Remove {name}", { name: words })} onclick=${remove}>×</button>
  </span>`;
}
