// Disables the controls of what the server would refuse to this person. A control, or the element around several, names
// what it sends in data-sends, as "component.event" or "component.kind". Gradio's own components are named "#id".
import { editors, refused } from "./account.js";
import { focusPanels } from "./gradio_tabs.js";
import { onChange, signal } from "./view.js";

const refusals = signal(/** @type {Set<string>} */ (new Set())); // their names

// Whether the server would refuse what has that name; for what a page sends by itself.
export const isRefused = (name) => refusals.value.has(name);

// Calls back when the set of refused controls changes.
export const onRefusals = (element, callback) => onChange(element, () => refusals.value, callback);

function disable(element, isRefused) {
  element.inert = isRefused;
  element.toggleAttribute("data-refused", isRefused); // no class: what draws the control sets its classes
}

function apply(root) {
  for (const element of root.querySelectorAll("[data-sends]")) disable(element, isRefused(element.dataset.sends));
  for (const name of [...refused, ...editors]) {
    const own = name.startsWith("#") && document.querySelector(name);
    if (own) disable(own, isRefused(name));
  }
}

const observer = new MutationObserver((changes) => {
  const added = changes.flatMap(({ type, target, addedNodes }) => (type === "attributes" ? target : [...addedNodes]));
  for (const node of added) if (node.nodeType === Node.ELEMENT_NODE) apply(node.parentNode ?? node);
  focusPanels(refusals.value.size > 0); // Gradio adds a panel when its tab is opened first
});

// `isElsewhere`: whether another person edits the project that is open.
export function disableRefused(isElsewhere) {
  const wanted = new Set(isElsewhere ? [...refused, ...editors] : refused);
  if (wanted.size === refusals.value.size && [...wanted].every(isRefused)) return;
  refusals.value = wanted;
  apply(document);
  focusPanels(wanted.size > 0);
  if (wanted.size) observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ["data-sends"] });
  else observer.disconnect();
}
