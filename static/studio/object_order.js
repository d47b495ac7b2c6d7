// Order of objects in the list and the cards: by number, or lowest confidence first. An order that has been shown stays
// the same while a person works; new objects are appended.
import { signal } from "./view.js";

const lowestFirst = signal(false);
let shown = { token: null, ids: [] };

export const leastConfidentFirst = () => lowestFirst.value;

/** Returns the objects in order, without non-objects. By number until every confidence is known. */
export function orderedObjects(token, objects) {
  if (token !== shown.token) shown = { token, ids: [] };
  const real = objects.filter((object) => object.is_object),
    hasConfidence =
      real.some((object) => object.confidence) && real.every((object) => object.confidence || !object.placed);
  if (!lowestFirst.value || (!shown.ids.length && !hasConfidence)) return real;
  const known = new Set(shown.ids),
    confidence = (object) => object.confidence?.score ?? 1;
  shown.ids.push(
    ...real
      .filter((object) => !known.has(object.id))
      .sort((a, b) => confidence(a) - confidence(b))
      .map((object) => object.id),
  );
  return shown.ids.map((id) => real.find((object) => object.id === id)).filter(Boolean);
}

/** Sets the order a person chose. Choosing it again sorts again. */
export function setLeastConfidentFirst(enabled) {
  shown.ids = [];
  lowestFirst.value = enabled;
}
