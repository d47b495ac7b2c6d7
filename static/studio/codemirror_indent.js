// Indents Python in Gradio's code editor by four columns; the editor itself uses two. Enter keeps the line's indent and
// adds four after a colon; Tab goes to the next multiple of four. After Esc, Tab leaves the editor.
//
// Needed of Gradio 6 and its CodeMirror 6, and checked by tests/ui/test_task_page.py: a gr.Code shows a
// .cm-content[contenteditable=true], whose lines are .cm-line, and which takes text that is pasted; an open list of
// completions is .cm-tooltip-autocomplete.
const INDENT = 4;
const EDITOR = "#codes .cm-content[contenteditable=true]";
let leaves = null; // the editor in which Esc was pressed last

function insertedText(key, before) {
  const indent = before.match(/^\s*/)[0];
  if (key === "Enter") return `\n${indent}${/:\s*(#.*)?$/.test(before) ? " ".repeat(INDENT) : ""}`;
  return " ".repeat(INDENT - (before.length % INDENT));
}

// What stands before the cursor, or the selection, in its line.
function textBefore({ startContainer, startOffset }) {
  const element = startContainer.closest ? startContainer : startContainer.parentElement,
    range = new Range();
  range.setStart(element.closest(".cm-line"), 0);
  range.setEnd(startContainer, startOffset);
  return range.toString();
}

function indent(event) {
  const content = event.target.closest?.(EDITOR),
    isLeaving = content && leaves === content && event.key === "Tab";
  if (event.key !== "Shift") leaves = event.key === "Escape" ? content : null;
  if (isLeaving) return event.stopPropagation(); // the browser moves the focus
  const isOther = event.shiftKey || event.ctrlKey || event.metaKey || event.altKey;
  if (!content || isOther || !["Enter", "Tab"].includes(event.key)) return;
  const selected = getSelection().getRangeAt(0);
  if ((event.key === "Tab" && !selected.collapsed) || content.parentElement.querySelector(".cm-tooltip-autocomplete"))
    return;
  event.preventDefault();
  event.stopPropagation();
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", insertedText(event.key, textBefore(selected)));
  content.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}

document.addEventListener("keydown", indent, true);
