// Puts the viewer together: one view at a time, named by the page's #token or by the studio around it.
//
// With the parent window, same origin only: hears {type: "load", token}, {type: "select", name},
// {type: "palette", colours: {name: "#hex"}, parts: {name: {joint: words}}}; says {type: "ready"}, {type: "loaded", token}, {type: "select", name}.
// Where a twin may be put right, also hears {type: "adjustable", on}, {type: "try", state or null}, {type: "say", text},
// and says {type: "trying" or "tried", state}: state is {name, pos, quat_wxyz, grown}, grown times its present size.
// With "?alone" in its address what it shows turns by itself until it is touched, and there is no photograph.
import { Adjust } from "./adjust.js";
import { Connection, fetchGeometry, Refused, Unreachable } from "./connection.js";
import { Contacts } from "./contacts.js";
import { Edges } from "./edges.js";
import { Joints } from "./joints.js";
import { Labels } from "./labels.js";
import { Pointer } from "./pointer.js";
import { Stage } from "./stage.js";
import { Timeline } from "./timeline.js";
import { Turntable } from "./turntable.js";
import { Twin } from "./twin.js";
import { Views } from "./views.js";

const $ = (id) => document.getElementById(id);
const ACCENT = "#ffd24a";
const ALONE = new URLSearchParams(location.search).has("alone");
const HEADROOM = 44; // pixels that the tools take, where the view is small
let stage, views, pointer, labels, contacts, adjust, edges, turntable, twin, connection, token, status = {}, palette = {}, selected = "", retry, shaded = false;

function state(name, message = "") {
  document.body.dataset.state = name;
  $("message").textContent = message;
}

function press(button, on) {
  button.setAttribute("aria-pressed", String(on));
}

const wish = (op, more) => connection?.wish(op, more);
const timeline = new Timeline(wish);
const joints = new Joints($("joints"), wish);

// Opening a view

async function load(wanted, fetched = wanted && fetchGeometry(wanted)) {
  const again = wanted === token && document.body.dataset.state === "lost";
  token = wanted;
  connection?.close();
  clearTimeout(retry);
  if (!token) return state("waiting", "Nothing to show yet.");
  // what is shown stays until the next is there: after an edit, nearly the same
  if (!again && document.body.dataset.state !== "showing") state("opening", "Opening the scene …");
  try {
    const pack = await fetched;
    const next = await Twin.from(pack);
    if (token === wanted) show(next, pack.header);
  } catch (error) {
    if (token !== wanted) return;
    if (error instanceof Unreachable) return lost("The studio does not answer. Trying again …");
    state("failed", error instanceof Refused ? error.message : `The scene could not be opened: ${error.message}`);
  }
}

/** Says so and tries again soon, for as long as this view is wanted. */
function lost(message) {
  const mine = token;
  state("lost", message);
  retry = setTimeout(() => load(mine), 1500);
}

function show(next, header) {
  if (twin) {
    twin.root.removeFromParent();
    twin.dispose();
  }
  adjust.show(next);
  joints.show(header.joints, next.names);
  labels.say("");
  $("difference").removeAttribute("src");
  twin = pointer.twin = labels.twin = next;
  stage.scene.add(twin.root);
  twin.resize(...stage.size);
  twin.showCollisions($("collision").getAttribute("aria-pressed") === "true");
  const sphere = twin.bounds();
  stage.illuminate(sphere);
  document.querySelector(`button[data-view="photo"]`).disabled = !header.camera;
  $("compare").dataset.picture = header.picture;
  views.frame(sphere, header.camera, header.picture ? `${encodeURIComponent(token)}/photo.png` : "");
  compared();
  select(selected, true); // what this view lacks may well be selected around it
  connect();
}

function connect() {
  const mine = token;
  let first = true;
  connection = new Connection(mine, {
    onPicture(picture) {
      twin.follow(picture.poses);
      adjust.hold();
      contacts.show(picture.contacts);
      timeline.show(picture, status.recording);
      stage.changed(true);
      if (!first) return;
      first = false;
      stage.onDrawn = () => {
        stage.onDrawn = null;
        state("showing");
        tell({ type: "loaded", token: mine });
        if (ALONE) turntable.offer();
        if (!shaded) setTimeout(() => stage.castShadows((shaded = true)), 100);
      };
    },
    onStatus: follow,
    onLost: () => lost("The connection was lost. Trying again …"),
  });
}

