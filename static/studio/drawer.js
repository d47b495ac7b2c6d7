// The drawer with model settings, calls and prompts: which page is open, for every component of the page.
import { cover, keepFocus } from "./covering.js";
import { onChange, signal } from "./view.js";

const PAGES = ["model", "calls", "prompts"];
const page = signal(/** @type {string | null} */ (null)),
  calls = signal(/** @type {any} */ (null));
let focusAgain = () => {};

/** The open page, or null. */
export const drawer = () => page.value;
/** The calls that were asked for last: one call {id, tab}, those about an object or round {about}, or all. */
export const shownCalls = () => calls.value;

export function openDrawer(name) {
  if (!page.value) focusAgain = keepFocus();
  show(PAGES.includes(name) ? name : null);
}

export function closeDrawer() {
  if (!page.value) return;
  show(null);
  focusAgain();
}

function show(name) {
  const panel = /** @type {HTMLElement} */ (document.querySelector("#models"));
  if (name) panel.dataset.page = name;
  else delete panel.dataset.page;
  page.value = name;
  cover(name && panel);
}

/** Opens the calls page with some calls, see `shownCalls`. */
export function openCalls(request = {}) {
  openDrawer("calls");
  calls.value = { ...request };
}

export const onDrawer = (element, callback) => onChange(element, drawer, callback);
