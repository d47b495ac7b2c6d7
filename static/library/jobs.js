// Imports and packs on their way in, what came of them, and the question in which units a file is.
import { fill, h, plural } from "/static/studio/dom.js";
import { length } from "/static/library/words.js";

const AGAIN = 500, MUG = 0.095, FRAME = 64, USUAL = 0.12;
const UNITS = { m: "metres", cm: "centimetres", mm: "millimetres", in: "inches" };
const MARKS = { done: ["good", "✓"], stopped: ["warn", "■"], asks: ["warn", "?"] };

export class Jobs {
  // `finished` is told when one has ended, `open` which new asset shall be seen.
  constructor({ ask, finished, open }) {
    Object.assign(this, { ask, finished, open, jobs: [] });
    this.element = h("div.jobs");
  }

  get busy() {
    return this.jobs.some((job) => ["waiting", "running"].includes(job.state));
  }

  async follow() {
    clearTimeout(this.timer);
    this.take(await this.ask({ kind: "jobs" }));
  }

  take(answer) {
    if (answer.error) return;
    const was = new Map(this.jobs.map((job) => [job.name, job.state]));
    this.jobs = answer.jobs;
    this.draw();
    const over = this.jobs.filter((job) => ["waiting", "running"].includes(was.get(job.name)) && !["waiting", "running"].includes(job.state));
    if (over.length) this.finished(over);
    clearTimeout(this.timer);
    if (this.busy) this.timer = setTimeout(() => this.follow(), AGAIN);
  }

  async tell(question) {
    this.take(await this.ask(question));
  }

  draw() {
    const text = JSON.stringify(this.jobs);
    if (text === this.drawn) return;
    this.drawn = text;
    fill(this.element, this.jobs.map((job) => this.job(job)));
  }

  job(job) {
    const runs = ["waiting", "running"].includes(job.state), [kind, mark] = MARKS[job.errors.length && !job.added.length && job.state === "done" ? "stopped" : job.state] ?? ["", ""];
    const came = `${plural(job.added.length, "asset")} came in`;
    return h("section.job", { "data-state": job.state },
      h("div.line", {}, runs ? h("i.spin") : h(`i.${kind}`, {}, mark), h("strong", { title: job.title }, job.title),
        h("span.muted", { role: "status" }, runs ? `${job.of > 1 ? `${job.done} of ${job.of} · ` : ""}${job.message}` : `${came}${job.state === "stopped" ? "; stopped" : ""}${job.note ? `. ${job.note}` : ""}`),
        runs && (job.of > 1 ? h("span.bar", {}, h("i", { style: `width:${(100 * job.done) / job.of}%` })) : h("span.bar.unknown", {}, h("i"))),
        runs ? h("button.studio-button.stop", { disabled: job.stopping, onclick: () => this.tell({ kind: "halt", job: job.name }) }, job.stopping ? "Stopping …" : "■ Stop")
          : h("button.studio-button.plain", { title: "Take this off the list", "aria-label": "Dismiss", onclick: () => this.tell({ kind: "halt", job: job.name }) }, "✕")),
      job.asks.map((one) => this.units(job, one)),
      (job.errors.length > 0 || job.added.length > 0) && h("ul", {}, job.errors.map((one) => h("li.bad", {}, one.source && !one.error.includes(one.source) ? `${one.source}: ${one.error}` : one.error)),
        job.added.slice(-6).reverse().map((one) => h("li", {}, h("button.link", { disabled: !one.there, title: one.there ? "" : "It can be seen once the rest is in", onclick: () => this.open(one.id) }, one.id.replaceAll("_", " ")), h("span.muted", {}, one.wrong.length ? `  ${one.wrong.join("; ")}` : "  nothing wrong with it"))),
        job.added.length > 6 && h("li.muted", {}, `and ${job.added.length - 6} before`)));
  }

  // The four sizes it may have, each drawn beside a mug.
  units(job, one) {
    const scene = (size) => {
      const scale = FRAME / Math.max(size, MUG);
      return h("span.scale", { "aria-hidden": "true" }, h("span.thing", { style: `width:${Math.max(2, size * scale)}px;height:${Math.max(2, size * scale)}px` }), h("span.mug", { style: `width:${0.8 * MUG * scale}px;height:${MUG * scale}px` }));
    };
    const far = ({ size }) => Math.abs(Math.log(size / USUAL));
    const options = [...one.units].sort((a, b) => far(a) - far(b));
    return h("div.asks", {}, h("p", {}, h("strong", {}, `How large is ${one.source}?`), ` It is ${one.longest.toPrecision(3)} units long and does not say which. Drawn beside a mug:`),
      h("div.options", {}, options.map(({ unit, size, likely }) => h(`button.option${likely ? "" : ".unlikely"}`, { "data-unit": unit, title: likely ? "" : "Not the size of a thing on a table", onclick: () => this.tell({ kind: "units", job: job.name, number: one.number, units: unit }) }, scene(size), h("strong", {}, length(size)), h("span", {}, UNITS[unit]))),
        h("button.studio-button.plain", { onclick: () => this.tell({ kind: "units", job: job.name, number: one.number, units: null }) }, "Leave it out")));
  }
}
