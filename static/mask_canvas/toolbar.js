// Toolbar buttons, each with an icon, a word and a tooltip.
import { h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

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

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"),
    path = document.createElementNS(svg.namespaceURI, "path");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

// {act, icon, text, key, title, on, off, primary}; `onPress` is called with the action's name.
export function button({ act: action, icon: shape = action, text, key, title = text, on, off, primary }, onPress) {
  return h(
    `button.tool${on ? ".on" : ""}${primary ? ".primary" : ""}`,
    {
      "data-act": action,
      "data-sends": READING.has(action) ? null : "mask-canvas.decide",
      disabled: Boolean(off),
      title: key ? `${title} (${key})` : title,
      "aria-label": title.startsWith(text) ? title : `${text}: ${title}`, // what is seen can be said
      "aria-pressed": on === undefined ? null : String(Boolean(on)),
      onclick: () => onPress(action),
    },
    icon(shape),
    h("span", {}, text),
  );
}

export function groups(rows, onPress) {
  return rows.map(([name, items]) =>
    h(
      "div.group",
      { role: "group", "aria-label": name },
      items.filter(Boolean).map((item) => button(item, onPress)),
    ),
  );
}

const READING = new Set(["tool:move", "hide", "help", "compare", "fit", "zoom_in", "zoom_out"]);
export const TOOLS = [
  { act: "tool:add", icon: "add", text: t("Add"), key: "V", title: t("Click to select or add, drag a box") },
  {
    act: "tool:remove",
    icon: "remove",
    text: t("Remove"),
    key: "X",
    title: t("Click to remove (same as right-click)"),
  },
  { act: "tool:brush", icon: "brush", text: t("Brush"), key: "B", title: t("Paint pixels") },
  { act: "tool:erase", icon: "erase", text: t("Erase"), key: "E", title: t("Erase pixels") },
  { act: "tool:several", icon: "several", text: t("Multi"), key: "Shift-click", title: t("Select several objects") },
  { act: "tool:move", icon: "move", text: t("Pan"), key: "Space", title: t("Pan the picture") },
];
