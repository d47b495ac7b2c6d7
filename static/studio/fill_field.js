// Fills a text field of the page at once, as if a person had typed it: an answer of the server could come too late.
export function fillField(selector, text) {
  const field = document.querySelector(selector);
  if (!field || field.value === text) return;
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set.call(field, text);
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Fills a text field that is empty or holds one of the `earlier` texts, and in which nobody is typing. */
export function suggestField(selector, text, earlier) {
  const field = document.querySelector(selector);
  if (field && field !== document.activeElement && ["", ...earlier].includes(field.value)) fillField(selector, text);
}
