// What the toolbar's buttons and the shortcuts do, by the names of both.
import { listShortcuts } from "/static/studio/keyboard.js";
import { t } from "/static/studio/texts.js";

export class Actions {
  /** @param {import("./mask_work.js").MaskWork} work @param {import("./script.js").MaskCanvas} page */
  constructor(work, page) {
    this.work = work;
    this.page = page;
  }

  /** Runs the action of a name, such as "accept" or "tool:brush". */
  run(name, ...values) {
    name.startsWith("tool:") ? this.use(name.slice(5)) : this[name](...values);
    this.page.redraw();
  }

  use(tool) {
    this.work.tool = tool;
    this.work.problem = "";
  }

  new() {
    this.work.pick(0);
    this.work.start(0);
    if (this.work.tool !== "brush") this.work.tool = "add";
  }

  accept() {
    this.work.accept();
  }

  discard() {
    const { work } = this;
    if (work.tool === "split") work.tool = "add";
    else if (work.edit) work.discard();
    else work.pick(0);
  }

  undo() {
    const { work } = this;
    work.preview = null;
    if (!work.edit?.isChanged) return work.send("undo");
    work.prompts.cancel();
    work.edit.undo();
    if (!work.edit.steps.length && !work.edit.id) work.edit = null;
  }

  redo() {
    this.work.preview = null;
    this.work.edit?.undone.length ? this.work.edit.redo() : this.work.send("redo");
  }

  delete() {
    const ids = [...this.work.picked];
    if (!ids.length) return;
    const label = t("{ids} deleted", { ids: ids.join(t(" and ")) });
    this.work.decideSeveral(
      label,
      ids.map((id) => ({ kind: "delete_segment", id })),
    );
    this.work.discard();
    this.work.pick(0);
  }

  merge() {
    const ids = [...this.work.picked];
    if (ids.length < 2) return;
    this.work.decide("merge_segments", { ids, into: Math.min(...ids) });
    this.work.pick(0);
  }

  split() {
    const { work } = this;
    if (!work.object) work.refuse(t("Select one object to split."));
    else if (work.tool === "split") this.split_auto();
    else work.turnTo(() => this.use("split"));
  }

  split_auto() {
    const { object } = this.work;
    this.work.tool = "add";
    if (object) this.work.decide("split", { id: object.id });
  }

  toggle_object() {
    const { object } = this.work;
    if (object) this.work.decide("not_object", { id: object.id, value: object.is_object });
  }

  next_candidate(index) {
    const step = this.work.edit?.last;
    if (step?.candidates.length > 1) step.chosen = index ?? (step.chosen + 1) % step.candidates.length;
  }

  compare() {
    const { work } = this,
      mask = work.edit?.mask ?? (work.object && work.viewport.mask(work.object.id));
    if (!mask?.area) return work.refuse(t("Select an object first, then compare segmenters on it."));
    if (!work.edit) work.start(work.object.id);
    work.problem = "";
    work.info = t("Running each segmenter …");
    work.prompts.send({ kind: "compare", token: work.scene.token, rle: mask.encode() });
  }

  hide() {
    this.page.isHidden = !this.page.isHidden;
  }

  smaller() {
    this.page.brushSize = Math.max(1, Math.round(this.page.brushSize * 0.8));
  }

  larger() {
    this.page.brushSize = Math.min(60, Math.ceil(this.page.brushSize * 1.25));
  }

  zoom_in() {
    this.page.viewport.zoomBy(1.4);
  }

  zoom_out() {
    this.page.viewport.zoomBy(1 / 1.4);
  }

  fit() {
    this.page.viewport.moved = false;
    this.page.viewport.fit();
  }

  help() {
    listShortcuts();
  }
}
