// Order of objects in the list and the cards: by number, or lowest confidence first. An order that has been shown stays
// the same while a person works; new objects are appended.
import { listen, notify } from "./listeners.js";

const KEY = "studioOrder";
window[KEY] ??= { token: null, lowestFirst: false, ids: [], listeners: new Set() };
const state = window[KEY];

export const leastConfidentFirst = () => state.lowestFirst;

// Returns the objects in order, without non-objects. By number until every confidence is known.
export function orderedObjects(token, objects) {
  if (token !== state.token) Object.assign(state, { token, ids: [] });
  const real = objects.filter((object) => object.is_object);
  const hasConfidence =
    real.some((object) => object.confidence) && real.every((object) => object.confidence || !object.placed);
  if (!state.lowestFirst || (!state.ids.length && !hasConfidence)) return real;
  const known = new Set(state.ids),
    confidence = (object) => object.confidence?.score ?? 1;
  state.ids.push(
    ...real
      .filter((object) => !known.has(object.id))
      .sort((a, b) => confidence(a) - confidence(b))
      .map((object) => object.id),
  );
  return state.ids.map((id) => real.find((object) => object.id === id)).filter(Boolean);
}

// Sets the order a person chose. Choosing it again sorts again.
export function setLeastConfidentFirst(enabled) {
  Object.assign(state, { lowestFirst: enabled, ids: [] });
  notify(state.listeners);
}

export const onOrder = (element, callback) => listen(state.listeners, element, callback);
