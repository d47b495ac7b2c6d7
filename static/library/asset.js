// One asset closely: on its stand, its numbers with where they are from, and what a person may change.
import { chip, fill, h, sizeText } from "/static/studio/dom.js";
import { inertia, mass, place, source, travel } from "/static/library/words.js";

const BODY = "asset"; // what pipeline/scene/stand.py calls it

export class AssetPanel {
  // `ask` asks the server, `edited` is told the answer to a change, `close` closes; `use` makes it an object's.
  constructor({ ask, edited, close, use }) {
    Object.assign(this, { ask, edited, close, use, one: null, target: null });
    this.frame = h("iframe.stand", { title: "The asset on its stand" });
    this.veil = h("p.veil");
    this.scene = h("div.scene", {}, this.frame, this.veil);
    this.head = h("div.asset-head");
    this.facts = h("div.facts");
    this.actions = h("div.asset-actions");
    this.inertia = h("span");
    this.element = h("aside.asset", { hidden: true }, this.head, this.scene, this.facts, this.actions);
    addEventListener("message", ({ source, origin, data }) => {
      if (source !== this.frame.contentWindow || origin !== location.origin || data?.type !== "loaded") return;
      if (this.one?.joints.length) source.postMessage({ type: "select", name: BODY }, origin); // shows its joints
    });
  }

  get id() {
    return this.element.hidden ? "" : this.one?.id ?? "";
  }

  async show(id) {
    this.element.hidden = false;
    if (this.one?.id !== id) [this.head, this.facts, this.actions].forEach((part) => fill(part)); // nobody shall type into the one before
    this.wanted = id;
    const one = await this.ask({ kind: "asset", id });
    if (this.wanted !== id) return;
    if (one.error) return this.lost(one.error);
    const same = this.one?.digest === one.digest && this.token;
    this.one = one;
    if (!same) this.made = null;
    this.draw();
    if (!same) this.look(id);
  }

  lost(text) {
    this.one = this.token = null;
    fill(this.head, h("strong", {}, "Not there any more"), this.shut());
    fill(this.facts, h("p.fault", {}, text));
    fill(this.actions);
    this.scene.hidden = true;
  }

  async look(id) {
    this.scene.hidden = false;
    this.scene.classList.toggle("moves", this.one.joints.length > 0); // room for its sliders
    this.veil.hidden = false;
    this.veil.textContent = "Putting it on its stand …";
    const made = await this.ask({ kind: "stand", id });
    if (this.one?.id !== id) return;
    this.token = made.view ?? null;
    if (made.error) { this.veil.textContent = made.error; this.frame.removeAttribute("src"); return; }
    this.made = made;
    this.veil.hidden = true;
    if (this.frame.getAttribute("src")?.startsWith("/viewer/")) this.frame.contentWindow.postMessage({ type: "load", token: made.view }, location.origin);
    else this.frame.src = `/viewer/?alone#${made.view}`;
    this.drawInertia();
  }

  hide() {
    this.element.hidden = true;
  }

  // Which object of the open project it may be used for: {id, name, colour, asset_id} or null.
  aim(target) {
    this.target = target;
    if (this.one && !this.element.hidden) this.drawActions();
  }

  async change(question) {
    this.element.inert = true;
    this.element.classList.add("busy");
    const answer = await this.ask({ ...question, id: this.one.id });
    if (question.kind === "remove" && !answer.error) {
      answer.note = [`${this.one.name} was taken out; Undo brings it back.`, answer.note].filter(Boolean).join(" ");
      this.close();
    }
    await this.edited(answer);
    this.element.inert = false;
    this.element.classList.remove("busy");
    if (answer.error) this.draw();
  }

  shut() {
    return h("button.studio-button.plain", { "aria-label": "Close the asset", title: "Close", onclick: () => this.close() }, "✕");
  }

