// What gestures on the canvas do with the tool in hand: taps, boxes, strokes, lines of a split, previews.
import { select } from "/static/studio/selection.js";
import { t } from "/static/studio/texts.js";
import { mayEdit } from "./mask_work.js";

const PREVIEW_DELAY_MS = 70; // time the pointer rests before a mask is previewed

export class PointerTools {
  under = 0; // the segment below the pointer
  /** @type {number[] | null} corners of a box that is being dragged */
  box = null;
  /** @type {number[] | null} ends of a line that is being dragged */
  line = null;
  isSpaceDown = false;
  timer = 0;

  /** @param {import("./mask_work.js").MaskWork} work @param {import("./script.js").MaskCanvas} page */
  constructor(work, page) {
    this.work = work;
    this.page = page;
    this.viewport = work.viewport;
  }

  pans() {
    return this.isSpaceDown || this.work.tool === "move";
  }

  press(start) {
    this.work.preview = null;
    if (this.work.scene && this.work.isPainting && mayEdit()) this.#paint(start, start, start.minus, true);
  }

  drag(start, before, now) {
    const { work, viewport } = this;
    if (!work.scene) return;
    work.pointer = viewport.pixelAt(now);
    if (!mayEdit()) return;
    if (work.isPainting) return this.#paint(before, now, start.minus, false);
    if (!start.dragged || work.tool === "several") return;
    const ends = [...viewport.pixelAt(start), ...work.pointer];
    if (work.tool === "split") this.line = ends;
    else if (!start.minus) this.box = ends;
    this.page.redraw();
  }

  release(start, event) {
    const { work } = this;
    if (!work.scene || (work.isPainting && mayEdit())) return;
    if (start.dragged && work.tool === "split") this.#split(start, event);
    else if (this.box) this.#promptWithBox(start, event);
    else if (work.tool !== "split") this.#tap(event, start.minus || work.tool === "remove", start.more);
  }

  drop() {
    this.box = this.line = null;
    this.page.redraw();
  }

  pan(dx, dy) {
    this.viewport.pan(dx, dy);
    this.page.redraw();
  }

  zoom(place, factor) {
    if (!this.work.scene) return;
    this.viewport.zoomAt(place, factor);
    this.page.redraw();
  }

  leave() {
    this.under = 0;
    this.work.pointer = this.work.preview = null;
    clearTimeout(this.timer);
    this.work.previews.cancel();
    this.page.redraw();
  }

  hover(event) {
    const { work, viewport } = this;
    if (!work.scene || !viewport.scene) return;
    work.pointer = viewport.pixelAt(event);
    const isInside = viewport.contains(work.pointer),
      before = this.under,
      hasLeft = work.preview && !work.preview.at(...work.pointer);
    this.under = isInside ? viewport.segmentAt(work.pointer) : 0;
    if (hasLeft) work.preview = null;
    clearTimeout(this.timer);
    // Previews the mask of a click. A click on another mask would select that one instead.
    const isAdding = mayEdit() && (!this.under || work.edit) && !work.preview && work.tool === "add" && isInside;
    if (isAdding && event.pointerType === "mouse" && this.page.segmenters.chosen?.state === "ready")
      this.timer = setTimeout(() => work.askPreview(), PREVIEW_DELAY_MS);
    if (this.under !== before || hasLeft || work.isPainting || this.page.crosshair.pixel) this.page.redraw();
  }

  #tap(place, minus, more) {
    const { work, viewport } = this,
      pixel = viewport.pixelAt(place),
      id = viewport.contains(pixel) ? viewport.segmentAt(pixel) : -1;
    if (id < 0) return work.pick(0);
    if (!mayEdit()) return work.pick(id);
    if (more || work.tool === "several") return id ? work.pick(id, true) : undefined;
    if (!work.edit && id && !work.picked.has(id) && (!minus || !work.picked.size)) return work.pick(id);
    if (!work.edit && minus && !work.picked.size) return;
    this.#startEdit(work.object);
    if (minus && !work.edit.mask && !work.edit.isWaiting) {
      if (!work.edit.id) work.edit = null;
      return work.refuse(t("Select an object first, then remove from it."));
    }
    work.edit.clicks.push([...pixel, minus ? 0 : 1]);
    work.prompt();
  }

  // Edits an object, a new one without one, unless an edit is open.
  #startEdit(object) {
    if (this.work.edit) return;
    if (!object) select(null);
    this.work.start(object?.id ?? 0);
    if (!object) this.work.syncSelection();
  }

  #paint(from, to, minus, isNewStroke) {
    const { work, viewport } = this;
    if (isNewStroke) {
      work.prompts.cancel();
      work.problem = work.info = "";
      if (!work.edit) work.start(work.object?.id ?? 0);
    }
    const size = [work.scene.width, work.scene.height],
      value = work.tool === "brush" && !minus ? 1 : 0;
    work.edit.paint(size, viewport.pixelAt(from), viewport.pixelAt(to), this.page.radius, value, isNewStroke);
    this.page.redraw();
  }

  #promptWithBox(from, to) {
    const { work, viewport } = this,
      { width, height } = work.scene,
      inside = ([x, y]) => [Math.min(width - 1, Math.max(0, x)), Math.min(height - 1, Math.max(0, y))],
      [[x0, y0], [x1, y1]] = [inside(viewport.pixelAt(from)), inside(viewport.pixelAt(to))];
    this.box = null;
    if (Math.abs(x1 - x0) < 2 || Math.abs(y1 - y0) < 2) return this.page.redraw();
    this.#startEdit(null);
    work.edit.box = [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)];
    work.prompt();
  }

  #split(from, to) {
    const { work, viewport } = this,
      { object, scene } = work,
      parts = object ? viewport.mask(object.id).splitAlong(viewport.pixelAt(from), viewport.pixelAt(to)) : [];
    this.line = null;
    if (!object || !parts[1].area) return work.refuse(t("The line does not cross the object. Drag it across."));
    const shown = [work.withMask(object.id, parts[0]), work.withMask(scene.next_id, parts[1], scene.next_colour)];
    work.decideSeveral(
      t("{id} split", { id: object.id }),
      shown.map((part) => ({ kind: "mask", ...work.maskData(part) })),
    );
    work.tool = "add";
    work.showNow(shown);
    select(object.id);
    work.syncSelection();
  }
}
