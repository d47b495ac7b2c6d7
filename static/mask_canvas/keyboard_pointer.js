// A crosshair for the keyboard, with the gestures of a pointer: arrow keys move it, Space is its button. Held Space and
// arrow keys drag a box, paint, or draw the line of a split.
const STEP_PX = 10; // of the page; one with Shift
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const MARGIN_PX = 20; // to the edge of the canvas, at which a zoomed photograph is panned

/** `handlers` are those of `gestures`; `startAt()` returns the photograph's pixel at which the crosshair appears. */
export class KeyboardPointer {
  pixel = null;
  press = null;

  constructor(canvas, viewport, handlers, startAt) {
    this.canvas = canvas;
    this.viewport = viewport;
    this.handlers = handlers;
    this.startAt = startAt;
    canvas.addEventListener("keydown", (event) => this.#down(event));
    canvas.addEventListener("keyup", (event) => this.#up(event));
    for (const name of ["blur", "pointermove", "pointerdown"]) canvas.addEventListener(name, () => this.hide());
  }

  hide() {
    if (!this.pixel) return;
    this.pixel = this.press = null;
    this.handlers.leave();
  }

  get #event() {
    return { ...this.viewport.pagePoint(this.pixel), pointerType: "mouse" };
  }

  #down(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in ARROWS) this.#move(ARROWS[event.key], event.shiftKey ? 1 : STEP_PX);
    else if (event.key === " " && this.pixel) this.#press(event);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #move([dx, dy], step) {
    const before = this.pixel && this.#event;
    if (!this.pixel) this.pixel = this.startAt();
    else {
      const { unit, scene } = this.viewport,
        [x, y] = this.pixel,
        inside = (value, size) => Math.min(size - 0.5, Math.max(0.5, value));
      this.pixel = [inside(x + dx * step * unit, scene.width), inside(y + dy * step * unit, scene.height)];
    }
    this.#keepInView();
    if (!this.press) return this.handlers.hover(this.#event);
    this.press.dragged = true;
    this.handlers.drag(this.press, before, this.#event);
  }

  #keepInView() {
    const { clientX: x, clientY: y } = this.#event,
      box = this.canvas.getBoundingClientRect(),
      beyond = (value, low, high) => Math.max(0, low + MARGIN_PX - value) - Math.max(0, value - high + MARGIN_PX);
    if (this.viewport.moved) this.handlers.pan(beyond(x, box.left, box.right), beyond(y, box.top, box.bottom));
  }

  #press(event) {
    if (event.repeat || this.press) return;
    this.press = { ...this.#event, minus: false, more: event.shiftKey, dragged: false };
    this.handlers.press(this.press);
  }

  #up(event) {
    if (event.key !== " " || !this.press) return;
    const finished = this.press;
    this.press = null;
    this.handlers.release(finished, this.#event);
  }
}
