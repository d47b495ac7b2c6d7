// The open edit of a mask and the selection: what a person did last, and what is asked of the segmenter for it.
import { LatestRequest } from "/static/studio/latest_request.js";
import { isRefused } from "/static/studio/refused_controls.js";
import { alsoSelected, select, selected, toggleSelected } from "/static/studio/selection.js";
import { t } from "/static/studio/texts.js";
import { Mask } from "./mask.js";
import { MaskEdit } from "./mask_edit.js";

const took = (values) =>
  t("{n} pixel taken from: {names}. Undo gives it back.|{n} pixels taken from: {names}. Undo gives them back.", values);

/** Whether this person may change masks; one who only looks still selects, zooms and pans. */
export const mayEdit = () => !isRefused("mask-canvas.decide");

export class MaskWork {
  /** @type {any} the value from Python, with what was just changed here; null without a photograph */
  scene = null;
  /** @type {Set<number>} ids of the selected segments */
  picked = new Set();
  /** @type {MaskEdit | null} */
  edit = null;
  tool = "add";
  problem = "";
  info = "";
  /** @type {[number, number] | null} the photograph's pixel below the pointer */
  pointer = null;
  /** @type {Mask | null} what a click there would select */
  preview = null;
  acceptOnAnswer = false;
  /** @type {(() => void) | null} what a person turned to while the answer was awaited */
  afterAnswer = null;

  /** @param {{send: Function, ask: (request: object) => Promise<any>, viewport: import("./viewport.js").Viewport, redraw: () => void}} context */
  constructor({ send, ask, viewport, redraw }) {
    this.send = send;
    this.viewport = viewport;
    this.redraw = redraw;
    this.prompts = new LatestRequest(ask, (answer, request, ms) => this.takeAnswer(answer, request, ms));
    this.previews = new LatestRequest(ask, (answer) => this.takePreview(answer));
  }

  /** @returns {any} */
  segment(id) {
    return this.scene.segments.find((other) => other.id === id);
  }

  /** The selected segment, if it is one. */
  get object() {
    return this.picked.size === 1 ? this.segment([...this.picked][0]) : null;
  }

  get isPainting() {
    return this.tool === "brush" || this.tool === "erase";
  }

  get isEditing() {
    return Boolean(this.edit && (this.edit.isChanged || this.edit.id === 0));
  }

  // ---- requests

  prompt() {
    this.info = this.problem = "";
    this.preview = null;
    this.previews.cancel();
    this.prompts.send({ kind: "prompt", token: this.scene.token, ...this.edit.prompt() });
    this.redraw();
  }

  takeAnswer(answer, request, ms) {
    if (!this.edit) return;
    const acceptNow = this.acceptOnAnswer && !answer.error,
      turned = acceptNow && this.afterAnswer;
    this.acceptOnAnswer = false;
    this.afterAnswer = null;
    if (answer.error) {
      this.edit.dropUnanswered();
      this.problem = answer.error;
    } else {
      const found = answer.candidates.map(({ rle, ...rest }) => ({ ...rest, mask: Mask.decode(rle) }));
      this.edit.addStep(request.kind === "compare" ? [{ title: t("Current"), mask: this.edit.mask }, ...found] : found);
      this.info = (answer.missing ?? []).join(" ");
    }
    if (turned) this.turnTo(turned);
    else if (acceptNow) this.accept();
    else this.redraw();
    this.viewport.canvas.dataset.ms = ms.toFixed(0);
  }

  askPreview() {
    const { edit, object, pointer } = this,
      mask = edit ? edit.mask : object && this.viewport.mask(object.id);
    if (!pointer || edit?.isWaiting || this.prompts.busy || mask?.at(...pointer)) return;
    const rle = mask ? mask.encode() : null;
    this.previews.send({ kind: "prompt", token: this.scene.token, points: [pointer], labels: [1], rle });
  }

  takePreview({ candidates }) {
    if (!this.pointer || this.prompts.busy || !candidates) return;
    const mask = Mask.decode(candidates[0].rle);
    this.preview = mask.at(...this.pointer) ? mask : null;
    this.redraw();
  }

