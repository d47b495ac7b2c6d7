// Drops the click on a control that became another one between press and release: preact may reuse the element of one
// button for another.
const CONTROLS = "button, a, summary, label, [role=button]",
  DATA = ["id", "act", "name", "asset", "round", "page", "view", "step"];
let pressed = null; // {control, sign} of what the pointer or the space bar went down on

/** Returns a text that identifies an element among its neighbours: its data attributes, else id, label, title or text. */
export function signOf(element) {
  const data = DATA.filter((name) => element.dataset[name] !== undefined).map(
    (name) => `${name}=${element.dataset[name]}`,
  );
  const sign = data.join() || element.id || element.getAttribute("aria-label") || element.title || element.textContent;
  return `${element.tagName} ${sign}`;
}

const withoutNumbers = (sign) => sign.replace(/\d+/g, ""); // a count in a button's text may rise

function note({ target }) {
  const control = target.closest?.(CONTROLS);
  pressed = control && { control, sign: withoutNumbers(signOf(control)) };
}

addEventListener("pointerdown", note, true);
addEventListener("keydown", (event) => event.key === " " && note(event), true);
addEventListener(
  "click",
  (event) => {
    if (!event.isTrusted || !pressed?.control.contains(/** @type {Node} */ (event.target))) return;
    if (withoutNumbers(signOf(pressed.control)) === pressed.sign) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  },
  true,
);
