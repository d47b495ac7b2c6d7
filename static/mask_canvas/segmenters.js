// Which segmenter answers clicks, how each of them stands, and everything found anew by the chosen one.
import { fill, h } from "/static/studio/dom.js";

const BUSY = ["queued", "loading", "encoding"];
const SAYS = { ready: "● ready", idle: "○ not started", queued: "◐ waiting", loading: "◐ loading", encoding: "◐ encoding", missing: "! weights not found", failed: "! failed, depth answers", stopped: "○ stopped" };
// Of SAM 2's everything mode, as its generator calls them.
const SETTINGS = [
  ["points_per_side", "Points a side", { min: 2, max: 64, step: 1, value: 24 }, "A grid of clicks: more finds smaller things and takes longer, by the square"],
  ["pred_iou_thresh", "Quality, at least", { min: 0, max: 1, step: 0.05, value: 0.7 }, "Predicted quality below which a mask is dropped"],
  ["stability_score_thresh", "Stability, at least", { min: 0, max: 1, step: 0.05, value: 0.9 }, "How little a mask changes when its threshold is moved"],
  ["box_nms_thresh", "Same thing, from", { min: 0, max: 1, step: 0.05, value: 0.7 }, "Overlap of boxes above which the lesser of two masks is dropped"],
];
const SWITCHES = [
  ["keep_all", "Keep every part, as GRS does", "A later step says what is no object; off, parts of one thing are joined by depth"],
  ["use_m2m", "A second look at each edge", "Better edges, half as slow again"],
];

export class Segmenters {
  constructor(ask, on) {
    Object.assign(this, { ask, on, told: null, token: null });
    this.head = h("summary.studio-button", { title: "Which segmenter answers clicks" }, "Segmenter");
    this.list = h("div.list");
    this.inputs = new Map(SETTINGS.map(([name, title, range, note]) => [name, h("input", { type: "number", name, title: note, "aria-label": title, ...Object.fromEntries(Object.entries(range).map(([key, value]) => [key, String(value)])) })]));
    for (const [name, title, note] of SWITCHES) this.inputs.set(name, h("input", { type: "checkbox", name, title: note, "aria-label": title }));
    this.settings = h("details.settings", {}, h("summary", {}, "SAM 2's settings"),
      SETTINGS.map(([name, title, , note]) => h("label.setting", { title: note }, title, this.inputs.get(name))),
      SWITCHES.map(([name, title, note]) => h("label.setting", { title: note }, title, this.inputs.get(name))));
    this.find = h("button.studio-button", { "data-act": "find", onclick: () => { this.element.open = false; on.find(this.chosen.name, this.chosen.name === "sam2" ? this.values : {}); } });
    this.element = h("details.menu", { "data-menu": "segmenters", ontoggle: () => this.element.open && this.tell({ kind: "standing" }) }, this.head, h("div.sheet", {}, this.list, this.settings, this.find,
      h("p.note", {}, "Replaces all masks of this frame. What is the same thing keeps its number and name; undo brings the old masks back.")));
  }

  get chosen() { return this.told?.segmenters.find((one) => one.name === this.told.chosen); }
  get values() { return Object.fromEntries([...this.inputs].map(([name, input]) => [name, input.type === "checkbox" ? input.checked : input.valueAsNumber])); }

  async open(token) {
    if (token === this.token) return;
    this.token = token;
    this.told = null;
    await this.tell({ kind: "standing" });
  }

  // Asks, shows, and asks again while something is on its way.
  async tell(question) {
    const token = this.token, told = await this.ask({ ...question, token });
    if (token !== this.token) return;
    clearTimeout(this.timer);
    this.problem = told.error ?? "";
    if (!told.error) this.told = told;
    if (this.told) this.draw();
    this.on.changed(this.problem);
    if (this.told?.segmenters.some((one) => BUSY.includes(one.word)) && this.element.isConnected) this.timer = setTimeout(() => this.tell({ kind: "standing" }), 600);
  }

  // What to say while a click has to wait; "" when nothing is in its way.
  get waiting() {
    const one = this.chosen;
    return one && BUSY.includes(one.word) ? `${one.title} is ${one.word === "encoding" ? `encoding this frame (${Math.round(one.share * 100)} %)` : one.word === "loading" ? "loading its weights" : "waiting for other frames"}; clicks are answered when it is done.` : "";
  }

  draw() {
    const one = this.chosen;
    fill(this.head, "Segmenter: ", h("strong", {}, one.title), " ", h(`span.state.${one.word}`, {}, one.word === "encoding" ? `◐ encoding ${Math.round(one.share * 100)} %` : SAYS[one.word]));
    fill(this.list, h("p.title", {}, "Who outlines what you click on this frame"), this.told.segmenters.map((each) => this.line(each, one)),
      this.problem && h("p.problem", {}, this.problem),
      h("p.note", {}, "Outlines that are there already stay as they are."),
      h("button.studio-button", { "data-act": "compare", title: "Outlines of the picked object side by side (C)", onclick: () => { this.element.open = false; this.on.compare(); } }, "Compare on the picked object"),
      h("p.title", {}, "Find everything anew"));
    this.settings.hidden = one.name !== "sam2";
    fill(this.find, `Find everything with ${one.title}`);
  }

  line(each, one) {
    const busy = BUSY.includes(each.word), act = (kind, text) => h("button.studio-button", { "data-act": `${kind}:${each.name}`, onclick: () => this.tell({ kind, name: each.name }) }, text);
    return h("div.one", {}, h(`label.choice${each.word === "missing" ? ".off" : ""}`, {},
      h("input", { type: "radio", name: "segmenter", value: each.name, checked: each.name === one.name, disabled: each.word === "missing", onchange: () => this.tell({ kind: "choose", name: each.name }) }),
      h("span", {}, h("strong", {}, each.title), " ", h(`span.state.${each.word}`, {}, SAYS[each.word]), busy && h("progress", { max: 1, value: each.share }), each.note && h("span.note", {}, each.note))),
      busy && act("stop", "■ Stop"), ["failed", "stopped"].includes(each.word) && act("choose", "Try again"));
  }
}
