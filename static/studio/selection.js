// The selected object and further selected ones, for every component of the page and the viewer in its frame.
import { batch, onChange, signal } from "./view.js";

const first = signal(/** @type {number | null} */ (null)),
  further = signal(/** @type {Set<number>} */ (new Set()));
let names = new Map();

export const selected = () => first.value;
export const alsoSelected = () => further.value;
export const isSelected = (id) => id === first.value || further.value.has(id);

export function select(id) {
  set(id);
}

const set = (id, others = []) =>
  batch(() => {
    first.value = id;
    if (others.length || further.value.size) further.value = new Set(others);
  });

/** Adds an object to the selection or removes it. */
export function toggleSelected(id) {
  const all = new Set([first.value, ...further.value].filter(Boolean));
  all.has(id) ? all.delete(id) : all.add(id);
  const [one = null, ...rest] = all;
  set(one, rest);
}

/** Calls back at each change while the element is in the page. */
export const onSelect = (element, callback) =>
  onChange(
    element,
    () => [first.value, further.value],
    ([id]) => callback(id),
  );

/** Sets the name by which the viewer knows each object. */
export function nameObjects(objects) {
  names = new Map(objects.map((object) => [object.name, object.id]));
}
export const idOf = (name) => names.get(name) ?? null;
export const nameOf = (id) => [...names].find(([, value]) => value === id)?.[0] ?? null;
