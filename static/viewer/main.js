// Assembles the viewer. It shows one view at a time, named by the page's #token or by a message from the studio.
//
// Messages of the parent window, same origin only. Received: {type: "load", token, caption, wait}, {type: "select", name},
// {type: "palette", colours: {name: "#hex"}, names: {name: words}, parts: {name: {joint: words}}}, {type: "measure", check: name},
// {type: "present", on, about} to play in a loop without selection, or to let only some objects be selected from outside, {type: "camera", position, target}, also sent when a person
// moves the camera, {type: "beside", on} next to a recording on the same clock, which also shows insets of the model's cameras, then with {type: "frame", time, atEnd}
// sent and the event "grs-show" awaited, {type: "seek", time} in seconds. Sent: {type: "ready"}, {type: "loaded", token}, {type: "select", name}, {type: "time", time, begin, end} with each frame
// that is shown, {type: "steered"} when a person sends a command. On the Scene page also received: {type: "adjustable", on, refused} to dim the tools of who only looks,
// {type: "where"}, answered by {type: "here", pos, quat_wxyz, field_of_view}, {type: "preview", state or null}, {type: "note", text}; and sent: {type: "adjusting" or "adjusted", state}, where
// state is {name, pos, quat_wxyz, relative_scale}, the scale relative to the object's present size. On the Task page
// received: {type: "ghosts", poses: {name: [x, y, z, w, x, y, z]}} to show where objects are to be.
// With "?standalone" in its address the model turns until it is touched, and there is no photograph.
import { Vector3 } from "three";
import { Adjust } from "./adjust.js";
import { CameraInsets } from "./camera_insets.js";
import { Connection, fetchGeometry, ViewNotAvailable, Unreachable } from "./connection.js";
import { Contacts } from "./contacts.js";
import { EdgeOverlay } from "./edge_overlay.js";
import { Ghosts } from "./ghosts.js";
import { Grasps } from "./grasps.js";
import { Joints } from "./joints.js";
import { Labels } from "./labels.js";
import { Measures } from "./measures.js";
import { ObjectNames } from "./object_names.js";
import { Pointer } from "./pointer.js";
import { Renderer } from "./renderer.js";
import { Timeline } from "./timeline.js";
import { Turntable } from "./turntable.js";
import { Twin } from "./twin.js";
import { CameraViews } from "./camera_views.js";
import { t, translateMarkup } from "../studio/texts.js";

translateMarkup(document.body);
const $ = (id) => document.getElementById(id);
const ACCENT = "#ffd24a";
const STANDALONE = new URLSearchParams(location.search).has("standalone");
const HEADROOM = 44; // pixels that the tools take, where the view is small
const CARRY_M = 0.01; // per key
let renderer,
  views,
  pointer,
  labels,
  contacts,
  adjust,
  ghosts,
  insets,
  edges,
  turntable,
  twin,
  header,
  geometryTag = "", // of the twin
  connection,
  token,
  status = {},
  palette = {},
  selected = "",
  retry,
  waiting, // the view that is loaded next
  isOpening = false, // a view is loading and not yet drawn
  measuresNumber = 0,
  caption = "",
  shaded = false,
  about = null, // names of the objects that may be selected from outside; null for all
  presents = false, // the recording plays in a loop, and nothing is selected from outside
  isVisible = false,
  latest = null, // the frame that is shown
  isBeside = false, // another recording on the same clock
  received = []; // frames that are not shown yet

function setState(name, message = "") {
  document.body.dataset.state = name;
  $("message").textContent = message;
}

function setPressed(button, on) {
  button.setAttribute("aria-pressed", String(on));
}

const PAUSE_MS = 1500; // at the end of a recording that is played in a loop
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
setInterval(playAgain, PAUSE_MS);
new IntersectionObserver(([entry]) => (isVisible = entry.isIntersecting)).observe(document.body);
const outdated = []; // twins to dispose of once the next is drawn, so that shaders that both use are compiled once
const send = (op, more) => {
  postToParent({ type: "steered" });
  connection?.send(op, more);
};
const timeline = new Timeline(send, (check) => measures.showCheck(check));
const measures = new Measures(timeline);
const grasps = new Grasps($("grasp-reason"), notice);
const joints = new Joints($("joints"), send);
const wordsOf = (name) => labels?.names[name] ?? name.replaceAll("_", " ");
const objectNames = new ObjectNames($("canvas"), $("objects"), $("announcement"), wordsOf);

