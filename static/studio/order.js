// The one order of objects, for the list and the cards: by number, or the least sure first. An order that a person has
// seen stays as it is while they work; what is new comes behind.
const key = "studioOrder";
const state = (window[key] ??= { token: null, least: false, decided: false, ids: [], listeners: new Set() });

export const leastSureFirst = () => state.least;

// Things only, in order. Until it is known how sure each is, by number.
export function inOrder(token, objects) {
  if (token !== state.token) Object.assign(state, { token, ids: [] });
  const things = objects.filter((one) => one.is_object);
  const known = things.some((one) => one.sure) && things.every((one) => one.sure || !one.placed);
  if (!state.least || (!state.ids.length && !known)) return things;
  const have = new Set(state.ids), share = (one) => one.sure?.share ?? 1;
  state.ids.push(...things.filter((one) => !have.has(one.id)).sort((a, b) => share(a) - share(b)).map((one) => one.id));
  return state.ids.map((id) => things.find((one) => one.id === id)).filter(Boolean);
}

// A person wants this order from now on; chosen again, it is sorted anew.
export function sortLeastSureFirst(least) {
  Object.assign(state, { least, decided: true, ids: [] });
  for (const listener of [...state.listeners]) listener();
}

// The step for looking objects over is shown: there the least sure come first, unless a person wanted otherwise.
export function lookingOver() {
  if (state.decided || state.least) return;
  state.least = true;
  for (const listener of [...state.listeners]) listener();
}

export function onOrder(element, callback) {
  const listener = () => (element.isConnected ? callback() : state.listeners.delete(listener));
  state.listeners.add(listener);
}
