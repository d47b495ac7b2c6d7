// The selected object and further selected ones, for every component of the page and the viewer in its frame.
import { listen, notify } from "./listeners.js";

const KEY = "studioSelection";
window[KEY] ??= { id: null, also: new Set(), listeners: new Set(), names: new Map() };
const state = window[KEY];

export const selected = () => state.id;
export const alsoSelected = () => state.also;

export function select(id) {
  if (state.id === id && !state.also.size) return;
  Object.assign(state, { id, also: new Set() });
  notify(state.listeners, state.id);
}

// Adds an object to the selection or removes it.
export function toggleSelected(id) {
  const all = new Set([state.id, ...state.also].filter(Boolean));
  all.has(id) ? all.delete(id) : all.add(id);
  const [first = null, ...rest] = all;
  Object.assign(state, { id: first, also: new Set(rest) });
  notify(state.listeners, state.id);
}

// Calls back at each change while the element is in the page.
export const onSelect = (element, callback) => listen(state.listeners, element, callback);

// Sets the name by which the viewer knows each object.
export function nameObjects(objects) {
  state.names = new Map(objects.map((object) => [object.name, object.id]));
}
export const idOf = (name) => state.names.get(name) ?? null;
export const nameOf = (id) => [...state.names].find(([, value]) => value === id)?.[0] ?? null;
