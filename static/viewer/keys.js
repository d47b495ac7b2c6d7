// The keyboard shortcuts of the viewer, as its help names them.
const TURN = Math.PI / 24; // per key

export function listenToKeys(viewer) {
  const keys = keysOf(viewer);
  addEventListener("keydown", (event) => {
    const { key } = event,
      target = /** @type {Element} */ (event.target),
      action = keys[key.length === 1 ? key.toLowerCase() : key],
      isTyping = target.matches(key.startsWith("Arrow") ? "select, input" : "select"),
      isPressing = key === " " && target.matches("button");
    if (!action || isTyping || isPressing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action(event);
  });
}

function keysOf(viewer) {
  const { views, comparison, playback } = viewer,
    { timeline } = playback,
    orbit = (turn, tilt, distance) => () => views.orbit(turn * TURN, tilt * TURN, distance),
    nudge = (event) => viewer.nudge(event);
  return {
    n: (event) => viewer.select(viewer.objectNames.next(event.shiftKey ? -1 : 1)),
    "[": orbit(1, 0),
    "]": orbit(-1, 0),
    "+": orbit(0, 0, 0.9),
    "=": orbit(0, 0, 0.9),
    "-": orbit(0, 0, 1.1),
    m: () => viewer.setAdjust("translate"),
    t: () => viewer.setAdjust("rotate"),
    s: () => viewer.setAdjust("scale"),
    e: () => comparison.toggle("edges"),
    d: () => comparison.toggle("depth"),
    v: () => comparison.toggle("beside"),
    " ": () => playback.togglePlay(),
    ".": () => viewer.send("step"),
    r: () => viewer.send("reset"),
    p: () => viewer.togglePush(),
    c: () => viewer.toggleContacts(),
    g: () => viewer.toggleCollision(),
    k: () => viewer.toggleGrasps(),
    b: () => comparison.blink(),
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
    o: () => viewer.turntable.isOffered.value && viewer.turntable.toggle(),
    "?": () => (viewer.isHelpOpen.value = !viewer.isHelpOpen.value),
    Escape: () => viewer.cancel(),
  };
}