  // ---- the edit

  /** Begins an edit of a segment, of a new one for id 0. */
  start(id) {
    this.edit = new MaskEdit(
      id,
      this.segment(id)?.colour ?? this.scene.next_colour,
      id ? this.viewport.mask(id) : null,
    );
  }

  discard() {
    this.prompts.cancel();
    this.previews.cancel();
    this.preview = this.edit = this.afterAnswer = null;
    this.acceptOnAnswer = false;
    this.problem = this.info = "";
  }

  /** Goes on with something else. An edit is accepted before, as soon as its answer is there; Undo takes it back. */
  turnTo(next) {
    if (this.edit?.isWaiting && mayEdit()) {
      this.acceptOnAnswer = true;
      this.afterAnswer = next;
      return this.redraw();
    }
    const keeps = this.edit?.isChanged && this.edit.mask.area && mayEdit();
    keeps ? this.accept() : this.discard();
    const kept = this.info;
    next();
    if (keeps) this.info = kept;
  }

  /** Accepts the edit, else the selected segment's mask as it is. */
  accept() {
    const { edit, object } = this;
    if (edit?.isWaiting) {
      this.acceptOnAnswer = true; // as soon as the answer is there
      return this.redraw();
    }
    const mask = edit?.isChanged ? edit.mask : object && object.source !== "human" && this.viewport.mask(object.id);
    if (!mask) return edit ? undefined : this.pick(0);
    if (!mask.area) return this.refuse(t("The mask is empty. Paint or click first, or delete the object."));
    const id = edit?.isChanged ? edit.id || this.scene.next_id : object.id,
      shown = this.withMask(id, mask, edit?.colour),
      note = this.taken(mask, id, took);
    this.decide("mask", this.maskData(shown, edit?.clicks));
    this.discard();
    this.showNow([shown]);
    select(id);
    this.info = note;
    this.syncSelection();
  }

  refuse(problem) {
    this.problem = problem;
    this.redraw();
  }

  decide(kind, data) {
    this.send("decide", { kind, ...data });
  }

  /** What a decision about a mask says. A new object is marked: the studio may have given its id away meanwhile. */
  maskData({ id, rle }, clicks = []) {
    return { id, mask: rle, clicks, ...(!this.segment(id) && { new: true }) };
  }

  decideSeveral(label, decisions) {
    if (decisions.length === 1) this.send("decide", decisions[0]);
    else this.decide("several", { label, decisions });
  }

  // ---- the selection

  pick(id, more = false) {
    this.turnTo(() => {
      more && id ? toggleSelected(id) : select(id || null);
      this.syncSelection();
    });
  }

  /** Takes over the selection that all components of the page share. */
  syncSelection() {
    this.picked = new Set([selected(), ...alsoSelected()].filter((id) => id && this.segment(id)));
    this.redraw();
  }

  // ---- masks

  /** Shows changed segments at once, before the server sends the same. */
  showNow(shown) {
    this.scene = {
      ...this.scene,
      next_id: Math.max(this.scene.next_id, ...shown.map(({ id }) => id + 1)),
      segments: [...this.scene.segments.filter((other) => !shown.some(({ id }) => id === other.id)), ...shown],
    };
    this.viewport.open(this.scene);
  }

  withMask(id, mask, colour = undefined) {
    const object = this.segment(id) ?? { words: t("New object"), is_object: true, colour };
    return { ...object, id, rle: mask.encode(), source: "human", quality: null, review: "" };
  }

  /** What `say` says of the pixels that a mask of an object takes from others; "" if it takes none. */
  taken(mask, id, say) {
    const from = this.scene.segments
      .filter((other) => other.id !== id)
      .map(({ id: other, words }) => ({ words, count: mask.overlap(this.viewport.mask(other)) }))
      .filter(({ count }) => count);
    const n = from.reduce((sum, { count }) => sum + count, 0);
    return n ? say({ n, names: from.map(({ words }) => words).join(", ") }) : "";
  }
}
