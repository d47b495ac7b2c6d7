// Callbacks of components that share a state. One is dropped as soon as its element has left the page.
export function listen(listeners, element, callback) {
  const listener = (value) => (element.isConnected ? callback(value) : listeners.delete(listener));
  listeners.add(listener);
}

export function notify(listeners, value) {
  for (const listener of [...listeners]) listener(value);
}
