// The drawer over the bench: which of its pages is open, for whoever wants to open one.
const PAGES = ["model", "calls", "prompts"];
const key = "studioDrawer";
const state = (window[key] ??= { page: null, before: null, listeners: new Set(), calls: new Set() });

export const drawer = () => state.page;

export function openDrawer(page) {
  if (!state.page) state.before = document.activeElement;
  state.page = PAGES.includes(page) ? page : null;
  const place = document.querySelector("#models");
  state.page ? (place.dataset.page = state.page) : delete place.dataset.page;
  if (!state.page) state.before?.focus?.();
  for (const listener of [...state.listeners]) listener(state.page);
}

export const closeDrawer = () => openDrawer(null);

// Opens the calls: one of them {id, tab}, those about an object or round {about}, or all.
export function openCalls(wish = {}) {
  openDrawer("calls");
  for (const listener of [...state.calls]) listener(wish);
}

export const onDrawer = (element, callback) => hear(state.listeners, element, callback);
export const onCalls = (element, callback) => hear(state.calls, element, callback);

function hear(listeners, element, callback) {
  const listener = (said) => (element.isConnected ? callback(said) : listeners.delete(listener));
  listeners.add(listener);
}
