// An edit of one object's mask, step by step, until it is accepted or discarded. Id 0 is a new object.
import { Mask } from "/static/mask_canvas/mask.js";

export class MaskEdit {
  /** @type {[number, number, number][]} x, y, 1 to add or 0 to remove */
  clicks = [];
  /** @type {number[] | null} */
  box = null;
  /** @type {{clicks: [number, number, number][], box: number[] | null, candidates: any[], chosen: number}[]} */
  steps = [];
  undone = [];

  constructor(id, colour, mask) {
    this.id = id;
    this.colour = colour;
    if (mask) this.steps.push({ clicks: [], box: null, candidates: [{ mask }], chosen: 0 });
    this.initialSteps = this.steps.length;
  }

  get last() {
    return this.steps.at(-1);
  }
  get mask() {
    return this.last?.candidates[this.last.chosen].mask;
  }
  get isWaiting() {
    return this.clicks.length > (this.last?.clicks.length ?? 0) || this.box !== (this.last?.box ?? null);
  }
  get isChanged() {
    return this.steps.length > this.initialSteps || this.isWaiting;
  }

  // All clicks and the mask that the newest correct, so that a correction keeps what earlier clicks said. Of the answered
  // ones those that the mask still agrees with: it may have been painted over since. A new box starts over.
  prompt() {
    const box = this.box !== (this.last?.box ?? null) ? this.box : null,
      answered = this.last?.clicks.length ?? 0,
      isHeld = ([x, y, label]) => !box && this.mask && Boolean(this.mask.at(x, y)) === Boolean(label),
      clicks = this.clicks.filter((click, index) => index >= answered || isHeld(click));
    return {
      points: clicks.map(([x, y]) => [x, y]),
      labels: clicks.map((click) => click[2]),
      box,
      rle: box || !this.mask ? null : this.mask.encode(),
    };
  }

  addStep(candidates) {
    this.steps.push({ clicks: [...this.clicks], box: this.box, candidates, chosen: 0 });
    this.undone = [];
  }

  // Drops clicks and boxes that have not been answered.
  dropUnanswered() {
    this.clicks = [...(this.last?.clicks ?? [])];
    this.box = this.last?.box ?? null;
  }

  undo() {
    if (!this.isWaiting && this.steps.length > this.initialSteps) this.undone.push(this.steps.pop());
    this.dropUnanswered();
  }

  redo() {
    if (this.undone.length) this.steps.push(this.undone.pop());
    this.dropUnanswered();
  }

  paint(size, start, end, radius, value, isNewStroke) {
    const mask = (this.mask ?? Mask.empty(...size)).withStroke(start, end, radius, value);
    if (isNewStroke) {
      this.dropUnanswered();
      this.addStep([{ mask }]);
    } else this.last.candidates = [{ mask }];
  }
}
