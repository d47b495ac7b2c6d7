// The keys of the page. Each component names its shortcuts and says when they hold; "?" shows those that hold now.
import { t } from "./texts.js";
import { batch, html, show, signal } from "./view.js";

/** @typedef {{name?: string, help?: string, act?: (event: KeyboardEvent) => void}} Shortcut
 * `name` stands for the key in the list, which leaves out what has no `help`. Without `act` it is done by the pointer. */
/** @typedef {{root: Element, title: string, rank: number, isOn: () => boolean, keys: () => Record<string, Shortcut>,
 * holdsKeys: boolean}} Layer */

/** Which shortcuts come last and first: those of every page, of one, of what covers it, and of what is above even that. */
export const EVERYWHERE = -1,
  PAGE = 0,
  COVER = 1,
  ABOVE = 2;
const layers = /** @type {Layer[]} */ ([]),
  isListed = signal(false),
  uses = signal(0); // counts what a person does while the list is shown

/**
 * Hears a component's shortcuts while its root is in the page and `isOn`.
 *
 * Keys are named as the browser does, small letters, "Space", and "mod+z" with Ctrl or Cmd. `keys` may depend on what is
 * shown. A layer that `holdsKeys` lets none through but those with Ctrl or Cmd. What covers the page hears keys before the
 * elements do, and Esc also while somebody types; the page itself after them.
 * @param {Element} root
 * @param {{title: string, keys: () => Record<string, Shortcut>, isOn: () => boolean, rank?: number, holdsKeys?: boolean}} layer
 */
export function shortcuts(root, { title, keys, isOn, rank = PAGE, holdsKeys = false }) {
  layers.push({ root, title, keys, isOn, rank, holdsKeys });
  layers.sort((one, other) => other.rank - one.rank);
}

function layersOn() {
  for (const gone of layers.filter(({ root }) => !root.isConnected)) layers.splice(layers.indexOf(gone), 1);
  return layers.filter(({ isOn }) => isOn());
}

/** The layers whose keys are heard, without Ctrl or Cmd. */
function layersHeard() {
  const on = layersOn(),
    holding = on.findIndex(({ holdsKeys }) => holdsKeys);
  return holding < 0 ? on : on.slice(0, holding + 1);
}

const FIELDS = "textarea, select, input:not([type=range], [type=checkbox]), .cm-editor, [contenteditable]";
const PRESSED = "button, a, summary, input[type=checkbox]"; // by Enter and Space

const nameOf = (/** @type {KeyboardEvent} */ { key }) =>
  key === " " ? "Space" : key.length === 1 ? key.toLowerCase() : key;

function hear(event, covers) {
  const isModified = (event.ctrlKey || event.metaKey) && !event.getModifierState("AltGraph"),
    name = nameOf(event),
    isTyping = event.target.closest?.(FIELDS),
    isPressing =
      ["Enter", "Space"].includes(name) &&
      event.target.matches?.(PRESSED) &&
      event.target.getAttribute("aria-selected") !== "true"; // the open tab: pressing it again does nothing
  if (event.target.matches?.("input[type=range]") && /^(Arrow|Page|Home|End)/.test(name)) return; // its own keys
  if (event.defaultPrevented || (event.altKey && !event.getModifierState("AltGraph"))) return;
  for (const layer of (isModified ? layersOn() : layersHeard()).filter(({ rank }) => rank > PAGE === covers)) {
    const act = layer.keys()[isModified ? `mod+${name}` : name]?.act;
    if (act && !isPressing && (!isTyping || (covers && name === "Escape"))) return take(event, act);
    if (layer.holdsKeys && !isModified && !layer.root.contains(event.target)) return event.stopPropagation();
  }
  if (!covers && name === "?" && !isTyping) take(event, () => (isListed.value = !isListed.value));
}

function take(event, act) {
  event.preventDefault();
  event.stopPropagation();
  batch(() => act(event));
}

document.addEventListener("keydown", (event) => hear(event, true), true);
document.addEventListener("keydown", (event) => hear(event, false));

// ---------------------------------------------------------------- the list

/** Shows the list, or hides it. */
export const listShortcuts = (isShown = !isListed.value) => (isListed.value = isShown);
export const areShortcutsListed = () => isListed.value;

const row = (/** @type {[string, Shortcut]} */ [key, { name = key.toUpperCase(), help }]) =>
  help && html`<dt><kbd>${name}</kbd></dt><dd>${help}</dd>`;

const group = ({ title, keys }) => {
  const rows = Object.entries(keys()).map(row).filter(Boolean);
  return rows.length && [title && html`<h3>${title}</h3>`, html`<dl>${rows}</dl>`];
};

/** What can be pressed now, as the content of an element. */
export const shortcutList = () => uses.value >= 0 && layersHeard().map((layer) => group(layer) || null);

/** Lets "?" show the list in a sheet of this page. */
export function showShortcutSheet() {
  const sheet = document.createElement("div");
  document.body.append(sheet);
  const close = { Escape: { act: () => listShortcuts(false) } };
  shortcuts(sheet, { title: "", keys: () => close, isOn: areShortcutsListed, rank: ABOVE });
  for (const use of ["keyup", "click"]) document.addEventListener(use, () => isListed.value && uses.value++);
  show(
    sheet,
    () => html`<div class="shortcuts" role="dialog" aria-label=${t("Keyboard shortcuts")} hidden=${!isListed.value}>
      ${isListed.value && [shortcutList(), html`<p>${t("? shows and hides this list.")}</p>`]}</div>`,
  );
}
