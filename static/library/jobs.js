// Imports and packs on their way in, what came of them, and the question in which units a file is.
import { fill, h, plural } from "/static/studio/dom.js";
import { length } from "/static/library/words.js";

const AGAIN = 500, CREEP = 12000, MUG = 0.095, FRAME = 64, USUAL = 0.12;
const UPWARDS = { z: "z, as in CAD and robotics", y: "y, as in games and films", x: "x" };
const UNITS = { m: "metres", cm: "centimetres", mm: "millimetres", in: "inches" };
const MARKS = { done: ["good", "✓"], stopped: ["warn", "■"], asks: ["warn", "?"] };

export class Jobs {
  // `finished` is told when one has ended, `open` which new asset shall be seen.
  constructor({ ask, finished, open }) {
    Object.assign(this, { ask, finished, open, jobs: [], ups: new Map() });
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
        runs && this.bar(job),
        runs ? h("button.studio-button.stop", { disabled: job.stopping, onclick: () => this.tell({ kind: "halt", job: job.name }) }, job.stopping ? "Stopping …" : "■ Stop")
          : h("button.studio-button.plain", { title: "Take this off the list", "aria-label": "Dismiss", onclick: () => this.tell({ kind: "halt", job: job.name }) }, "✕")),
      job.asks.map((one) => (one.units ? this.units(job, one) : this.terms(job, one))),
      (job.errors.length > 0 || job.added.length > 0) && h("ul", {}, job.errors.map((one) => h("li.bad", {}, one.source && !one.error.includes(one.source) ? `${one.source}: ${one.error}` : one.error)),
        job.added.slice(-6).reverse().map((one) => h("li", {}, h("button.link", { disabled: !one.there, title: one.there ? "" : "It can be seen once the rest is in", onclick: () => this.open(one.id) }, one.id.replaceAll("_", " ")), h("span.muted", {}, one.wrong.length ? `  ${one.wrong.join("; ")}` : "  nothing wrong with it"))),
        job.added.length > 6 && h("li.muted", {}, `and ${job.added.length - 6} before`)));
  }

  // What is behind, and creeping on through what has begun: no one knows how long that takes.
  bar({ done, of, share }) {
    if (of <= 1 && !share) return h("span.bar.unknown", {}, h("i"));
    const at = Math.min(1, (done + share) / Math.max(of, 1)), next = Math.min(1, at + (0.6 * (1 - share)) / Math.max(of, 1));
    const line = h("i", { style: `width:${100 * at}%` });
    line.animate([{ width: `${100 * at}%` }, { width: `${100 * next}%` }], { duration: CREEP, easing: "ease-out", fill: "both" });
    return h("span.bar", { role: "progressbar", "aria-valuenow": Math.round(100 * at) }, line);
  }

  // What is fetched once a person agrees to its terms.
  terms(job, one) {
    const say = (yes) => this.tell({ kind: "agree", job: job.name, number: one.number, yes });
    return h("div.asks", {}, h("p", {}, h("strong", {}, one.name), one.size > 0 && `, ${(one.size / 1e6).toFixed(1)} MB`, ". Licence: ", h("span.tag", {}, one.licence), one.terms ? ` ${one.terms}.` : " Nobody here knows what that allows: read it on its page."),
      h("div.options", {}, h("button.studio-button.primary", { "data-act": "agree", onclick: () => say(true) }, "Bring it in"), h("button.studio-button.plain", { onclick: () => say(false) }, "Leave it out")));
  }

  // Which way is up, and the four sizes it may have, each drawn beside a mug.
  units(job, one) {
    const up = this.ups.get(one.number) ?? "z", shape = one.shapes[up];
    const turn = (axis) => { this.ups.set(one.number, axis); this.drawn = ""; this.draw(); };
    const scene = (size) => {
      const scale = FRAME / Math.max(size * (shape ? Math.max(shape.tall, 0.5 * shape.wide) : 1), MUG);
      return h("span.scale", { "aria-hidden": "true" }, outline(shape, size * scale), h("span.mug", { style: `width:${0.8 * MUG * scale}px;height:${MUG * scale}px` }));
    };
    const far = ({ size }) => Math.abs(Math.log(size / USUAL));
    const options = [...one.units].sort((a, b) => far(a) - far(b));
    const tell = (units) => this.tell({ kind: "units", job: job.name, number: one.number, units, up });
    return h("div.asks", {}, h("p", {}, h("strong", {}, `How large is ${one.source}?`), ` It is ${one.longest.toPrecision(3)} units long and does not say which. Drawn beside a mug:`),
      h("div.options", {}, shape && h("fieldset.ups", {}, h("legend", {}, "this side up"), Object.entries(UPWARDS).map(([axis, told]) => h("button.up", { "aria-pressed": String(axis === up), "aria-label": `${axis} is up`, title: `Its axis that points up: ${told}`, onclick: () => turn(axis) }, outline(one.shapes[axis], 34 / Math.max(one.shapes[axis].wide, one.shapes[axis].tall)), h("span", {}, axis)))),
        options.map(({ unit, size, likely }) => h(`button.option${likely ? "" : ".unlikely"}`, { "data-unit": unit, title: likely ? "" : "Not the size of a thing on a table", onclick: () => tell(unit) }, scene(size), h("strong", {}, length(size)), h("span", {}, UNITS[unit]), !likely && h("em", {}, "unlikely"))),
        h("button.studio-button.plain", { onclick: () => tell(null) }, "Leave it out")));
  }
}

// A thing's outline as large as its longest side is told in pixels; a square where its outline is not known.
function outline(shape, longest) {
  const { path, wide, tall } = shape?.path ? shape : { path: "M0,0H1V1H0Z", wide: 1, tall: 1 };
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg"), line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [key, value] of Object.entries({ class: "thing", viewBox: `0 0 ${wide} ${tall}`, width: Math.max(2, wide * longest), height: Math.max(2, tall * longest), preserveAspectRatio: "none" })) drawing.setAttribute(key, value);
  line.setAttribute("d", path);
  line.setAttribute("fill-rule", "evenodd");
  drawing.append(line);
  return drawing;
}
