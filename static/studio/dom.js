import { keepFocus } from "./keep_focus.js";
import { t } from "./texts.js";
import { html, render } from "./view.js";

// Creates an element: h("button.primary", {onclick}, "Save", icon). Strings become text nodes, never markup.
export function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") element.style.cssText = value;
    else if (key in element && key !== "list" && typeof value !== "string") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(
    ...children
      .flat(Infinity)
      .filter((child) => child !== null && child !== undefined && child !== false)
      .flatMap(nodesOf),
  );
  return element;
}

// The nodes of a template, for components that are not yet drawn by templates.
function nodesOf(child) {
  if (child instanceof Node || typeof child !== "object") return [child];
  const holder = document.createElement("div");
  render(html`${child}`, holder);
  return [...holder.childNodes];
}

// Replaces an element's children; skips null, false and "". The focus stays where it was.
export function fill(element, ...children) {
  const focusAgain = keepFocus(element);
  element.replaceChildren(
    ...children
      .flat(Infinity)
      .filter((child) => child !== null && child !== undefined && child !== false && child !== "")
      .flatMap(nodesOf),
  );
  focusAgain();
}

export function chip(object) {
  return h("span.chip", { style: `--colour:${object.colour}` }, object.is_brought ? "+" : String(object.id));
}

// One property of an object: its name, in English, and its value.
export const fact = (name, ...value) => h("div.fact", {}, h("span.key", {}, t(name)), h("span.value", {}, ...value));

// Box to tick with its label. `onChange` gets whether it is ticked.
export const tickBox = (label, checked, onChange) =>
  h(
    "label.tick",
    {},
    h("input", { type: "checkbox", checked, onchange: ({ target }) => onChange(target.checked) }),
    label,
  );

// Text as a sentence begins; an identifier stays as it is.
export const capitalised = (text) => (/^\w*_/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1));
export const centimetres = (metres, digits = 1) => `${(metres * 100).toFixed(digits)} cm`;
export const sizeText = (size) => `${size.map((x) => (x * 100).toFixed(1)).join(" × ")} cm`;
