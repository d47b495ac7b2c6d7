// Fills a text field of the page at once, as if a person had typed it: an answer of the server could come too late.
export function fillField(selector, text) {
  const field = document.querySelector(selector);
  if (!field) return;
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set.call(field, text);
  field.dispatchEvent(new Event("input", { bubbles: true }));
}
