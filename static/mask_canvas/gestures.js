// Pointer gestures on the canvas: tap, drag, hover, pinch to zoom and pan. Coordinates are page pixels.
const DRAG_THRESHOLD_PX = 5;
const pagePoint = ({ clientX, clientY }) => ({ clientX, clientY });

export class Gestures {
  #fingers = new Map();
  #press = null;
  #pinch = null;

  /** @param {HTMLCanvasElement} canvas @param {import("./pointer_tools.js").PointerTools} handlers */
  constructor(canvas, handlers) {
    this.canvas = canvas;
    this.handlers = handlers;
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#end(event, false));
    canvas.addEventListener("pointercancel", (event) => this.#end(event, true));
    canvas.addEventListener("pointerleave", () => this.#press || handlers.leave());
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  get #span() {
    const [a, b] = [...this.#fingers.values()];
    return {
      clientX: (a.clientX + b.clientX) / 2,
      clientY: (a.clientY + b.clientY) / 2,
      size: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) || 1,
    };
  }

  #down(event) {
    event.preventDefault();
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    if (event.pointerType === "touch") this.#fingers.set(event.pointerId, pagePoint(event));
    if (this.#fingers.size > 2) return;
    if (this.#fingers.size === 2) {
      if (this.#press?.dragged) this.handlers.drop();
      this.#press = null;
      this.#pinch = this.#span;
      return;
    }
    this.#press = {
      ...pagePoint(event),
      last: pagePoint(event),
      pan: this.handlers.pans() || event.button === 1,
      minus: event.button === 2 || event.altKey,
      more: event.shiftKey,
      dragged: false,
    };
    if (!this.#press.pan) this.handlers.press(this.#press);
  }

  #move(event) {
    if (this.#fingers.has(event.pointerId)) this.#fingers.set(event.pointerId, pagePoint(event));
    if (this.#pinch) return this.#movePinch();
    const press = this.#press;
    if (!press) return this.handlers.hover(event);
    const previous = press.last;
    press.last = pagePoint(event);
    press.dragged ||= Math.hypot(event.clientX - press.clientX, event.clientY - press.clientY) > DRAG_THRESHOLD_PX;
    if (press.pan) this.handlers.pan(event.clientX - previous.clientX, event.clientY - previous.clientY);
    else this.handlers.drag(press, previous, event);
  }

  #movePinch() {
    if (this.#fingers.size < 2) return;
    const current = this.#span,
      before = this.#pinch;
    this.handlers.pan(current.clientX - before.clientX, current.clientY - before.clientY);
    this.handlers.zoom(current, current.size / before.size);
    this.#pinch = current;
  }

  #end(event, isCancelled) {
    this.#fingers.delete(event.pointerId);
    if (this.#pinch) {
      if (!this.#fingers.size) this.#pinch = null;
      return;
    }
    const finished = this.#press;
    this.#press = null;
    if (finished && !finished.pan) isCancelled ? this.handlers.drop() : this.handlers.release(finished, event);
  }

  #wheel(event) {
    event.preventDefault();
    this.handlers.zoom(event, Math.exp(-event.deltaY / 400));
  }
}
