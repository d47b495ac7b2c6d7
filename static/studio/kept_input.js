// Keeps what a person typed and decided while the studio did not answer, over the reload of the page, and sends it then.
import { signOf } from "./keep_focus.js";

const KEY = "studioKeptInput",
  FIELDS = "input:not([type]), input[type=text], input[type=number], input[type=search], textarea",
  REPEATABLE = ["decide"], // events that may be sent twice: the last of equal decisions counts
  WAIT_MS = 20_000; // for a project to open, and for its fields to be there
const typed = new Map(); // text by the sign of its field
let answeredAt = performance.now();

document.addEventListener(
  "input",
  ({ target }) => target.matches?.(FIELDS) && typed.set(signOf(target), target.value),
  true,
);

/** Notes that the studio answers: what was sent before has arrived. */
export function noteAnswer() {
  answeredAt = performance.now();
  window.studioOutbox = [];
}

/** Keeps what was typed, and what was decided since the last answer, for when the page is loaded again. */
export function keepInput(project) {
  const events = (window.studioOutbox ?? []).filter(({ name, at }) => at > answeredAt && REPEATABLE.includes(name)),
    unsent = [...typed].filter(([sign, text]) => [...fields()].some((one) => signOf(one) === sign && one.value === text));
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ project, events, unsent }));
  } catch {} // too much for the browser to keep
}

/** Sends what was kept for this project, and fills its fields, once. */
export function takeUpInput(project) {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  if (!kept || kept.project !== project) return;
  sessionStorage.removeItem(KEY);
  const until = performance.now() + WAIT_MS,
    attempt = () => {
      kept.events = kept.events.filter(({ id, name, data }) => !window.studioSenders?.get(id)?.(name, data));
      kept.unsent = kept.unsent.filter(([sign, text]) => !fill(sign, text));
      if ((kept.events.length || kept.unsent.length) && performance.now() < until) setTimeout(attempt, 200);
    };
  attempt();
}

const fields = () => document.querySelectorAll(FIELDS);

function fill(sign, text) {
  const field = [...fields()].find((one) => signOf(one) === sign);
  if (!field) return false;
  if (field.value === text) return true;
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set.call(field, text);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  return true;
}