// Loading a view

/**
 * Loads a view. One with `wait` seconds follows others that play by themselves: it loads once the one before is drawn
 * and was held at its failed check, or once it waited so long for the hold.
 */
function loadInTurn(wantedToken, wantedCaption, wait) {
  clearTimeout(waiting?.timer);
  const known = waiting?.token === wantedToken ? waiting : { due: Infinity };
  const due = Math.min(performance.now() + 1000 * wait, known.due);
  const geometryRequest = known.geometryRequest ?? (isOpening ? undefined : fetchGeometry(wantedToken, geometryTag));
  geometryRequest?.catch(() => {}); // reported when it is used
  waiting = { token: wantedToken, caption: wantedCaption, due, geometryRequest };
  loadWhenDue();
}

function loadWhenDue() {
  if (!waiting || isOpening) return;
  clearTimeout(waiting.timer);
  if (status.presenting && performance.now() < waiting.due)
    waiting.timer = setTimeout(loadWhenDue, waiting.due - performance.now());
  else loadWaiting();
}

function loadWaiting() {
  const { token: wantedToken, geometryRequest } = waiting;
  ({ caption } = waiting);
  waiting = null;
  load(wantedToken, geometryRequest);
}

async function load(wantedToken, geometryRequest = wantedToken && fetchGeometry(wantedToken, geometryTag)) {
  const isRetry = wantedToken === token && document.body.dataset.state === "lost";
  token = wantedToken;
  connection?.close();
  clearTimeout(retry);
  isOpening = Boolean(token);
  if (!token) return setState("waiting", t("Nothing to show yet."));
  // the old view stays until the next has loaded; after an edit they differ little
  if (!isRetry && document.body.dataset.state !== "showing") setState("opening", t("Loading the scene …"));
  try {
    const pack = await geometryRequest;
    const next = pack.header ? await Twin.from(pack) : null; // null: the twin that is shown has this geometry
    if (token === wantedToken) show(next, pack);
  } catch (error) {
    if (token !== wantedToken) return;
    isOpening = false;
    if (waiting) return loadWhenDue();
    if (error instanceof Unreachable) return retryLater(t("The studio does not answer. Trying again …"));
    setState(
      "failed",
      error instanceof ViewNotAvailable
        ? error.message
        : t("The scene could not be opened: {message}", { message: error.message }),
    );
  }
}

/** Shows the message and retries while this view is wanted. */
function retryLater(message) {
  const ownToken = token;
  setState("lost", message);
  retry = setTimeout(() => load(ownToken), 1500);
}

/** Shows a twin, or the present one again with another motion if `next` is null. */
function show(next, pack) {
  if (next) {
    twin?.root.removeFromParent();
    if (twin) outdated.push(twin);
    ({ header, tag: geometryTag } = pack);
    twin = pointer.twin = labels.twin = next;
    renderer.scene.add(twin.root);
    twin.resize(...renderer.size);
    twin.showCollisions($("collision").getAttribute("aria-pressed") === "true");
    renderer.illuminate(twin.bounds(), header.light);
  }
  adjust.show(twin);
  showInsets();
  ghosts.show(null);
  joints.show(header.joints, twin.names);
  grasps.show(twin, token, () => renderer.requestDraw());
  $("grasps").hidden = !header.grasps;
  labels.setSuffix("");
  $("caption").textContent = caption;
  measuresNumber = -1;
  $("difference").removeAttribute("src");
  const { focus } = pack;
  const points = focus?.map((point) => new Vector3(...point)) ?? twin.corners();
  document.querySelector(`button[data-view="photo"]`).disabled = !header.camera;
  $("compare").dataset.picture = header.picture;
  views.frame(points, header.camera, header.picture ? `${encodeURIComponent(token)}/photo.png` : "", Boolean(focus));
  updateCompare();
  select(selected, true); // the studio may select an object that this view lacks
  connect();
}