function follow(next) {
  const before = status.notice?.number ?? next.notice.number;
  status = next;
  joints.follow(status.joints);
  pointer.carrying = Boolean(status.layout);
  document.body.classList.toggle("arranging", pointer.carrying);
  document.body.classList.toggle("playing", status.playing);
  $("play").title = status.playing ? "Pause (Space)" : "Play (Space)";
  $("play").ariaLabel = status.playing ? "Pause" : "Play";
  $("kind").textContent = status.layout ? "drag objects to where they shall end" : status.recording ? "recording" : "physics";
  $("kind").title = status.layout ? "Nothing moves by itself here; R puts all back" : status.recording ? "Replays what was recorded" : "MuJoCo computes this live";
  $("kind").classList.toggle("recording", status.recording);
  $("speed").value = String(status.speed);
  press($("contacts"), status.contacts);
  if (JSON.stringify(status.marks) !== JSON.stringify(timeline.marks)) timeline.mark(status.marks);
  if (status.notice.number !== before) notice(status.notice.text);
}

let noticeEnds;
function notice(text) {
  $("notice").textContent = text;
  $("notice").hidden = false;
  clearTimeout(noticeEnds);
  noticeEnds = setTimeout(() => ($("notice").hidden = true), 6000);
}

// Selecting

const colourOf = (name) => palette[name] ?? ACCENT;

function select(name, toldByParent = false) {
  selected = twin?.names.includes(name) ? name : "";
  document.body.dataset.selected = selected;
  twin?.outline("selected", selected, colourOf(selected));
  labels.set("selected", selected, colourOf(selected));
  adjust.select(selected);
  joints.select(selected);
  offerAdjust();
  hover("");
  if (!toldByParent) tell({ type: "select", name: selected });
}

function hover(name) {
  $("canvas").classList.toggle("over", Boolean(name));
  twin?.outline("hovered", name === selected ? "" : name, "#ffffff");
  labels.set("hovered", name);
}

// The studio around us

function tell(message) {
  if (parent !== window) parent.postMessage(message, location.origin);
}

addEventListener("message", ({ source, origin, data }) => {
  if (source !== parent || origin !== location.origin || parent === window) return;
  if (data?.type === "adjustable") {
    adjust.allow(Boolean(data.on));
    adjust.select(selected);
    offerAdjust();
  }
  if (data?.type === "try") adjust.preview(data.state);
  if (data?.type === "say") labels.say(data.text ?? "");
  if (data?.type === "load" && data.token !== token) load(data.token);
  if (data?.type === "palette") {
    palette = data.colours ?? {};
    joints.called = data.parts ?? {};
    select(selected, true);
  }
  if (data?.type === "select" && data.name !== selected) {
    if (twin) select(data.name ?? "", true);
    else selected = data.name ?? "";
  }
});

// Putting an object right

function offerAdjust() {
  $("adjust").hidden = !adjust.allowed || !twin?.bodyOf(selected);
  document.querySelector('[data-compare="depth"]').hidden = !adjust.allowed;
}

function adjusting(mode, all) {
  for (const button of document.querySelectorAll("[data-adjust]")) press(button, button.dataset.adjust === mode);
  document.querySelector('[data-adjust="rotate"]').lastChild.textContent = mode === "rotate" && all ? "Turn all" : "Turn";
  if (mode && (status.playing || timeline.time > 0)) wish("reset"); // what has fallen about is not what is put right
}

// Turn, turn about all axes, nothing: in this order.
function setAdjust(mode) {
  const again = mode === "rotate" && adjust.mode === "rotate" && !adjust.all;
  if (!$("adjust").hidden) adjust.setMode(mode, again || (mode === "rotate" && adjust.all));
}

function nudge(event) {
  return adjust.nudge(event.key, event.shiftKey);
}

// Comparing with the photograph

function compared(how = views.compare) {
  const over = views.name === "photo" && $("compare").dataset.picture === "true";
  $("compare").hidden = !over;
  $("legend").hidden = !over || how !== "depth";
  $("blend").disabled = how !== "blend";
  for (const button of document.querySelectorAll("[data-compare]")) press(button, button.dataset.compare === how);
  if (over && how === "depth" && !$("difference").hasAttribute("src")) {
    $("difference").onload = () => views.resize(...stage.size);
    $("difference").src = `${encodeURIComponent(token)}/difference.png`;
  }
  stage.instead = views.lines ? (renderer, scene, camera) => edges.draw(renderer, scene, camera, twin, colourOf) : null;
  stage.changed();
}

// Buttons and keys

function togglePush() {
  pointer.pushing = !pointer.pushing;
  press($("push"), pointer.pushing);
  document.body.classList.toggle("pushing", pointer.pushing);
}

