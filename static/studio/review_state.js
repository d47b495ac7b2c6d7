// The running review queue, for every component of the page: {names, at, counts} with the projects in order, the
// index of the one under review and the number of frames by verdict; null if none runs. It outlives a reload of the page.
import { onChange, signal } from "./view.js";

const KEY = "studioReview",
  queue = signal(JSON.parse(sessionStorage.getItem(KEY) ?? "null"));

export const reviewQueue = () => queue.value;
export const onReviewQueue = (element, callback) => onChange(element, reviewQueue, callback);

export function setReviewQueue(next) {
  next ? sessionStorage.setItem(KEY, JSON.stringify(next)) : sessionStorage.removeItem(KEY);
  queue.value = next;
}

export const startReview = (names) =>
  setReviewQueue({ names, at: 0, counts: { accepted: 0, rejected: 0, skipped: 0 } });