const showInsets = () => twin && insets.show(twin, isBeside ? header.cameras : []);

function connect() {
  const ownToken = token;
  let isFirst = true;
  received = [];
  connection = new Connection(ownToken, {
    onFrame(frame) {
      if (isBeside && !isFirst) return receiveBeside(frame);
      showFrame(frame);
      if (!isFirst) return;
      isFirst = false;
      showGhosts(); // its bodies stand where they start
      renderer.onDrawn = () => {
        renderer.onDrawn = null;
        for (const former of outdated.splice(0)) former.dispose();
        setState("showing");
        isOpening = false;
        loadWhenDue();
        postToParent({ type: "loaded", token: ownToken });
        if (STANDALONE) turntable.enable();
        if (!shaded) setTimeout(() => renderer.castShadows(true), 100);
        shaded = true;
      };
    },
    onStatus: onStatus,
    onError: notice,
    onLost: () => retryLater(t("The connection was lost. Trying again …")),
  });
}

function showGhosts() {
  document.body.dataset.ghosts = ghosts.show(twin).join(" ");
  renderer.requestDraw();
}

// Plays a presented recording from its start, at first and after its end, unless another page covers it.
function playAgain() {
  const isPaused = !latest || (latest.time > 0 && latest.time < latest.end),
    isSeen = isVisible && !frameElement?.closest("[inert]");
  if (presents && isSeen && status.recording && !status.playing && !isPaused && !reducedMotion.matches) send("play");
}

function showFrame(frame) {
  latest = frame;
  twin.setPoses(frame.poses);
  adjust.applyTrial();
  contacts.show(frame.contacts);
  timeline.show(frame, status.recording, status.clock_end);
  postToParent({ type: "time", time: frame.time, begin: frame.begin, end: frame.end });
  renderer.requestDraw(true);
}

// Beside another recording: a frame waits until the other one has its frame of that time.
function receiveBeside(frame) {
  received.push(frame);
  postToParent({ type: "frame", time: frame.time, atEnd: frame.time >= frame.end });
}

addEventListener("grs-show", ({ detail: time }) => {
  const index = received.findLastIndex((frame) => frame.time <= time);
  if (index >= 0) showFrame(received.splice(0, index + 1).at(-1));
});

function onStatus(next) {
  const previousNumber = status.notice?.number ?? next.notice.number;
  status = next;
  joints.update(status.joints);
  pointer.carrying = Boolean(status.layout);
  document.body.classList.toggle("arranging", pointer.carrying);
  document.body.classList.toggle("playing", status.playing);
  $("play").title = status.playing ? t("Pause (Space)") : t("Play (Space)");
  $("play").ariaLabel = status.playing ? t("Pause") : t("Play");
  $("kind").textContent = status.layout ? t("Goal layout") : status.recording ? t("recording") : t("physics");
  $("kind").title = status.layout
    ? t("Drag objects to their goal positions; R resets")
    : status.recording
      ? t("Recorded run")
      : t("Live MuJoCo simulation");
  $("kind").classList.toggle("recording", status.recording);
  $("speed").value = String(status.speed);
  setPressed($("contacts"), status.contacts);
  if (JSON.stringify(status.marks) !== JSON.stringify(timeline.marks)) timeline.mark(status.marks);
  showHeld(status.held);
  loadWhenDue();
  if (status.measures !== measuresNumber) loadMeasures(token, status.measures);
  if (status.notice.number !== previousNumber) notice(status.notice.text);
}

async function loadMeasures(ownToken, number) {
  measuresNumber = number;
  const answer = number ? await fetch(`${encodeURIComponent(ownToken)}/measures.json`).catch(() => null) : null;
  const value = answer?.ok ? await answer.json() : { goals: [], checks: [] };
  if (ownToken === token && number === measuresNumber) measures.show(value);
}

