// Whether the library is open, for every component of the page.
import { listen, notify } from "/static/studio/listeners.js";

const KEY = "studioLibrary";
window[KEY] ??= { open: false, before: null, listeners: new Set() };
const state = window[KEY];

export const libraryOpen = () => state.open;

// `request` is {like: {object: id}} to search by an object's image, {asset: id} to show one, {page: "packs"}, or {}.
export function openLibrary(request = {}) {
  if (!state.open) state.before = document.activeElement;
  state.open = true;
  notify(state.listeners, request);
}

export function closeLibrary() {
  if (!state.open) return;
  state.open = false;
  notify(state.listeners, null);
  state.before?.focus?.();
}

// Calls back with the request when the library opens and with null when it closes, while the element is in the page.
export const onLibrary = (element, callback) => listen(state.listeners, element, callback);