function toggleCollision() {
  const on = $("collision").getAttribute("aria-pressed") !== "true";
  press($("collision"), on);
  twin?.showCollisions(on);
  stage.changed();
}

function toggleHelp(on = $("help").hidden) {
  $("help").hidden = !on;
  $("keys").setAttribute("aria-expanded", String(on));
}

const togglePlay = () => wish(status.playing ? "pause" : "play");
const toggleContacts = () => wish("contacts", { on: !status.contacts });
const blinkPhoto = () => views.name === "photo" && views.blink();

const overPhoto = (how) => () => views.name === "photo" && !document.querySelector(`[data-compare="${how}"]`).hidden && views.setCompare(how);

const KEYS = {
  m: () => setAdjust("translate"), t: () => setAdjust("rotate"), s: () => setAdjust("scale"),
  e: overPhoto("edges"), d: overPhoto("depth"), v: overPhoto("beside"),
  " ": togglePlay, ".": () => wish("step"), r: () => wish("reset"), p: togglePush, c: toggleContacts, g: toggleCollision,
  b: blinkPhoto, 1: () => views.show("free"), 2: () => views.show("top"), 3: () => views.show("front"),
  4: () => views.show("photo"), ArrowLeft: (event) => nudge(event) || timeline.by(-0.1),
  ArrowRight: (event) => nudge(event) || timeline.by(0.1), ArrowUp: nudge, ArrowDown: nudge, PageUp: nudge, PageDown: nudge,
  o: () => $("turntable").hidden || $("turntable").click(), "?": () => toggleHelp(), Escape: escape,
};

function escape() {
  if (!$("help").hidden) toggleHelp(false);
  else if (adjust.mode) adjust.setMode(null);
  else select("");
}

function listen() {
  $("play").onclick = togglePlay;
  $("step").onclick = () => wish("step");
  $("reset").onclick = () => wish("reset");
  $("speed").onchange = () => wish("speed", { value: Number($("speed").value) });
  $("push").onclick = togglePush;
  $("contacts").onclick = toggleContacts;
  $("collision").onclick = toggleCollision;
  $("keys").onclick = () => toggleHelp();
  $("blink").onclick = blinkPhoto;
  $("blend").oninput = () => views.setBlend($("blend").value / 100);
  for (const button of document.querySelectorAll("button[data-view]")) button.onclick = () => views.show(button.dataset.view);
  for (const button of document.querySelectorAll("[data-adjust]")) button.onclick = () => setAdjust(button.dataset.adjust);
  for (const button of document.querySelectorAll("[data-compare]")) button.onclick = () => views.setCompare(button.dataset.compare);
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

function begin() {
  const wanted = location.hash.slice(1);
  const fetched = wanted ? fetchGeometry(wanted) : null; // on its way while the canvas is made
  fetched?.catch(() => {}); // load() tells
  try {
    stage = new Stage($("canvas"), $("stage"));
  } catch {
    return state("failed", "This browser offers no WebGL 2, which the 3D view needs. Turn on hardware acceleration or try another browser.");
  }
  views = new Views(stage, $("canvas"), $("photo"), $("difference"));
  document.body.classList.toggle("alone", ALONE);
  views.headroom = ALONE ? HEADROOM : 0;
  labels = new Labels($("labels"), stage, views);
  contacts = new Contacts(stage.scene);
  pointer = new Pointer(stage, views, $("canvas"), {
    onHover: hover,
    onSelect: (name) => select(name),
    onPush: (push) => wish("push", push),
    onRelease: () => wish("release"),
  });
  edges = new Edges();
  adjust = new Adjust(stage, views, $("canvas"), {
    onTry: (state) => tell({ type: "trying", state }),
    onDone: (state) => tell({ type: "tried", state }),
    onMode: adjusting,
  });
  pointer.occupied = () => adjust.busy;
  turntable = new Turntable(stage, views, $("canvas"), $("turntable"));
  stage.onResize = (width, height) => {
    if (twin) views.resize(width, height);
    twin?.resize(width, height);
  };
  views.onShow = (name) => {
    document.body.dataset.view = name;
    hover("");
    compared();
    turntable.set(false);
    for (const button of document.querySelectorAll("button[data-view]")) press(button, button.dataset.view === name);
  };
  views.onBlink = (on) => press($("blink"), on);
  views.onCompare = compared;
  listen();
  stage.resize();
  tell({ type: "ready" });
  if (wanted) load(wanted, fetched);
}

begin();
