// Keyboard shortcuts, in the order in which the help lists them.
import { t } from "/static/studio/texts.js";

export const SHORTCUTS = {
  click: { name: t("Click"), help: t("add to the object, or select one") },
  right: { name: t("Right-click, Alt-click"), help: t("remove from the object") },
  drag: { name: t("Drag"), help: t("box around the object") },
  v: { name: "V", help: t("add and select"), tool: "add" },
  x: { name: "X", help: t("remove"), tool: "remove" },
  b: { name: "B", help: t("brush"), tool: "brush" },
  e: { name: "E", help: t("eraser"), tool: "erase" },
  "[": { name: "[  ]", help: t("smaller, larger brush"), act: "smaller" },
  "]": { act: "larger" },
  s: { name: "S", help: t("split: drag a line, or S again"), act: "split" },
  n: { name: "N", help: t("new object"), act: "new" },
  digit: { name: "1 – 9", help: t("select an object") },
  shift: { name: t("Shift-click"), help: t("select several, also in the list") },
  m: { name: "M", help: t("merge the selection"), act: "merge" },
  o: { name: "O", help: t("mark as object or not"), act: "toggle_object" },
  Delete: { name: "Del", help: t("delete the selection"), act: "delete" },
  Enter: { name: "Enter", help: t("accept the mask"), act: "accept" },
  Escape: { name: "Esc", help: t("discard, or clear the selection"), act: "discard" },
  r: { name: "R", help: t("next candidate"), act: "next_candidate" },
  c: { name: "C", help: t("compare segmenters"), act: "compare" },
  z: { name: t("Z, Ctrl-Z; with Shift"), help: t("undo, redo") },
  h: { name: "H", help: t("hide masks"), act: "hide" },
  wheel: { name: t("Wheel, + −"), help: t("zoom") },
  "+": { act: "zoom_in" },
  "=": { act: "zoom_in" },
  "-": { act: "zoom_out" },
  arrows: { name: t("Arrow keys, Space"), help: t("move a crosshair, with Shift finely; click or drag there") },
  Space: { name: t("Space-drag"), help: t("pan") },
  f: { name: "F", help: t("fit to window"), act: "fit" },
  "?": { name: "?", help: t("keyboard shortcuts"), act: "help" },
};
SHORTCUTS.Backspace = { act: "delete" };

// Keys that change nothing.
export const LOOKING = new Set(["Escape", "h", "+", "=", "-", "f", "?"]);

// Returns the shortcut key of an event; null for browser shortcuts and for typing in a field.
export function keyOf(event) {
  if (event.ctrlKey || event.metaKey || event.defaultPrevented) return null;
  const target = event.target,
    tag = target.tagName;
  if (
    tag === "TEXTAREA" ||
    tag === "SELECT" ||
    target.isContentEditable ||
    (tag === "INPUT" && target.type !== "range")
  )
    return null;
  const isActiveTab = target.getAttribute("aria-selected") === "true"; // the open tab: pressing it again does nothing
  if (!isActiveTab && (tag === "BUTTON" || tag === "A" || tag === "SUMMARY") && ["Enter", " "].includes(event.key))
    return null;
  return event.key === " " ? "Space" : event.key.length === 1 ? event.key.toLowerCase() : event.key;
}
