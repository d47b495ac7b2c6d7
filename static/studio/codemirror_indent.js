// Indents Python in Gradio's code editor by four columns; the editor itself uses two. Enter keeps the line's indent and
// adds four after a colon; Tab goes to the next multiple of four. After Esc, Tab leaves the editor.
//
// Needed of Gradio 6.31 and its CodeMirror 6, and checked by tests/ui/test_every_page.py: a gr.Code shows a
// .cm-content[contenteditable=true], whose EditorView is the private property cmTile.view (cmView before CodeMirror
// 6.39), with state.selection.main, state.doc.lineAt and dispatch; an open list of completions is
// .cm-tooltip-autocomplete.
const INDENT = 4;
const EDITOR = "#codes .cm-content[contenteditable=true]";
let leaves = null; // the editor in which Esc was pressed last

function insertedText(key, before) {
  const indent = before.match(/^\s*/)[0];
  if (key === "Enter") return `\n${indent}${/:\s*(#.*)?$/.test(before) ? " ".repeat(INDENT) : ""}`;
  return " ".repeat(INDENT - (before.length % INDENT));
}

document.addEventListener(
  "keydown",
  (event) => {
    const content = /** @type {any} */ (event.target).closest?.(EDITOR),
      isLeaving = content && leaves === content && event.key === "Tab";
    if (event.key !== "Shift") leaves = event.key === "Escape" ? content : null;
    if (isLeaving) return event.stopPropagation(); // the browser moves the focus
    if (
      !content ||
      !["Enter", "Tab"].includes(event.key) ||
      event.shiftKey ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey
    )
      return;
    const view = content.cmTile?.view ?? content.cmView?.rootView?.view ?? content.cmView?.view;
    const { from, to } = view?.state.selection.main ?? {};
    if (
      !view ||
      (event.key === "Tab" && from !== to) ||
      content.parentElement.querySelector(".cm-tooltip-autocomplete")
    )
      return;
    event.preventDefault();
    event.stopPropagation();
    const line = view.state.doc.lineAt(from);
    const insert = insertedText(event.key, line.text.slice(0, from - line.from));
    view.dispatch({
      changes: { from, to, insert },
      selection: { anchor: from + insert.length },
      scrollIntoView: true,
      userEvent: "input",
    });
  },
  true,
);
