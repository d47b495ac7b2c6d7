// Opens the dialog on what is sent to a model's server, from any component of the page.
const EVENT = "studio-open-sending";

export const openSendDialog = () => document.dispatchEvent(new Event(EVENT));

export function onSendDialog(element, callback) {
  const listener = () => (element.isConnected ? callback() : document.removeEventListener(EVENT, listener));
  document.addEventListener(EVENT, listener);
}
