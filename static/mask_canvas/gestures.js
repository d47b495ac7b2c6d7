// Mouse, pen and fingers on the canvas: taps, drags, hovering, two fingers to zoom and move. Places are page pixels.
const FAR = 5;

export function gestures(canvas, on) {
  const fingers = new Map();
  let press = null, pinch = null;
  const spread = () => {
    const [a, b] = [...fingers.values()];
    return { clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2, size: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) || 1 };
  };
  const place = ({ clientX, clientY }) => ({ clientX, clientY });

  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    if (event.pointerType === "touch") fingers.set(event.pointerId, place(event));
    if (fingers.size === 2) { if (press?.dragged) on.drop(press); press = null; pinch = spread(); return; }
    if (fingers.size > 2) return;
    press = { ...place(event), last: place(event), pan: on.pans() || event.button === 1, minus: event.button === 2 || event.altKey, more: event.shiftKey, dragged: false };
    if (!press.pan) on.press(press, event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, place(event));
    if (pinch) {
      if (fingers.size < 2) return;
      const now = spread();
      on.pan(now.clientX - pinch.clientX, now.clientY - pinch.clientY);
      on.zoom(now, now.size / pinch.size);
      pinch = now;
      return;
    }
    if (!press) return on.hover(event);
    const before = press.last;
    press.last = place(event);
    press.dragged ||= Math.hypot(event.clientX - press.clientX, event.clientY - press.clientY) > FAR;
    if (press.pan) on.pan(event.clientX - before.clientX, event.clientY - before.clientY);
    else on.drag(press, before, event);
  });
  const end = (event, cancelled) => {
    fingers.delete(event.pointerId);
    if (pinch) { if (!fingers.size) pinch = null; return; }
    const done = press;
    press = null;
    if (done && !done.pan) cancelled ? on.drop(done) : on.release(done, event);
  };
  canvas.addEventListener("pointerup", (event) => end(event, false));
  canvas.addEventListener("pointercancel", (event) => end(event, true));
  canvas.addEventListener("pointerleave", () => press || on.leave());
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); on.zoom(event, Math.exp(-event.deltaY / 400)); }, { passive: false });
}