/** Shows the words of the check at whose mark the recording is held, at the object that it is about. */
function showHeld(mark) {
  labels.setNote(mark ? mark.object : "", mark ? `✕ ${mark.text}` : "");
  if (mark) twin?.outline("hovered", mark.object, "#ff8f7a");
  else if (document.body.dataset.held) hover("");
  document.body.dataset.held = mark ? mark.check : "";
}

let noticeEnds;
function notice(text) {
  $("notice").textContent = text;
  $("notice").hidden = false;
  clearTimeout(noticeEnds);
  noticeEnds = setTimeout(() => ($("notice").hidden = true), 6000);
}

// Selection

const colourOf = (name) => palette[name] ?? ACCENT;

function select(name, fromParent = false) {
  selected = twin?.names.includes(name) ? name : "";
  document.body.dataset.selected = selected;
  twin?.outline("selected", selected, colourOf(selected));
  labels.set("selected", selected, colourOf(selected));
  objectNames.show(twin?.names ?? [], selected);
  adjust.select(selected);
  joints.select(selected);
  grasps.select(selected);
  offerAdjust();
  hover("");
  if (fromParent) return;
  objectNames.announce(selected ? t("{name} selected", { name: wordsOf(selected) }) : t("Nothing selected"));
  postToParent({ type: "select", name: selected });
}

function hover(name) {
  $("canvas").classList.toggle("over", Boolean(name));
  twin?.outline("hovered", name === selected ? "" : name, "#ffffff");
  labels.set("hovered", name);
}

// Messages with the studio

function postToParent(message) {
  if (parent !== window) parent.postMessage(message, location.origin);
}

addEventListener("message", ({ source, origin, data }) => {
  if (source !== parent || origin !== location.origin || parent === window) return;
  if (data?.type === "adjustable") {
    adjust.allow(Boolean(data.on), Boolean(data.refused));
    adjust.select(selected);
    offerAdjust();
  }
  if (data?.type === "beside") {
    isBeside = data.on;
    showInsets();
  }
  if (data?.type === "where") postToParent({ type: "here", ...views.pose() });
  if (data?.type === "camera") views.place(data.position, data.target);
  if (data?.type === "seek") connection?.send("seek", { time: data.time });
  if (data?.type === "measure") measures.showCheck(data.check);
  if (data?.type === "preview") adjust.preview(data.state);
  if (data?.type === "ghosts") {
    ghosts.poses = data.poses;
    showGhosts();
  }
  if (data?.type === "note") labels.setSuffix(data.text ?? "");
  if (data?.type === "load") {
    const text = data.caption ?? "";
    if (data.token !== token && Number.isFinite(data.wait)) return loadInTurn(data.token, text, data.wait);
    clearTimeout(waiting?.timer);
    waiting = null;
    caption = text;
    if (data.token === token) $("caption").textContent = caption;
    else load(data.token);
  }
  if (data?.type === "palette") {
    palette = data.colours ?? {};
    joints.displayNames = data.parts ?? {};
    labels.names = data.names ?? {};
    select(selected, true);
  }
  if (data?.type === "present") [presents, about] = [data.on, data.about];
  if (data?.type === "select" && data.name !== selected && !presents) {
    const name = about && !about.includes(data.name) ? "" : (data.name ?? "");
    if (twin) select(name, true);
    else selected = name;
  }
});

// Adjusting an object

function offerAdjust() {
  $("adjust").inert = adjust.refused;
  $("adjust").classList.toggle("refused", adjust.refused);
  $("adjust").hidden = !adjust.allowed || !twin?.bodyOf(selected);
  document.querySelector('[data-compare="depth"]').hidden = !adjust.allowed;
}

function onAdjustMode(mode, all) {
  for (const button of document.querySelectorAll("[data-adjust]")) setPressed(button, button.dataset.adjust === mode);
  document.querySelector('[data-adjust="rotate"]').lastChild.textContent =
    mode === "rotate" && all ? t("Rotate all") : t("Rotate");
  // Adjusts the twin's pose, not a later state of the simulation.
  if (mode && (status.playing || timeline.time > 0)) send("reset");
}

