// Recordings beside each other: a time is shown in all of them in the same frame of the page, once each has its poses.

const PATIENCE_MS = 200; // after which a recording that stands still is not waited for
const members = new Map(); // newest time in seconds by frame element, Infinity at a recording's end
let timer;

export function join(frame) {
  if (!members.has(frame)) members.set(frame, null);
}

export function leave(frame) {
  members.delete(frame);
}

// A recording has received the poses of a time.
export function arrived(frame, { time, atEnd }) {
  for (const each of members.keys()) if (!each.isConnected) leave(each);
  members.set(frame, atEnd ? Infinity : time);
  const times = [...members.values()].filter((each) => each !== null);
  show(Math.min(...times));
  clearTimeout(timer);
  timer = setTimeout(() => show(Infinity), PATIENCE_MS);
}

// Events are dispatched at once, unlike messages, so that no frame is drawn between two recordings.
function show(time) {
  for (const frame of members.keys()) frame.contentWindow?.dispatchEvent(new CustomEvent("grs-show", { detail: time }));
}
