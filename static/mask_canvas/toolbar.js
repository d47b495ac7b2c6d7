// Toolbar buttons, each with an icon, a word and a tooltip.
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";

const ICONS = {
  add: "M8 3v10M3 8h10",
  remove: "M3 8h10",
  brush: "M13 3 7 9M6.5 9.5c-2 0-2 3-4 3 2 1.5 5 .8 5-1.8",
  erase: "M6 13h8M3 9l5-5 5 5-4 4H6z",
  split: "M8 2v3M8 7v2M8 11v3M5 5 2 8l3 3M11 5l3 3-3 3",
  several: "M3 3h6v6H3zM7 7h6v6H7z",
  move: "M8 2v12M2 8h12M6 4l2-2 2 2M6 12l2 2 2-2M4 6 2 8l2 2M12 6l2 2-2 2",
  new: "M4 3H3v1M12 3h1v1M4 13H3v-1M12 13h1v-1M8 5v6M5 8h6",
  merge: "M3 3h4v4M13 3H9v4M8 8v5M5 8h6",
  toggle_object: "M3 3l10 10M13 3 3 13",
  bin: "M3 5h10M6 5V3h4v2M5 5l.6 8h4.8L11 5",
  accept: "M3 8.5 6.5 12 13 4.5",
  discard: "M4 4l8 8M12 4l-8 8",
  undo: "M6 4 3 7l3 3M3 7h6a4 4 0 0 1 0 7H7",
  redo: "M10 4l3 3-3 3M13 7H7a4 4 0 0 0 0 7h2",
  hide: "M2 8s2.5-4 6-4 6 4 6 4-2.5 4-6 4-6-4-6-4zM8 6.5v3",
  help: "M6 6a2 2 0 1 1 3 1.8c-.7.4-1 .8-1 1.7M8 12.4v.1",
  compare: "M3 3h4v10H3zM9 3h4v10H9z",
  fit: "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3",
  zoom_in: "M8 3v10M3 8h10",
  zoom_out: "M3 8h10",
};

const READING = new Set(["tool:move", "hide", "help", "compare", "fit", "zoom_in", "zoom_out"]);
const TOOLS = [
  { act: "tool:add", shape: "add", text: t("Add"), keys: "V", title: t("Click to select or add, drag a box") },
  {
    act: "tool:remove",
    shape: "remove",
    text: t("Remove"),
    keys: "X",
    title: t("Click to remove (same as right-click)"),
  },
  { act: "tool:brush", shape: "brush", text: t("Brush"), keys: "B", title: t("Paint pixels") },
  { act: "tool:erase", shape: "erase", text: t("Erase"), keys: "E", title: t("Erase pixels") },
  { act: "tool:several", shape: "several", text: t("Multi"), keys: "Shift-click", title: t("Select several objects") },
  { act: "tool:move", shape: "move", text: t("Pan"), keys: "Space", title: t("Pan the picture") },
];

/** A button of an action; its `shape` is its icon. What is seen of its title can be said. */
export function Tool({ act, shape = act, text, keys = "", title = text, isOn, isOff, isPrimary, onPress }) {
  return html`<button class=${classes("tool", isOn && "on", isPrimary && "primary")} data-act=${act}
    data-sends=${READING.has(act) ? null : "mask-canvas.decide"} disabled=${Boolean(isOff)}
    title=${keys ? `${title} (${keys})` : title} aria-label=${title.startsWith(text) ? title : `${text}: ${title}`}
    aria-pressed=${isOn} onclick=${() => onPress(act)}>
    <svg viewBox="0 0 16 16" aria-hidden="true"><path d=${ICONS[shape]} /></svg><span>${text}</span>
  </button>`;
}

/** @param {{work: import("./mask_work.js").MaskWork, isHidden: boolean, onPress: (act: string) => void}} props */
export function Toolbar({ work, isHidden, onPress }) {
  /** @type {[string, any[]][]} */
  const groups = [
    [t("Tools"), TOOLS.map((tool) => ({ ...tool, isOn: `tool:${work.tool}` === tool.act }))],
    [t("Object"), work.isEditing ? editTools(work) : objectTools(work)],
    [t("View"), viewTools(work, isHidden)],
  ];
  const group = ([name, tools]) => html`<div class="group" role="group" aria-label=${name} key=${name}>
    ${tools.map((tool) => html`<${Tool} key=${tool.act} ...${tool} onPress=${onPress} />`)}
  </div>`;
  return html`<div class="tools" role="toolbar">${groups.map(group)}</div>`;
}

const editTools = ({ edit }) => [
  { act: "accept", text: t("Accept"), keys: "Enter", isPrimary: true, isOff: !edit.last && !edit.isWaiting },
  { act: "discard", text: t("Discard"), keys: "Esc" },
];

function objectTools({ object, picked, tool }) {
  const isNone = object && !object.is_object;
  return [
    { act: "new", text: t("New"), keys: "N", title: t("New object") },
    { act: "merge", text: t("Merge"), keys: "M", title: t("Merge the selected objects"), isOff: picked.size < 2 },
    {
      act: "split",
      text: t("Split"),
      keys: "S",
      title: t("Split the selected object"),
      isOff: !object,
      isOn: tool === "split",
    },
    {
      act: "toggle_object",
      text: isNone ? t("Object") : t("Non-object"),
      title: isNone ? t("Mark as object") : t("Mark as not an object"),
      keys: "O",
      isOff: !object,
    },
    { act: "delete", shape: "bin", text: t("Delete"), keys: "Del", isOff: !picked.size },
  ];
}

const viewTools = ({ edit, scene }, isHidden) => [
  { act: "undo", text: t("Undo"), keys: "Z", isOff: !(edit?.isChanged || scene?.can_undo) },
  { act: "redo", text: t("Redo"), keys: "Shift-Z", isOff: !(edit?.undone.length || scene?.can_redo) },
  { act: "hide", text: t("Hide"), keys: "H", title: t("Hide masks"), isOn: isHidden },
  { act: "help", text: t("Keys"), keys: "?" },
];
