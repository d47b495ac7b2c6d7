// The drawer with model settings, calls and prompts: which page is open, for every component of the page.
import { cover } from "./covering.js";
import { keepFocus } from "./keep_focus.js";
import { listen, notify } from "./listeners.js";

const PAGES = ["model", "calls", "prompts"];
const KEY = "studioDrawer";
window[KEY] ??= { page: null, focusAgain: null, listeners: new Set(), calls: new Set() };
const state = window[KEY];

export const drawer = () => state.page;

export function openDrawer(page) {
  if (!state.page) state.focusAgain = keepFocus(document.body); // its element may be drawn anew meanwhile
  show(PAGES.includes(page) ? page : null);
}

export function closeDrawer() {
  if (!state.page) return;
  show(null);
  state.focusAgain();
}

function show(page) {
  state.page = page;
  const panel = document.querySelector("#models");
  if (page) panel.dataset.page = page;
  else delete panel.dataset.page;
  notify(state.listeners, page);
  cover(page && panel);
}

// Opens the calls page: one call {id, tab}, the calls about an object or round {about}, or all.
export function openCalls(request = {}) {
  openDrawer("calls");
  notify(state.calls, request);
}

export const onDrawer = (element, callback) => listen(state.listeners, element, callback);
export const onCalls = (element, callback) => listen(state.calls, element, callback);
