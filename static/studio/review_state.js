// The running review queue, for every component of the page: {names, at, counts} with the projects in order, the
// index of the one under review and the number of frames by verdict; null if none runs. It outlives a reload of the page.
import { listen, notify } from "./listeners.js";

const KEY = "studioReview";
window[KEY] ??= { queue: JSON.parse(sessionStorage.getItem(KEY) ?? "null"), listeners: new Set() };
const state = window[KEY];

export const reviewQueue = () => state.queue;
export const onReviewQueue = (element, callback) => listen(state.listeners, element, callback);

export function setReviewQueue(queue) {
  state.queue = queue;
  queue ? sessionStorage.setItem(KEY, JSON.stringify(queue)) : sessionStorage.removeItem(KEY);
  notify(state.listeners, queue);
}

export const startReview = (names) =>
  setReviewQueue({ names, at: 0, counts: { accepted: 0, rejected: 0, skipped: 0 } });
