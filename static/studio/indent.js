// Gradio's editor indents by two columns, Python here by four: Enter keeps the line's indent, four deeper after a
// colon, and Tab goes to the next fourth column.
const STEP = 4;

function typed(key, before) {
  const indent = before.match(/^\s*/)[0];
  if (key === "Enter") return `\n${indent}${/:\s*(#.*)?$/.test(before) ? " ".repeat(STEP) : ""}`;
  return " ".repeat(STEP - (before.length % STEP));
}

document.addEventListener("keydown", (event) => {
  const content = event.target.closest?.("#codes .cm-content[contenteditable=true]");
  if (!content || !["Enter", "Tab"].includes(event.key) || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
  const view = content.cmTile?.view ?? content.cmView?.rootView?.view ?? content.cmView?.view;
  const { from, to } = view?.state.selection.main ?? {};
  if (!view || (event.key === "Tab" && from !== to) || content.parentElement.querySelector(".cm-tooltip-autocomplete")) return;
  event.preventDefault();
  event.stopPropagation();
  const line = view.state.doc.lineAt(from);
  const insert = typed(event.key, line.text.slice(0, from - line.from));
  view.dispatch({ changes: { from, to, insert }, selection: { anchor: from + insert.length }, scrollIntoView: true, userEvent: "input" });
}, true);
