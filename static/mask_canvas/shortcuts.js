// Keyboard shortcuts, in the order in which the help lists them.
import { t } from "/static/studio/texts.js";

const SHORTCUTS = {
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
  z: { name: t("Z, Ctrl-Z; with Shift"), help: t("undo, redo"), act: "undo" },
  h: { name: "H", help: t("hide masks"), act: "hide" },
  wheel: { name: t("Wheel, + −"), help: t("zoom") },
  "+": { act: "zoom_in" },
  "=": { act: "zoom_in" },
  "-": { act: "zoom_out" },
  arrows: { name: t("Arrow keys, Space"), help: t("move a crosshair, with Shift finely; click or drag there") },
  Space: { name: t("Space-drag"), help: t("pan") },
  f: { name: "F", help: t("fit to window"), act: "fit" },
};
SHORTCUTS.Backspace = { act: "delete" };
for (let id = 1; id <= 9; id++) SHORTCUTS[id] = { id };

// Keys that change nothing.
const LOOKING = new Set(["Escape", "h", "+", "=", "-", "f", "Space"]);

/** The shortcuts as the page hears them; `take(key, shortcut, event)` does one. Who may only look has fewer. */
export const shortcutsOf = (mayEdit, take) =>
  Object.fromEntries(
    Object.entries(SHORTCUTS)
      .filter(([key, { tool, act }]) => mayEdit || LOOKING.has(key) || !(tool || act))
      .map(([key, shortcut]) => [key, { ...shortcut, act: (event) => take(key, shortcut, event) }]),
  );
