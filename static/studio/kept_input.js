// Keeps what a person typed and decided while the studio did not answer, over the reload of the page, and sends it then.
import { REPEATABLE, send, unanswered } from "./channel.js";
import { signOf } from "./pressed_controls.js";

const KEY = "studioKeptInput",
  FIELDS = "input:not([type]), input[type=text], input[type=number], input[type=search], textarea",
  WAIT_MS = 20_000, // for a project to open, and for its fields to be there
  STAYS = 5; // looks in a row that find a text still there: what a project opens with may come later
const typed = new Map(); // text by the sign of its field

document.addEventListener(
  "input",
  (/** @type {any} */ { target: field }) => isField(field) && typed.set(placeOf(field), field.value),
  true,
);

/** Keeps what was typed, and what was decided and not answered, for when the page is loaded again. */
export function keepInput(project) {
  const sent = unanswered().filter(({ name }) => REPEATABLE.includes(name)),
    key = ({ id, name, data }) => JSON.stringify([id, name, data]), // a field sends by Enter and when it is left
    events = [...new Map(sent.map((one) => [key(one), one])).values()],
    unsent = [...typed].filter(([place, text]) => fieldAt(place)?.value === text);
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ project, events, unsent }));
  } catch {} // too much for the browser to keep
}

/** Sends what was kept for this project, and fills its fields, once. */
export function takeUpInput(project) {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  if (!kept || kept.project !== project) return;
  sessionStorage.removeItem(KEY);
  for (const { id, name, data } of kept.events) send(id, name, data);
  const until = performance.now() + WAIT_MS,
    attempt = () => {
      for (const one of kept.unsent) one[2] = fill(one[0], one[1]) ? (one[2] ?? 0) + 1 : 0;
      kept.unsent = kept.unsent.filter(([, , looks]) => looks < STAYS);
      if (kept.unsent.length && performance.now() < until) setTimeout(attempt, 200);
    };
  attempt();
}

// Gradio numbers the elements of its HTML components anew each time.
const placeOf = (field) => `${field.closest("[id]:not([id^=html-])")?.id} ${signOf(field)}`;
const isField = (/** @type {any} */ element) => element.matches?.(FIELDS);
/** @returns {any} */
const fieldAt = (place) => [...document.querySelectorAll(FIELDS)].find((one) => placeOf(one) === place);

// Returns whether the field held the text already.
function fill(place, text) {
  const field = fieldAt(place);
  if (!field || field.value === text) return Boolean(field);
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set.call(field, text);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  return false;
}
