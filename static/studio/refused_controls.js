// Disables the controls of what the server would refuse to this person. A control, or the element around several, names
// what it sends: data-sends="component.event" or "component.kind". Gradio's own components are named "#id".
import { editors, refused } from "./account.js";
import { focusPanels } from "./gradio_tabs.js";
import { listen, notify } from "./listeners.js";

let names = new Set();
const listeners = new Set();

// Whether the server would refuse what has that name; for what a page sends by itself.
export const isRefused = (name) => names.has(name);

// Calls back when the set of refused controls changes.
export const onRefusals = (element, callback) => listen(listeners, element, callback);

function disable(element, isRefused) {
  element.inert = isRefused;
  element.classList.toggle("refused", isRefused);
}

function apply(root) {
  for (const element of root.querySelectorAll("[data-sends]")) disable(element, names.has(element.dataset.sends));
  for (const name of [...refused, ...editors]) {
    const own = name.startsWith("#") && document.querySelector(name);
    if (own) disable(own, names.has(name));
  }
}

const observer = new MutationObserver((changes) => {
  const added = changes.flatMap((change) => [...change.addedNodes]);
  for (const node of added) if (node.nodeType === Node.ELEMENT_NODE) apply(node.parentNode ?? node);
  focusPanels(names.size > 0); // Gradio adds a panel when its tab is opened first
});

// `isElsewhere`: whether another person edits the project that is open.
export function disableRefused(isElsewhere) {
  const wanted = new Set(isElsewhere ? [...refused, ...editors] : refused);
  if (wanted.size === names.size && [...wanted].every((name) => names.has(name))) return;
  names = wanted;
  apply(document);
  focusPanels(names.size > 0);
  notify(listeners);
  if (names.size) observer.observe(document.body, { childList: true, subtree: true });
  else observer.disconnect();
}
