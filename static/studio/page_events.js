// Events of the window and the document, for a component that leaves the page without a word.

/**
 * Calls `act` at each event of that name until `element` has left the page.
 * @param {Element} element
 * @param {EventTarget} target
 * @param {string} name
 * @param {(event: any) => void} act
 * @param {boolean} [isCaptured]
 */
export function hear(element, target, name, act, isCaptured = false) {
  const listener = (event) =>
    element.isConnected ? act(event) : target.removeEventListener(name, listener, isCaptured);
  target.addEventListener(name, listener, isCaptured);
}
