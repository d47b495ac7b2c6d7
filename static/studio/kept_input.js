// Keeps what a person typed and decided while the studio did not answer, over the reload of the page, and sends it then.
import { REPEATABLE, send, unanswered } from "./channel.js";
import { signOf } from "./pressed_controls.js";

const KEY = "studioKeptInput",
  FIELDS = "input:not([type]), input[type=text], input[type=number], input[type=search], textarea",
  WAIT_MS = 20_000, // for a project to open, and for its fields to be there
  STAYS = 5; // looks in a row that find a text still there: what a project opens with may come later
const typed = new Map(); // text by the sign of its field
let kept = []; // {place, text, looks} of the fields that are still to be filled

document.addEventListener(
  "input",
  (/** @type {any} */ { target: field, isTrusted: byPerson }) => {
    if (!isField(field)) return;
    typed.set(placeOf(field), field.value);
    if (byPerson) kept = kept.filter(({ place }) => place !== placeOf(field));
  },
  true,
);

/** Keeps what was typed, and what was decided and not answered, for when the page is loaded again. */
export function keepInput(project) {
  const stored = storedFor(project), // by a page that was left before it could fill its fields
    sent = unanswered().filter(({ name }) => REPEATABLE.includes(name)),
    key = ({ id, name, data }) => JSON.stringify([id, name, data]), // a field sends by Enter and when it is left
    events = new Map([...(stored?.events ?? []), ...sent].map((one) => [key(one), one])),
    unsent = [...typed].filter(([place, text]) => fieldAt(place)?.value === text),
    former = kept.map(({ place, text }) => [place, text]),
    fields = new Map([...(stored?.fields ?? []), ...former, ...unsent]);
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ project, events: [...events.values()], fields: [...fields] }));
  } catch {} // too much for the browser to keep
}

/** Sends what was kept for this project, and fills its fields, once. */
export function takeUpInput(project) {
  const stored = storedFor(project);
  if (!stored) return;
  sessionStorage.removeItem(KEY);
  for (const { id, name, data } of stored.events) send(id, name, data);
  kept = (stored.fields ?? []).map(([place, text]) => ({ place, text, looks: 0 }));
  fillFields(performance.now() + WAIT_MS);
}

function storedFor(project) {
  const stored = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  return stored?.project === project ? stored : null;
}

function fillFields(until) {
  for (const one of kept) one.looks = fill(one) ? one.looks + 1 : 0;
  kept = kept.filter(({ looks }) => looks < STAYS);
  if (kept.length && performance.now() < until) setTimeout(() => fillFields(until), 200);
}

// Gradio numbers the elements of its HTML components anew each time.
const placeOf = (field) => `${field.closest("[id]:not([id^=html-])")?.id} ${signOf(field)}`;
const isField = (/** @type {any} */ element) => element.matches?.(FIELDS);
/** @returns {any} */
const fieldAt = (place) => [...document.querySelectorAll(FIELDS)].find((one) => placeOf(one) === place);

// Returns whether the field held the text already.
function fill({ place, text }) {
  const field = fieldAt(place);
  if (!field || field.value === text) return Boolean(field);
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set.call(field, text);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  return false;
}
