// A page over the whole window, such as the library: whether it is open, for every component of the page.
import { keepFocus } from "./covering.js";
import { onChange, signal } from "./view.js";

/** Returns {isOpen, request, open, close, on} of a page. `open` takes a request for the page; `request()` is the one that
 * it is open with, else null; the callback of `on` gets it at each change, while its element is in the document. */
export function overlayPage() {
  const shown = signal(/** @type {any} */ (null));
  let focusAgain = () => {};
  return {
    isOpen: () => shown.value !== null,
    request: () => shown.value,
    open(request = {}) {
      if (!shown.value) focusAgain = keepFocus();
      shown.value = { ...request };
    },
    close() {
      if (!shown.value) return;
      shown.value = null;
      focusAgain();
    },
    on: (element, callback) => onChange(element, () => shown.value, callback),
  };
}
