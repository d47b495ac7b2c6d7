// The library over the page: whether it is open, and what it was opened for.
const key = "studioLibrary";
const state = (window[key] ??= { open: false, before: null, listeners: new Set() });

export const libraryOpen = () => state.open;

// A wish is {like: {object: id}} for what looks like an object, {asset: id} to see one, {page: "packs"}, or nothing.
export function openLibrary(wish = {}) {
  if (!state.open) state.before = document.activeElement;
  state.open = true;
  for (const listener of [...state.listeners]) listener(wish);
}

export function closeLibrary() {
  if (!state.open) return;
  state.open = false;
  for (const listener of [...state.listeners]) listener(null);
  state.before?.focus?.();
}

// Calls back with the wish when it opens and with null when it closes, until the element has left the page.
export function onLibrary(element, callback) {
  const listener = (wish) => (element.isConnected ? callback(wish) : state.listeners.delete(listener));
  state.listeners.add(listener);
}
