// Keyboard shortcuts, in the order in which the help lists them.
export const SHORTCUTS = {
  click: { name: "Click", help: "add to the object, or select one" },
  right: { name: "Right-click, Alt-click", help: "remove from the object" },
  drag: { name: "Drag", help: "box around the object" },
  v: { name: "V", help: "add and select", tool: "add" },
  x: { name: "X", help: "remove", tool: "remove" },
  b: { name: "B", help: "brush", tool: "brush" },
  e: { name: "E", help: "eraser", tool: "erase" },
  "[": { name: "[  ]", help: "smaller, larger brush", act: "smaller" },
  "]": { act: "larger" },
  s: { name: "S", help: "split: drag a line, or S again", act: "split" },
  n: { name: "N", help: "new object", act: "new" },
  digit: { name: "1 – 9", help: "select an object" },
  shift: { name: "Shift-click", help: "select several, also in the list" },
  m: { name: "M", help: "merge the selection", act: "merge" },
  o: { name: "O", help: "mark as object or not", act: "toggle_object" },
  Delete: { name: "Del", help: "delete the selection", act: "delete" },
  Enter: { name: "Enter", help: "accept the mask", act: "accept" },
  Escape: { name: "Esc", help: "discard, or clear the selection", act: "discard" },
  r: { name: "R", help: "next candidate", act: "next_candidate" },
  c: { name: "C", help: "compare segmenters", act: "compare" },
  z: { name: "Z, Ctrl-Z; with Shift", help: "undo, redo" },
  h: { name: "H", help: "hide masks", act: "hide" },
  wheel: { name: "Wheel, + −", help: "zoom" },
  "+": { act: "zoom_in" },
  "=": { act: "zoom_in" },
  "-": { act: "zoom_out" },
  Space: { name: "Space-drag", help: "pan" },
  f: { name: "F", help: "fit to window", act: "fit" },
  "?": { name: "?", help: "keyboard shortcuts", act: "help" },
};
SHORTCUTS.Backspace = { act: "delete" };

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
