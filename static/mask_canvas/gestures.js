// Pointer gestures on the canvas: tap, drag, hover, pinch to zoom and pan. Coordinates are page pixels.
const DRAG_THRESHOLD_PX = 5;

export function gestures(canvas, handlers) {
  const fingers = new Map();
  let press = null,
    pinch = null;
  const fingerSpan = () => {
    const [a, b] = [...fingers.values()];
    return {
      clientX: (a.clientX + b.clientX) / 2,
      clientY: (a.clientY + b.clientY) / 2,
      size: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) || 1,
    };
  };
  const pagePoint = ({ clientX, clientY }) => ({ clientX, clientY });

  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    if (event.pointerType === "touch") fingers.set(event.pointerId, pagePoint(event));
    if (fingers.size === 2) {
      if (press?.dragged) handlers.drop(press);
      press = null;
      pinch = fingerSpan();
      return;
    }
    if (fingers.size > 2) return;
    press = {
      ...pagePoint(event),
      last: pagePoint(event),
      pan: handlers.pans() || event.button === 1,
      minus: event.button === 2 || event.altKey,
      more: event.shiftKey,
      dragged: false,
    };
    if (!press.pan) handlers.press(press, event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, pagePoint(event));
    if (pinch) {
      if (fingers.size < 2) return;
      const current = fingerSpan();
      handlers.pan(current.clientX - pinch.clientX, current.clientY - pinch.clientY);
      handlers.zoom(current, current.size / pinch.size);
      pinch = current;
      return;
    }
    if (!press) return handlers.hover(event);
    const previous = press.last;
    press.last = pagePoint(event);
    press.dragged ||= Math.hypot(event.clientX - press.clientX, event.clientY - press.clientY) > DRAG_THRESHOLD_PX;
    if (press.pan) handlers.pan(event.clientX - previous.clientX, event.clientY - previous.clientY);
    else handlers.drag(press, previous, event);
  });
  const onPointerEnd = (event, cancelled) => {
    fingers.delete(event.pointerId);
    if (pinch) {
      if (!fingers.size) pinch = null;
      return;
    }
    const finished = press;
    press = null;
    if (finished && !finished.pan) cancelled ? handlers.drop(finished) : handlers.release(finished, event);
  };
  canvas.addEventListener("pointerup", (event) => onPointerEnd(event, false));
  canvas.addEventListener("pointercancel", (event) => onPointerEnd(event, true));
  canvas.addEventListener("pointerleave", () => press || handlers.leave());
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      handlers.zoom(event, Math.exp(-event.deltaY / 400));
    },
    { passive: false },
  );
}
