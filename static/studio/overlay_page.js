// A page over the whole window, such as the library: whether it is open, for every component of the page.
import { keepFocus } from "./keep_focus.js";
import { listen, notify } from "./listeners.js";

/** Returns {isOpen, open, close, on} of the page with that key on `window`. `open` takes a request for the page; the
 * callback of `on` gets it, and null when the page closes, while its element is in the document. */
export function overlayPage(key) {
  window[key] ??= { open: false, focusAgain: null, listeners: new Set() };
  const state = window[key];
  return {
    isOpen: () => state.open,
    open(request = {}) {
      if (!state.open) state.focusAgain = keepFocus(document.body); // its element may be drawn anew meanwhile
      state.open = true;
      notify(state.listeners, request);
    },
    close() {
      if (!state.open) return;
      state.open = false;
      notify(state.listeners, null);
      state.focusAgain();
    },
    on: (element, callback) => listen(state.listeners, element, callback),
  };
}
