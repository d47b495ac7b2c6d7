// The page's road to the studio. The newest values of all components come by a WebSocket; what a person does goes there by
// requests, one after the other, each until it is answered. See studio/pages/page_channel.py.
//
// Gradio's own components get theirs by an event of Gradio, which is sent when the channel says that there is something
// new, and again if nothing came of it.
import { language, t } from "./texts.js";
import { follow, onChange, signal, untracked } from "./view.js";

/** Events that may act twice: the last of equal decisions counts. */
export const REPEATABLE = ["decide"];
const RETRY_MS = 500,
  LOST_MS = 3000, // without a connection, after which the page says so
  WIDGETS_MS = 4000, // after which an event of Gradio is taken for lost
  GRADIO_LOST = "/gradio_api/app_id", // which Gradio asks for every 2 s once it has lost its connection
  LOST_ASKS = 4, // unanswered events in a row, after which it is taken for lost
  RELOAD = "studioReloadedAt",
  RELOAD_MS = 30_000, // between two reloads because of Gradio: what stops its events may stay
  DRAWN_MS = 60, // after something of Gradio's was drawn first; more is drawn in the same moment
  UNAUTHORISED = 401,
  GONE = 409, // the studio does not know the page yet, or was started again
  AWAY = [GONE, 502, 503, 504]; // what a proxy answers in its place