// Cycles: rotate about z, rotate about all axes, off.
function setAdjust(mode) {
  const isRetry = mode === "rotate" && adjust.mode === "rotate" && !adjust.all;
  if (!$("adjust").hidden) adjust.setMode(mode, isRetry || (mode === "rotate" && adjust.all));
}

function nudge(event) {
  return adjust.nudge(event.key, event.shiftKey) || carry(event);
}

// Moves the selected object of a layout that is arranged by hand along the table.
function carry({ key, shiftKey }) {
  const body = twin?.bodyOf(selected);
  if (!status.layout || !body || !key.startsWith("Arrow")) return false;
  const forward = key === "ArrowRight" || key === "ArrowUp" ? 1 : -1,
    target = body.position.clone().addScaledVector(adjust.axis(key), forward * (shiftKey ? 10 : 1) * CARRY_M);
  send("push", { body: body.userData.index, point: [0, 0, 0], target: target.toArray() });
  return true;
}

// Comparing with the photograph

function updateCompare(mode = views.compare) {
  const isPhotoView = views.name === "photo" && $("compare").dataset.picture === "true";
  $("compare").hidden = !isPhotoView;
  $("legend").hidden = !isPhotoView || mode !== "depth";
  $("blend").disabled = mode !== "blend";
  for (const button of document.querySelectorAll("[data-compare]")) setPressed(button, button.dataset.compare === mode);
  if (isPhotoView && mode === "depth" && !$("difference").hasAttribute("src")) {
    $("difference").onload = () => views.resize(...renderer.size);
    $("difference").src = `${encodeURIComponent(token)}/difference.png`;
  }
  renderer.instead = views.lines
    ? (renderer, scene, camera) => edges.draw(renderer, scene, camera, twin, colourOf)
    : null;
  renderer.requestDraw();
}

// Buttons and keys

function togglePush() {
  pointer.pushing = !pointer.pushing;
  setPressed($("push"), pointer.pushing);
  document.body.classList.toggle("pushing", pointer.pushing);
}

function toggleCollision() {
  const on = $("collision").getAttribute("aria-pressed") !== "true";
  setPressed($("collision"), on);
  twin?.showCollisions(on);
  renderer.requestDraw();
}

function toggleGrasps() {
  if ($("grasps").hidden) return;
  setPressed($("grasps"), grasps.toggle());
  if (grasps.on && !selected) notice(t("Select an object to see its grasps."));
}

function toggleHelp(on = $("help").hidden) {
  $("help").hidden = !on;
  $("keys").setAttribute("aria-expanded", String(on));
}

const togglePlay = () => send(status.playing ? "pause" : "play");
const toggleContacts = () => send("contacts", { on: !status.contacts });
const blinkPhoto = () => views.name === "photo" && views.blink();

const toggleCompare = (how) => () =>
  views.name === "photo" && !document.querySelector(`[data-compare="${how}"]`).hidden && views.setCompare(how);

const TURN = Math.PI / 24; // per key
const orbit = (turn, tilt, distance) => () => views.orbit(turn * TURN, tilt * TURN, distance);

const KEYS = {
  n: (event) => select(objectNames.next(event.shiftKey ? -1 : 1)),
  "[": orbit(1, 0),
  "]": orbit(-1, 0),
  "+": orbit(0, 0, 0.9),
  "=": orbit(0, 0, 0.9),
  "-": orbit(0, 0, 1.1),
  m: () => setAdjust("translate"),
  t: () => setAdjust("rotate"),
  s: () => setAdjust("scale"),
  e: toggleCompare("edges"),
  d: toggleCompare("depth"),
  v: toggleCompare("beside"),
  " ": togglePlay,
  ".": () => send("step"),
  r: () => send("reset"),
  p: togglePush,
  c: toggleContacts,
  g: toggleCollision,
  k: toggleGrasps,
  b: blinkPhoto,
  1: () => views.show("free"),
  2: () => views.show("top"),
  3: () => views.show("front"),
  4: () => views.show("photo"),
  ArrowLeft: (event) => nudge(event) || timeline.seekBy(-0.1),
  ArrowRight: (event) => nudge(event) || timeline.seekBy(0.1),
  ArrowUp: (event) => nudge(event) || orbit(0, 1)(),
  ArrowDown: (event) => nudge(event) || orbit(0, -1)(),
  PageUp: nudge,
  PageDown: nudge,
  Home: timeline.seekToBegin,
  End: timeline.seekToEnd,
  o: () => $("turntable").hidden || $("turntable").click(),
  "?": () => toggleHelp(),
  Escape: cancel,
};

