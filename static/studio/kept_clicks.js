// While work runs, parts of the page are redrawn. If that replaces a button between press and release, the browser drops
// the click, also one by the space bar. This passes it to the button that is there then.
import { signOf } from "./keep_focus.js";

const CONTROLS = "button, a, summary, label, input, select, [role], [tabindex]";

const controlOf = (element) => element?.closest?.(CONTROLS) ?? element;
const isAlike = (one, other) => one && other && signOf(one) === signOf(other);

let pressed = null; // what the mouse went down on: {target, control}
let typed = null; // the control that the space bar went down on

addEventListener(
  "mousedown",
  ({ button, target }) => (pressed = button === 0 ? { target, control: controlOf(target) } : null),
  true,
);

addEventListener(
  "mouseup",
  (event) => {
    const before = pressed;
    if (event.button !== 0) return;
    pressed = null;
    if (!before || before.target.isConnected) return; // the browser clicks it
    const under = document.elementFromPoint(event.clientX, event.clientY);
    if (!isAlike(before.control, controlOf(under))) return;
    const { clientX, clientY, screenX, screenY, shiftKey, ctrlKey, altKey, metaKey } = event,
      options = { clientX, clientY, screenX, screenY, shiftKey, ctrlKey, altKey, metaKey, detail: 1, view: window };
    under.dispatchEvent(new MouseEvent("click", { ...options, bubbles: true, cancelable: true, composed: true }));
  },
  true,
);

// Where the page does something else with the space bar, it prevents the click.
const buttonIn = (event) =>
  event.key === " " && !event.defaultPrevented ? event.target.closest?.("button, summary") : null;

addEventListener("keydown", () => (typed = null), true);
addEventListener("keydown", (event) => (typed = buttonIn(event)));

addEventListener("keyup", (event) => {
  const before = typed,
    next = buttonIn(event);
  typed = null;
  if (before && next && !before.isConnected && isAlike(before, next)) next.click();
});
