// Which segmenter answers clicks, and how each of them stands.
import { fill, h } from "/static/studio/dom.js";

const BUSY = ["queued", "loading", "encoding"];
const SAYS = { ready: "● ready", idle: "○ not started", queued: "◐ waiting", loading: "◐ loading", encoding: "◐ encoding", missing: "! weights not found", failed: "! failed, depth answers", stopped: "○ stopped" };

export class Segmenters {
  constructor(ask, compare, changed) {
    Object.assign(this, { ask, changed, told: null, token: null });
    this.head = h("summary.studio-button", { title: "Which segmenter answers clicks" }, "Segmenter");
    this.body = h("div.sheet");
    this.element = h("details.menu", { "data-menu": "segmenters" }, this.head, this.body);
    this.compare = compare;
  }

  get chosen() { return this.told?.segmenters.find((one) => one.name === this.told.chosen); }

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
    if (told.error) return this.changed(told.error);
    this.told = told;
    this.draw();
    this.changed("");
    clearTimeout(this.timer);
    if (told.segmenters.some((one) => BUSY.includes(one.word)) && this.element.isConnected) this.timer = setTimeout(() => this.tell({ kind: "standing" }), 600);
  }

  // What to say while a click has to wait; "" when nothing is in its way.
  get waiting() {
    const one = this.chosen;
    return one && BUSY.includes(one.word) ? `${one.title} is ${one.word === "encoding" ? `encoding this frame (${Math.round(one.share * 100)} %)` : one.word === "loading" ? "loading its weights" : "waiting for other frames"}; clicks are answered when it is done.` : "";
  }

  draw() {
    const one = this.chosen;
    fill(this.head, "Segmenter: ", h("strong", {}, one.title), " ", h(`span.state.${one.word}`, {}, one.word === "encoding" ? `◐ encoding ${Math.round(one.share * 100)} %` : SAYS[one.word]));
    fill(this.body, h("p.title", {}, "Who outlines what you click on this frame"),
      this.told.segmenters.map((each) => h(`label.choice${each.word === "missing" ? ".off" : ""}`, {},
        h("input", { type: "radio", name: "segmenter", value: each.name, checked: each.name === one.name, disabled: each.word === "missing", onchange: () => this.tell({ kind: "choose", name: each.name }) }),
        h("span", {}, h("strong", {}, each.title), " ", h(`span.state.${each.word}`, {}, SAYS[each.word]),
          BUSY.includes(each.word) && h("progress", { max: 1, value: each.share }), each.note && h("span.note", {}, each.note)))),
      h("p.note", {}, "Outlines that are there already stay as they are."),
      h("button.studio-button", { "data-act": "compare", title: "Outlines of the picked object side by side (C)", onclick: () => { this.element.open = false; this.compare(); } }, "Compare on the picked object"));
  }
}
