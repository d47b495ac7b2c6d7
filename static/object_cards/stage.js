import { fill, h } from "/static/studio/dom.js";

const BLINK = 650; // milliseconds that each of the two is seen
const SVG = "http://www.w3.org/2000/svg";

// The photograph's crop with a candidate laid over it: beside a slider, blinking, or as its outline only.
export class Stage {
  constructor() {
    this.mode = "slide";
    this.photo = h("img.photo", { alt: "The photograph", draggable: false });
    this.gone = h("img.gone", { alt: "", draggable: false });
    this.candidate = h("img.candidate", { alt: "", draggable: false });
    this.after = h("div.after", {}, this.gone, this.candidate);
    this.lines = document.createElementNS(SVG, "svg");
    this.lines.setAttribute("viewBox", "0 0 1 1");
    this.lines.setAttribute("preserveAspectRatio", "none");
    this.handle = h("div.handle", {}, h("span", {}, "⇔"));
    this.left = h("span.label.left", {}, "photograph");
    this.right = h("span.label.right");
    this.note = h("div.note");
    this.element = h("div.compare", {}, this.photo, this.after, this.lines, this.handle, this.left, this.right, this.note);
    this.modes = h("div.modes", { role: "group", "aria-label": "How the two are compared" });
    this.slides();
    this.draw();
  }

  slides() {
    const to = ({ clientX }) => {
      const { left, width } = this.element.getBoundingClientRect();
      this.element.style.setProperty("--at", `${Math.min(100, Math.max(0, ((clientX - left) / width) * 100))}%`);
    };
    this.element.addEventListener("pointerdown", (event) => {
      if (this.mode !== "slide") return;
      this.element.setPointerCapture(event.pointerId);
      to(event);
    });
    this.element.addEventListener("pointermove", (event) => { if (this.element.hasPointerCapture(event.pointerId)) to(event); });
  }

  // What is compared: {photo, gone, aspect, outline} of the object, {state, image, outline, why} of the candidate.
  show(scene, drawn, name) {
    Object.assign(this, { scene, drawn, name });
    this.draw();
  }

  use(mode) {
    this.mode = mode;
    this.draw();
  }

  toggleBlink() {
    if (this.drawn?.state === "ready") this.use(this.mode === "blink" ? "slide" : "blink");
  }

  draw() {
    const { scene, drawn, mode } = this, ready = drawn?.state === "ready";
    this.element.dataset.mode = mode;
    this.element.classList.toggle("ready", ready);
    if (scene) this.element.style.aspectRatio = scene.aspect;
    for (const [image, source] of [[this.photo, scene?.photo], [this.gone, scene?.gone], [this.candidate, ready && drawn.image]])
      if (source && image.getAttribute("src") !== source) image.setAttribute("src", source);
    this.right.textContent = ready ? this.name : "";
    this.tells(drawn?.state === "drawing" && `${scene?.photo} ${this.name}`);
    this.lines.replaceChildren(...(mode === "outline" && ready ? [...paths(scene.outline, "mask"), ...paths(drawn.outline, "shown")] : []));
    this.blinks(mode === "blink" && ready);
    fill(this.modes, [["slide", "Slide", "Drag across the picture"], ["blink", "Blink", "Photograph and candidate in turn: key B"], ["outline", "Outline", "Its outline over the photograph; the mask's is dashed"]].map(([name, text, title]) =>
      h(`button${mode === name ? ".on" : ""}`, { disabled: !ready, title: ready ? title : `Nothing to compare yet: ${this.note.textContent || "no candidate is drawn"}`, "aria-pressed": String(mode === name), onclick: () => this.use(name) }, text, name === "blink" && h("kbd", {}, "B"))));
  }

  // What there is to say in place of a drawing; of one under way also since when.
  tells(drawing) {
    if (drawing !== this.drawing) Object.assign(this, { drawing, since: Date.now() });
    clearInterval(this.clock);
    if (!drawing) return fill(this.note, this.drawn?.why ?? "");
    const seconds = h("span.seconds"), tick = () => { const gone = Math.round((Date.now() - this.since) / 1000); seconds.textContent = gone > 1 ? ` ${gone} s` : ""; };
    fill(this.note, h("span.spin"), `drawing ${this.name === "From the view" ? "it" : this.name} in this view …`, seconds);
    tick();
    this.clock = setInterval(() => (this.element.isConnected ? tick() : clearInterval(this.clock)), 1000);
  }

  blinks(on) {
    if (on === Boolean(this.timer)) return;
    clearInterval(this.timer);
    this.timer = on ? setInterval(() => this.element.isConnected ? this.element.classList.toggle("away") : this.blinks(false), BLINK) : null;
    this.element.classList.remove("away");
  }
}

function paths(polygons, name) {
  return polygons.map((points) => {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", `M${points.map((point) => point.join(" ")).join("L")}Z`);
    path.setAttribute("class", name);
    return path;
  });
}