  draw() {
    const { one } = this;
    const say = (key) => (event) => event.target.value.trim() !== String(one[key] ?? "") && this.change({ kind: "change", said: { [key]: event.target.value.trim() } });
    const text = (key, label, extra = {}) => h("input", { value: one[key], "aria-label": label, spellcheck: false, onkeydown: keys, onchange: say(key), ...extra });
    const fact = (name, ...value) => h("div.fact", {}, h("span.key", {}, name), h("span.value", {}, ...value));
    fill(this.head, text("name", "Name", { class: "name" }), h("span.busy-note", { role: "status" }, h("i.spin"), "Saving …"), this.shut());
    fill(this.facts,
      h("input.caption", { value: one.caption, "aria-label": "Caption", title: "What it is, in a sentence: models read this", spellcheck: false, onkeydown: keys, onchange: say("caption") }),
      fact("kind", text("category", "Kind")),
      fact("size", sizeText(one.size), !one.joints.length && h("span", {}, h("span.from", {}, "longest "), this.number(100 * Math.max(...one.size), "cm", "Longest side in cm", 0.1, (value) => this.change({ kind: "scale", longest: value / 100 })))),
      fact("turn", ["x", "y", "z"].map((axis) => h("button.studio-button", { title: `A quarter turn about ${axis}, where another side shall be up or in front`, onclick: () => this.change({ kind: "turn", axis }) }, `↻ ${axis}`))),
      one.lies && h("p.warning", {}, `Its opening faces ${one.lies.faces}. Is it lying? `, h("button.studio-button", { "data-act": "stand-up", onclick: () => this.change({ kind: "turn", axis: one.lies.axis, quarters: one.lies.quarters }) }, "Stand it up")),
      fact("mass", this.number(1000 * one.mass, "g", "Mass in g", 1, (value) => this.change({ kind: "change", said: { mass: value / 1000 } })), range(one.mass, one.mass_range, mass), h("span.from", {}, source(one.mass_source))),
      fact("friction", this.number(one.friction, "", "Sliding friction", 0.05, (value) => this.change({ kind: "change", said: { friction: value } })), range(one.friction, one.friction_range, (value) => value.toFixed(2)), h("span.from", {}, source(one.friction_source))),
      fact("inertia", this.inertia),
      fact("touches as", `${one.pieces} convex ${one.pieces === 1 ? "piece" : "pieces"}${one.container ? ", open at the top" : ""}`),
      one.joints.length > 0 && fact("joints", h("ul.joints", {}, one.joints.map((joint) => h("li", {}, `${joint.part.replaceAll("_", " ")}: ${joint.kind === "hinge" ? "turns" : "slides"} ${travel(joint)}`)))),
      fact("licence", text("licence", "Licence", { placeholder: "unknown" })),
      fact("from", one.provenance || "unknown"),
      fact("whose", place(one.place), !one.own && h("span.from", {}, "what you change becomes a version of your own"), one.version && h("span.from", {}, "your version of an asset that others made")),
      one.wrong.length > 0 && [h("h4", {}, "What was wrong with its file"), h("ul.wrong", {}, one.wrong.map((fault) => h("li", {}, fault)))]);
    this.drawInertia();
    this.drawActions();
  }

  // By itself, when the model is compiled: what a person types or presses meanwhile stays where it is.
  drawInertia() {
    const { made } = this;
    fill(this.inertia, made ? inertia(made.inertia) : "…", made && h("span.from", {}, " about its centre of mass, from the compiled model"), made?.doubt && h("p.warning", {}, made.doubt));
  }

  drawActions() {
    const { one, target } = this;
    fill(this.actions,
      target && (target.asset_id === one.id ? h("span.muted", {}, "Used for ", chip(target), ` ${target.name}`) : h("button.studio-button.primary", { "data-act": "use", onclick: () => this.use(target, one) }, "Use for ", chip(target), ` ${target.name}`)),
      one.own && h("button.studio-button", { "data-act": "remove", title: "Out of the library; Undo brings it back", onclick: () => this.change({ kind: "remove" }) }, one.version ? "Take out my version" : "Take out of the library"));
  }

  number(value, unit, label, step, changed) {
    const shown = Number(value.toFixed(step < 1 ? 2 : value < 10 ? 1 : 0));
    return h("span.number", {}, h("input", { type: "number", step: String(step), min: "0", value: String(shown), "aria-label": label, onkeydown: keys, onchange: (event) => event.target.value !== "" && Number(event.target.value) !== shown && changed(Number(event.target.value)) }), unit && ` ${unit}`);
  }
}

function keys(event) {
  if (event.key === "Enter") event.target.blur();
  if (event.key !== "Escape") event.stopPropagation();
}

// Where a value lies between the least and the most that is plausible.
function range(value, [low, high], told) {
  const inside = value >= low * 0.999 && value <= high * 1.001;
  const at = Math.min(100, Math.max(0, (100 * Math.log(value / low)) / Math.log(high / low)));
  return h(`span.range${inside ? "" : ".out"}`, { title: `Plausible: ${told(low)} to ${told(high)}` }, h("i", { style: `left:${Number.isFinite(at) ? at : 50}%` }), h("span.ends", {}, h("span", {}, told(low)), h("span", {}, told(high))), !inside && h("span.sr", {}, "outside what is plausible"));
}
