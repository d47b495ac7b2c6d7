// Which object is selected, for every component of the page and for the viewer in its frame.
const key = "studioSelection";
const state = (window[key] ??= { id: null, listeners: new Set(), names: new Map() });

export const selected = () => state.id;

export function select(id) {
  if (state.id === id) return;
  state.id = id;
  for (const listener of [...state.listeners]) listener(id);
}

// Calls back at each change until the element has left the page.
export function onSelect(element, callback) {
  const listener = (id) => (element.isConnected ? callback(id) : state.listeners.delete(listener));
  state.listeners.add(listener);
}

// Tells which name the viewer uses for which object.
export function nameObjects(objects) {
  state.names = new Map(objects.map((object) => [object.name, object.id]));
}
export const idOf = (name) => state.names.get(name) ?? null;
export const nameOf = (id) => [...state.names].find(([, value]) => value === id)?.[0] ?? null;