function cancel() {
  if (!$("help").hidden) toggleHelp(false);
  else if (adjust.mode) adjust.setMode(null);
  else select("");
}

function listen() {
  $("play").onclick = togglePlay;
  $("step").onclick = () => send("step");
  $("reset").onclick = () => send("reset");
  $("speed").onchange = () => send("speed", { value: Number($("speed").value) });
  $("push").onclick = togglePush;
  $("contacts").onclick = toggleContacts;
  $("collision").onclick = toggleCollision;
  $("grasps").onclick = toggleGrasps;
  $("keys").onclick = () => toggleHelp();
  $("blink").onclick = blinkPhoto;
  $("blend").oninput = () => views.setBlend($("blend").value / 100);
  for (const button of document.querySelectorAll("button[data-view]"))
    button.onclick = () => views.show(button.dataset.view);
  for (const button of document.querySelectorAll("[data-adjust]"))
    button.onclick = () => setAdjust(button.dataset.adjust);
  for (const button of document.querySelectorAll("[data-compare]"))
    button.onclick = () => views.setCompare(button.dataset.compare);
  addEventListener("keydown", (event) => {
    const action = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    const typing = event.target.matches(event.key.startsWith("Arrow") ? "select, input" : "select");
    const pressing = event.key === " " && event.target.matches("button");
    if (!action || typing || pressing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action(event);
  });
  addEventListener("hashchange", () => load(location.hash.slice(1)));
}

function start() {
  const wantedToken = location.hash.slice(1);
  const geometryRequest = wantedToken ? fetchGeometry(wantedToken) : null; // loads while the canvas is created
  geometryRequest?.catch(() => {}); // load() reports it
  try {
    renderer = new Renderer($("canvas"), $("viewport"));
  } catch {
    return setState("failed", t("The 3D view needs WebGL 2. Turn on hardware acceleration or use another browser."));
  }
  views = new CameraViews(renderer, $("canvas"), $("photo"), $("difference"));
  document.body.classList.toggle("standalone", STANDALONE);
  views.headroom = STANDALONE ? HEADROOM : 0;
  labels = new Labels($("labels"), renderer, views);
  contacts = new Contacts(renderer.scene);
  pointer = new Pointer(renderer, views, $("canvas"), {
    onHover: hover,
    onRay: (ray, event) => grasps.hover(ray, event),
    onSelect: (name) => select(name),
    onPush: (push) => send("push", push),
    onRelease: () => send("release"),
  });
  edges = new EdgeOverlay();
  ghosts = new Ghosts(renderer.scene, colourOf);
  insets = new CameraInsets(renderer, $("insets"));
  adjust = new Adjust(renderer, views, $("canvas"), {
    onTry: (state) => postToParent({ type: "adjusting", state }),
    onDone: (state) => postToParent({ type: "adjusted", state }),
    onMode: onAdjustMode,
  });
  pointer.occupied = () => adjust.busy;
  turntable = new Turntable(renderer, views, $("canvas"), $("turntable"));
  renderer.onResize = (width, height) => {
    if (twin) views.resize(width, height);
    twin?.resize(width, height);
    insets.resize();
  };
  views.onShow = (name) => {
    document.body.dataset.view = name;
    insets.hidden = name === "photo";
    hover("");
    updateCompare();
    turntable.set(false);
    for (const button of document.querySelectorAll("button[data-view]"))
      setPressed(button, button.dataset.view === name);
  };
  views.onMove = (position, target) => postToParent({ type: "camera", position, target });
  views.onBlink = (on) => setPressed($("blink"), on);
  views.onCompare = updateCompare;
  listen();
  renderer.resize();
  postToParent({ type: "ready" });
  if (wantedToken) load(wantedToken, geometryRequest);
}

start();
