// Keeps the keyboard's place in a part of the page that is drawn anew: the element that had the focus, or the one that
// took its place, gets it again.
const DATA = ["id", "act", "name", "asset", "round", "page", "view", "step"];

// Returns a text that identifies an element among its neighbours: its data attributes, else id, label, title or text.
export function signOf(element) {
  const data = DATA.filter((name) => element.dataset[name] !== undefined).map(
    (name) => `${name}=${element.dataset[name]}`,
  );
  const sign = data.join() || element.id || element.getAttribute("aria-label") || element.title || element.textContent;
  return `${element.tagName} ${sign}`;
}

const positionIn = (root, element) => {
  const position = [];
  for (let one = element; one !== root; one = one.parentElement)
    position.unshift([...one.parentElement.children].indexOf(one));
  return position;
};

/** Notes which element in `root` has the focus. Returns a function that focuses it, or the one in its place, again. */
export function keepFocus(root) {
  const focused = globalThis.document?.activeElement;
  if (!focused || focused === root || !root.contains?.(focused)) return () => {};
  const sign = signOf(focused),
    isAlike = (element) => element.tagName === focused.tagName && signOf(element) === sign,
    number = [...root.querySelectorAll(focused.tagName)].filter(isAlike).indexOf(focused),
    position = positionIn(root, focused);
  return () => {
    const alike = [...root.querySelectorAll(focused.tagName)].filter(isAlike),
      inPlace = position.reduce((element, index) => element?.children[index], root),
      next = root.contains(focused)
        ? focused
        : (alike[number] ?? alike[0] ?? (inPlace?.tagName === focused.tagName ? inPlace : null));
    if (next && next !== document.activeElement) next.focus({ preventScroll: true });
  };
}

const SHOWN_TIMEOUT_MS = 5000;

/** Focuses the first element of a selector as soon as the page shows it. */
export function focusWhenShown(selector, until = performance.now() + SHOWN_TIMEOUT_MS) {
  const element = document.querySelector(selector);
  if (element?.checkVisibility()) element.focus();
  else if (performance.now() < until) requestAnimationFrame(() => focusWhenShown(selector, until));
}