const page = [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join(""),
  values = new Map(), // the newest, as JSON, by the component's id
  joined = new Map(), // {element, draw} by the component's id, of those that are in the page
  outbox = [], // actions that are not answered yet: {id, name, data, number, mayHaveActed}
  isLost = signal(false),
  newNotices = signal(/** @type {string[]} */ ([])), // that nobody has taken yet
  openings = signal(0), // counts what was opened and is on the screen
  jobs = signal(/** @type {Job[]} */ ([])), // see jobs.js
  reloads = signal(0); // counts when the page is about to be loaded again
let isStarted = false,
  isGradios = false, // whether components of Gradio's are in the page
  socket = null,
  said = null, // what the page shows, as the studio was told
  shows = 0, // counts those messages
  isSending = false,
  sent = 0,
  update = {
    number: 0,
    acted: 0,
    widgets: 0,
    opened: 0,
    told: 0,
    version: -1,
    shows: 0,
    studio: "",
    scripts: "",
    project: "",
  },
  lostSince = null,
  isGradioLost = false, // Gradio has lost its connection, and sends no event any more
  unansweredAsks = 0, // events of Gradio in a row
  isLeaving = false, // the page is being loaded again
  wasLost = false, // the connection, since the last update
  awaitsValues = false, // since the studio was started again
  wantsAll = false, // whether the next one sets all of its components
  askWidgets = null,
  shown = 0, // number of the change that Gradio's components show
  asks = 0, // counts those events; an answer names the one it answers, so that no two answers are alike
  asked = 0, // when the last was sent; 0 if it was answered
  allDue = 0; // timer of an event that sets all

/** Connects the page, which may have no components of Gradio's; returns this module. */
export function start(module, hasWidgets = true) {
  isStarted = true;
  isGradios = hasWidgets;
  connect();
  setInterval(check, 500);
  new PerformanceObserver((list) => {
    isGradioLost ||= list.getEntries().some(({ name }) => name.endsWith(GRADIO_LOST));
  }).observe({ type: "resource" });
  return module;
}

/** @typedef {{id: string, kind: string, title: string, project: string, state: string, stopping: boolean,
 *   message: string, done: number, of: number}} Job a job of studio/web/jobs.py */

/** What runs in the studio, and what ended last. */
export const listedJobs = () => jobs.value;
export const id = page;
/** Version of the open project that the page shows; -1 in the gallery. */
export const version = () => update.version;
export const isConnected = () => isStarted && lostSince === null;
export const unanswered = () => outbox;
/** Whether the studio has acted on all that was sent and answered it, and the page shows what came of it. */
export const isSettled = () =>
  update.number > 0 &&
  lostSince === null &&
  !outbox.length &&
  update.acted >= sent &&
  update.shows === shows &&
  (!isGradios || (shown >= update.widgets && !asked && !allDue));

/** Calls back when the connection is lost, and when it is back. */
export const onLoss = (element, callback) => onChange(element, () => isLost.value, callback);

/** Calls back with new notices, those that came already included. */
export const onNotices = (element, callback) =>
  follow(element, () => {
    const texts = newNotices.value;
    if (!texts.length) return;
    newNotices.value = [];
    untracked(() => callback(texts));
  });

/** Calls back before the page is loaded again, since its scripts are others now or the login has ended. */
export const onReload = (element, callback) => onChange(element, () => reloads.value, callback);

/** Calls `draw` with the component's newest value and whenever a newer one comes, as long as its element is there. */
export function join(component, element, draw) {
  joined.set(component, { element, draw });
  if (values.has(component)) draw(JSON.parse(values.get(component)));
  sayShown();
}

// Tells the studio which components are in the page: it computes the values of no others.
function sayShown() {
  for (const [component, { element }] of joined) if (!element.isConnected) joined.delete(component);
  const ids = [...joined.keys()].sort().join(" ");
  if (ids === said || socket?.readyState !== WebSocket.OPEN) return;
  said = ids;
  socket.send(`shows ${++shows} ${ids}`);
}

// ---------------------------------------------------------------- what comes

function connect() {
  const address = new URL(`channel/${page}`, document.baseURI),
    project = new URL(location.href).searchParams.get("project");
  address.protocol = address.protocol.replace("http", "ws");
  if (project) address.searchParams.set("project", project);
  address.searchParams.set("told", String(update.told));
  socket = new WebSocket(address);
  said = null;
  socket.onopen = sayShown;
  socket.onmessage = ({ data }) => {
    const update = JSON.parse(data);
    if (!("number" in update)) return takeJobs(update.jobs);
    takeUpdate(update);
    // When the frame is drawn the next update may come; a page in the background draws none.
    setTimeout(() => socket.readyState === WebSocket.OPEN && socket.send(`drawn ${update.number}`));
  };
  socket.onclose = () => {
    setLost(lostSince ?? performance.now());
    leaveIfLoggedOut();
    setTimeout(connect, RETRY_MS);
  };
}

// A login that has ended leads to the page where one logs in.
async function leaveIfLoggedOut() {
  const account = await fetch("account.json").catch(() => null);
  if (account?.status === UNAUTHORISED) reload();
}

function reloadForGradio() {
  const mayLeave = update.number && lostSince === null && !outbox.length && !document.hidden;
  if (!mayLeave || Date.now() - Number(sessionStorage.getItem(RELOAD)) < RELOAD_MS) return;
  sessionStorage.setItem(RELOAD, String(Date.now()));
  reload();
}

function reload() {
  if (isLeaving) return; // a second reload stops the first and begins again
  isLeaving = true;
  reloads.value++;
  location.reload();
}

/** Takes an update: numbers of the page's state, see studio/pages/page_channel.py, the values that changed, and jobs. */
export function takeUpdate(
  /** @type {typeof update & {values: Record<string, string>, jobs: Job[], notices: string[]}} */ {
    values: changed,
    jobs: all,
    notices = [],
    ...numbers
  },
) {
  if (update.scripts && numbers.scripts !== update.scripts) return reload();
  if (update.studio && numbers.studio !== update.studio) beginAgain(numbers);
  setLost(null);
  update = numbers;
  newNotices.value = [...newNotices.value, ...notices];
  for (const [component, text] of Object.entries(changed)) {
    values.set(component, text);
    joined.get(component)?.draw(JSON.parse(text));
  }
  awaitsValues &&= numbers.shows !== shows;
  if (!awaitsValues) jobs.value = all;
  if (wasLost && !asked && !allDue) refreshAll(); // if Gradio has lost its connection, it notices now
  wasLost = false;
  refreshWidgets();
}

// The studio was started again, and counts actions and changes of this page anew. An action that may have acted already
// is not sent again, unless it does the same when it acts twice.
function beginAgain({ opened, project }) {
  const isSame = project === update.project,
    unsent = outbox.filter(({ name, mayHaveActed }) => isSame && (!mayHaveActed || REPEATABLE.includes(name)));
  if (unsent.length < outbox.length)
    newNotices.value = [
      ...newNotices.value,
      t("The studio ended while it was asked for something; see whether it is done."),
    ];
  outbox.splice(0, outbox.length, ...unsent);
  for (const [index, action] of outbox.entries()) action.number = index + 1;
  sent = outbox.length;
  shown = isSame ? opened : 0; // what was typed into a project that is still open stays
  asked = 0;
  values.clear();
  awaitsValues = true;
}

/** Takes how far the jobs are. */
export function takeJobs(all) {
  jobs.value = all;
}

function setLost(since) {
  wasLost ||= since !== null;
  lostSince = since;
  if (since === null) isLost.value = false;
}

function check() {
  if (lostSince !== null && performance.now() - lostSince > LOST_MS) isLost.value = true;
  if (isGradioLost || unansweredAsks >= LOST_ASKS) reloadForGradio();
  sayShown();
  refreshWidgets();
}

// ---------------------------------------------------------------- what goes

/** Sends an event of a component, with the values of Gradio's components that belong to it. */
export function send(component, name, data = {}, widgetValues = []) {
  outbox.push({ id: component, name, data, number: ++sent, widgetValues });
  if (!isSending) deliver();
  return true;
}

async function deliver() {
  isSending = true;
  while (outbox.length) {
    const action = outbox[0],
      { id: component, name, data, number, widgetValues } = action,
      body = JSON.stringify({
        studio: update.studio,
        page,
        number,
        component,
        event: name,
        message: data ?? {},
        values: widgetValues,
      }),
      headers = { "content-type": "application/json" };
    const mayHave = Boolean(action.mayHaveActed);
    action.mayHaveActed = true; // as far as the page knows
    const answer = await fetch("act", { method: "POST", headers, body }).catch(() => null);
    if (answer) setLost(socket?.readyState === WebSocket.OPEN ? null : lostSince);
    else setLost(lostSince ?? performance.now()); // a network that is away closes no socket
    if (answer?.status === UNAUTHORISED) return reload();
    if (answer?.status === GONE) action.mayHaveActed = mayHave;
    if (!answer || AWAY.includes(answer.status)) await new Promise((done) => setTimeout(done, RETRY_MS));
    else if (outbox[0] === action) outbox.shift();
  }
  isSending = false;
}

// ---------------------------------------------------------------- Gradio's own components

export function takeWidgets(trigger) {
  askWidgets = trigger;
  refreshWidgets();
}

/** Sets all of Gradio's own components, once nothing more of them is being drawn for the first time. */
export function refreshAll() {
  clearTimeout(allDue);
  allDue = setTimeout(() => {
    allDue = 0;
    refreshWidgets(true);
  }, DRAWN_MS);
}

// Sets Gradio's own components if there is something new for them, `all` of them in any case.
function refreshWidgets(all = false) {
  wantsAll ||= all;
  if (!askWidgets || !update.number || lostSince !== null) return; // after an event that failed, Gradio sends no other
  const isBehind = update.widgets > shown,
    isLost = asked && performance.now() - asked > WIDGETS_MS;
  if (!wantsAll && !isLost && (!isBehind || asked)) return;
  if (isLost) unansweredAsks++;
  askWidgets(language === "en" ? "refresh" : "translate", { shown, ask: ++asks, all: wantsAll || Boolean(asked) });
  asked = performance.now();
  wantsAll = false;
}

export function widgetsShown(value) {
  if (!value) return;
  const opensNow = shown < update.opened && value.shown >= update.opened;
  shown = value.shown;
  if (value.ask === asks) asked = 0;
  unansweredAsks = 0;
  if (opensNow) {
    openings.value++;
    refreshAll(); // Gradio loses the label of a tab that comes with what makes tabs visible
  } else refreshWidgets();
}

/** Whether what was opened is on the screen; always where no channel is. */
export const isOpened = () => !isGradios || (update.number > 0 && shown >= update.opened);

export const onOpened = (element, callback) => onChange(element, () => openings.value, callback);
