// Pages over the page, such as the library: what lies below one is out of reach of keys and pointer, and keys go to it.
const PARTS = "#home, #left, #centre, #right, #below";
const FOCUSABLE = "input:not([type=file]), button, select, textarea, a[href], [tabindex='0']";

const isCovered = (part, panel) => {
  const box = part.getBoundingClientRect(),
    over = panel.getBoundingClientRect(),
    [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  return box.width > 0 && x >= over.left && x <= over.right && y >= over.top && y <= over.bottom;
};

/** Puts the parts of the page that `panel` covers out of reach and focuses the panel; null ends it. */
export function cover(panel) {
  for (const part of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(PARTS)))
    part.inert = Boolean(panel) && isCovered(part, panel);
  if (!panel || panel.contains(document.activeElement)) return;
  const first = [...panel.querySelectorAll(FOCUSABLE)].find((one) => !one.disabled && one.checkVisibility());
  first?.focus({ preventScroll: true });
}

/** Shows a dialog that may stand in a part that a panel covers; until it is closed, that part is in reach for it. */
export function showDialog(dialog) {
  const covered = dialog.closest("[inert]");
  if (covered) {
    covered.inert = false;
    dialog.addEventListener("close", () => (covered.inert = true), { once: true });
  }
  dialog.showModal();
}

/** Returns a function that focuses what has the focus now, if it is still in the page. */
export function keepFocus() {
  const focused = /** @type {HTMLElement} */ (document.activeElement);
  return () => focused?.isConnected && focused.focus({ preventScroll: true });
}

const SHOWN_TIMEOUT_MS = 5000;

/** Focuses the first element of a selector as soon as the page shows it. */
export function focusWhenShown(selector, until = performance.now() + SHOWN_TIMEOUT_MS) {
  const element = document.querySelector(selector);
  if (element?.checkVisibility()) element.focus();
  else if (performance.now() < until) requestAnimationFrame(() => focusWhenShown(selector, until));
}

/** Whether a person can use an element now: it is shown, and nothing covers it. */
export const isInReach = (element) => Boolean(element.offsetParent) && !element.closest("[inert]");
