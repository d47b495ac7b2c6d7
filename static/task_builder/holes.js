// The holes of a row: menus, names that can be put in order, and pads. `builder` is the TaskBuilder of script.js.
import { h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";
import { source, target } from "./dragging.js";
import { placePad, zonePad } from "./pads.js";
import { isMany, reordered, takesObjects, withName, withNames } from "./rows.js";

/** Draws a hole of a row. */
export function holeElement(builder, row, hole) {
  const { value } = builder,
    change = (next) => builder.change(next);
  if (hole.type === "place") return placePad(row, value, (place) => change({ ...row, place }));
  if (hole.type === "zone")
    return zonePad(row, value.zones, row.names[hole.index][0], (zone) => change(withNames(row, hole, [zone])));
  const isActive = builder.active?.key === row.key && builder.active.index === hole.index;
  return h(
    `span.hole${isActive ? ".active" : ""}`,
    {
      "data-hole": `${row.key} ${hole.index}`,
      ...target(
        (what) => what.name && takesObjects(hole),
        (what) => builder.drop(what, row, hole, null),
      ),
    },
    isMany(hole) && row.names[hole.index].map((name) => nameElement(builder, row, hole, name)),
    menu(builder, row, hole),
  );
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
    more = choices(builder, row, hole).filter((one) => !isMany(hole) || !names.includes(one.name));
  const placeholder = isMany(hole) && names.length ? "+" : t("Choose …");
  return h(
    `select${isMany(hole) && names.length ? ".more" : ""}`,
    {
      "aria-label": MENU_TITLES[hole.type],
      "data-act": `menu ${row.key} ${hole.index}`,
      onkeydown: openAtKey,
      onfocus: () => takesObjects(hole) && builder.activate(row, hole),
      onchange: ({ target: { value } }) => builder.change(withName(row, hole, value, builder.value.objects)),
    },
    !chosen && h("option", { value: "", disabled: true, selected: true }, placeholder),
    more.map(({ name, words }) => h("option", { value: name, selected: name === chosen }, words)),
  );
}

// Without this each arrow key would choose, and each letter of a name that is typed.
function openAtKey(event) {
  const chooses = /^Arrow(Up|Down)$|^[^ \d]$/.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey;
  if (!chooses || !event.currentTarget.showPicker) return;
  event.preventDefault();
  event.currentTarget.showPicker();
}

function nameElement(builder, row, hole, name) {
  const names = row.names[hole.index],
    object = builder.value.objects.find((one) => one.name === name),
    words = object?.words ?? name,
    set = (next) => builder.change(withNames(row, hole, next)),
    remove = () => set(names.filter((one) => one !== name));
  const move = (step) => {
    const next = [...names],
      at = next.indexOf(name);
    if (next[at + step] === undefined) return;
    [next[at], next[at + step]] = [next[at + step], name];
    set(next);
  };
  const onkeydown = (event) => {
    const act = {
      ArrowLeft: () => move(-1),
      ArrowRight: () => move(1),
      Delete: remove,
      Backspace: remove,
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  const own = { name, key: row.key, index: hole.index };
  return h(
    "span.name",
    {
      style: `--colour:${object?.colour ?? "transparent"}`,
      ...source(own),
      ...target(
        (what) => what.name,
        (what) =>
          what.key === row.key && what.index === hole.index
            ? set(reordered(names, what.name, name))
            : builder.drop(what, row, hole, name),
      ),
    },
    h(
      "button.word",
      { "data-act": `name ${row.key} ${hole.index} ${name}`, title: t("Drag, or use the arrow keys"), onkeydown },
      words,
    ),
    h("button.remove", { "aria-label": t("Remove {name}", { name: words }), onclick: remove }, "×"),
  );
}
