// What is being edited: one object's mask, step by step, until it is kept or discarded. Id 0 is a new object.
import { Mask } from "/static/mask_canvas/mask.js";

export class Edit {
  constructor(id, colour, mask) {
    Object.assign(this, { id, colour, clicks: [], box: null, steps: [], gone: [] });
    if (mask) this.steps.push({ clicks: [], box: null, readings: [{ mask }], chosen: 0 });
    this.first = this.steps.length;
  }

  get last() { return this.steps.at(-1); }
  get mask() { return this.last && this.last.readings[this.last.chosen].mask; }
  get asked() { return this.clicks.length > (this.last?.clicks.length ?? 0) || this.box !== (this.last?.box ?? null); }
  get changed() { return this.steps.length > this.first || this.asked; }

  // The clicks that are new since the last step, and the mask they correct; a new box starts anew.
  question() {
    const box = this.box !== (this.last?.box ?? null) ? this.box : null, fresh = this.clicks.slice(this.last?.clicks.length ?? 0);
    return { points: fresh.map(([x, y]) => [x, y]), labels: fresh.map((click) => click[2]), box, rle: box || !this.mask ? null : this.mask.encode() };
  }

  step(readings) {
    this.steps.push({ clicks: [...this.clicks], box: this.box, readings, chosen: 0 });
    this.gone = [];
  }

  // Drops what was asked and not answered.
  forget() {
    this.clicks = [...(this.last?.clicks ?? [])];
    this.box = this.last?.box ?? null;
  }

  back() {
    if (!this.asked && this.steps.length > this.first) this.gone.push(this.steps.pop());
    this.forget();
  }

  forth() {
    if (this.gone.length) this.steps.push(this.gone.pop());
    this.forget();
  }

  paint(size, from, to, radius, value, begins) {
    const mask = (this.mask ?? Mask.empty(...size)).stroked(from, to, radius, value);
    if (begins) { this.forget(); this.step([{ mask }]); } else this.last.readings = [{ mask }];
  }
}
