// What every key does; the help shows the same table, in this order.
export const KEYS = {
  click: { name: "Click", says: "add to the object, or pick one" },
  right: { name: "Right-click, Alt-click", says: "remove from the object" },
  drag: { name: "Drag", says: "a box around the object" },
  v: { name: "V", says: "add and pick", tool: "add" },
  x: { name: "X", says: "remove", tool: "remove" },
  b: { name: "B", says: "brush", tool: "brush" },
  e: { name: "E", says: "eraser", tool: "erase" },
  "[": { name: "[  ]", says: "smaller, larger brush", act: "smaller" },
  "]": { act: "larger" },
  s: { name: "S", says: "split: drag a line, or S again", act: "split" },
  n: { name: "N", says: "a new object", act: "new" },
  digit: { name: "1 – 9", says: "pick an object" },
  shift: { name: "Shift-click", says: "pick several, here or in the list" },
  m: { name: "M", says: "merge what is picked", act: "merge" },
  o: { name: "O", says: "not an object, or is one", act: "other" },
  Delete: { name: "Del", says: "delete what is picked", act: "remove" },
  Enter: { name: "Enter", says: "keep the mask", act: "accept" },
  Escape: { name: "Esc", says: "discard, or pick nothing", act: "clear" },
  r: { name: "R", says: "the next reading", act: "reading" },
  c: { name: "C", says: "compare segmenters", act: "compare" },
  z: { name: "Z, Ctrl-Z; with Shift", says: "undo, redo" },
  h: { name: "H", says: "hide the masks", act: "hide" },
  wheel: { name: "Wheel, + −", says: "zoom" },
  "+": { act: "nearer" }, "=": { act: "nearer" }, "-": { act: "farther" },
  Space: { name: "Space-drag", says: "move the picture" },
  f: { name: "F", says: "the whole picture", act: "whole" },
  "?": { name: "?", says: "these keys", act: "help" },
};
KEYS.Backspace = { act: "remove" };

// Which key of the table an event means; null for those of the browser and of a field that is typed in.
export function keyOf(event) {
  if (event.ctrlKey || event.metaKey || event.defaultPrevented) return null;
  const target = event.target, tag = target.tagName;
  if (tag === "TEXTAREA" || tag === "SELECT" || target.isContentEditable || (tag === "INPUT" && target.type !== "range")) return null;
  const shown = target.getAttribute("aria-selected") === "true"; // the tab one came by: pressing it again does nothing
  if (!shown && (tag === "BUTTON" || tag === "A" || tag === "SUMMARY") && ["Enter", " "].includes(event.key)) return null;
  return event.key === " " ? "Space" : event.key.length === 1 ? event.key.toLowerCase() : event.key;
}
