// Which object is selected, and which ones beside it, for every component of the page and for the viewer in its frame.
const key = "studioSelection";
const state = (window[key] ??= { id: null, also: new Set(), listeners: new Set(), names: new Map() });

export const selected = () => state.id;
export const also = () => state.also;

export function select(id) {
  if (state.id === id && !state.also.size) return;
  Object.assign(state, { id, also: new Set() });
  tell();
}

// Adds an object to those that are selected, or takes it out again.
export function selectMore(id) {
  const all = new Set([state.id, ...state.also].filter(Boolean));
  all.has(id) ? all.delete(id) : all.add(id);
  const [first = null, ...rest] = all;
  Object.assign(state, { id: first, also: new Set(rest) });
  tell();
}

function tell() {
  for (const listener of [...state.listeners]) listener(state.id);
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
