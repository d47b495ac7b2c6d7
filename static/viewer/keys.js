// The keyboard shortcuts of the viewer.
import { shortcuts } from "../studio/keyboard.js";
import { t } from "../studio/texts.js";

const TURN = Math.PI / 24; // per key

export function listenToKeys(viewer) {
  const keys = { ...POINTER, ...cameraKeys(viewer), ...timeKeys(viewer), ...objectKeys(viewer) };
  shortcuts(document.body, { title: t("3D view"), keys: () => keys, isOn: () => true });
}

const POINTER = {
  drag: { name: t("drag"), help: t("orbit") },
  right: { name: t("right drag"), help: t("pan") },
  wheel: { name: t("wheel"), help: t("zoom") },
  click: { name: t("click"), help: t("select") },
  push: { name: t("Ctrl drag"), help: t("push, with Shift lift") },
};

function cameraKeys({ views, comparison, turntable }) {
  const orbit = (turn, tilt, distance) => () => views.orbit(turn * TURN, tilt * TURN, distance),
    act = (act) => ({ act });
  return {
    "[": { name: "[ ] ↑ ↓", help: t("turn and tilt the camera"), act: orbit(1, 0) },
    "]": act(orbit(-1, 0)),
    "+": { name: "+ −", help: t("zoom"), act: orbit(0, 0, 0.9) },
    "=": act(orbit(0, 0, 0.9)),
    "-": act(orbit(0, 0, 1.1)),
    views: { name: "1 2 3 4", help: t("free, top, front, photo") }, // the browser lists digits first
    1: act(() => views.show("free")),
    2: act(() => views.show("top")),
    3: act(() => views.show("front")),
    4: act(() => views.show("photo")),
    b: { name: "B E D V", help: t("in Photo: blink, edges, depth, side by side"), act: () => comparison.blink() },
    e: act(() => comparison.toggle("edges")),
    d: act(() => comparison.toggle("depth")),
    v: act(() => comparison.toggle("beside")),
    o: {
      help: turntable.isOffered.value && t("turntable on, off"),
      act: () => turntable.isOffered.value && turntable.toggle(),
    },
  };
}

function timeKeys(viewer) {
  const { playback } = viewer,
    { timeline } = playback,
    seek = (seconds) => (event) => viewer.nudge(event) || timeline.seekBy(seconds);
  return {
    Space: { name: t("Space"), help: t("play, pause"), act: () => playback.togglePlay() },
    ".": { help: t("step"), act: () => viewer.send("step") },
    ArrowLeft: { name: "← →", help: t("seek back, forward"), act: seek(-0.1) },
    ArrowRight: { act: seek(0.1) },
    Home: { act: timeline.seekToBegin },
    End: { act: timeline.seekToEnd },
    r: { help: t("reset"), act: () => viewer.send("reset") },
  };
}

function objectKeys(viewer) {
  const tilt = (steps) => (event) => viewer.nudge(event) || viewer.views.orbit(0, steps * TURN),
    nudge = { act: (event) => viewer.nudge(event) },
    step = ({ shiftKey }) => viewer.select(viewer.objectNames.next(shiftKey ? -1 : 1)),
    adjusting = t("move, rotate, resize; then arrow keys, Shift for large steps");
  return {
    n: { help: t("next object, with Shift the one before"), act: step },
    m: { name: "M T S", help: adjusting, act: () => viewer.setAdjust("translate") },
    t: { act: () => viewer.setAdjust("rotate") },
    s: { act: () => viewer.setAdjust("scale") },
    ArrowUp: { act: tilt(1) },
    ArrowDown: { act: tilt(-1) },
    PageUp: nudge,
    PageDown: nudge,
    p: { name: "P C G", help: t("push, contacts, collision shapes"), act: () => viewer.togglePush() },
    c: { act: () => viewer.toggleContacts() },
    g: { act: () => viewer.toggleCollision() },
    i: { help: t("what the photograph shows around the table"), act: () => viewer.toggleBackground() },
    l: { help: t("Gaussian splats in place of meshes"), act: () => viewer.toggleSplats() },
    k: { help: t("candidate grasps of the selected object"), act: () => viewer.toggleGrasps() },
    Escape: { name: t("Esc"), help: t("clear selection"), act: () => viewer.cancel() },
  };
}
