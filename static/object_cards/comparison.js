import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const BLINK_MS = 650; // how long each of the two is shown
const SVG = "http://www.w3.org/2000/svg";

// The photograph's crop with a candidate over it: with a slider, blinking, or as an outline.
export class Comparison {
  constructor() {
    this.mode = "slide";
    this.photo = h("img.photo", { alt: t("The photograph"), draggable: false });
    this.background = h("img.background", { alt: "", draggable: false });
    this.candidate = h("img.candidate", { alt: "", draggable: false });
    this.after = h("div.after", {}, this.background, this.candidate);
    this.lines = document.createElementNS(SVG, "svg");
    this.lines.setAttribute("viewBox", "0 0 1 1");
    this.lines.setAttribute("preserveAspectRatio", "none");
    this.handle = h("div.handle", {}, h("span", {}, "⇔"));
    this.left = h("span.label.left", {}, t("Photograph"));
    this.right = h("span.label.right");
    this.note = h("div.note");
    this.element = h(
      "div.compare",
      {},
      this.photo,
      this.after,
      this.lines,
      this.handle,
      this.left,
      this.right,
      this.note,
    );
    this.modes = h("div.modes", { role: "group", "aria-label": t("Comparison mode") });
    this.bindSlider();
    this.draw();
  }

  bindSlider() {
    const moveSlider = ({ clientX }) => {
      const { left, width } = this.element.getBoundingClientRect();
      this.element.style.setProperty("--at", `${Math.min(100, Math.max(0, ((clientX - left) / width) * 100))}%`);
    };
    this.element.addEventListener("pointerdown", (event) => {
      if (this.mode !== "slide") return;
      this.element.setPointerCapture(event.pointerId);
      moveSlider(event);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (this.element.hasPointerCapture(event.pointerId)) moveSlider(event);
    });
  }

  // Takes {photo, background, aspect, outline} of the object and {state, image, outline, why} of the candidate.
  show(scene, render, name) {
    Object.assign(this, { scene, render, name });
    this.draw();
  }

  setMode(mode) {
    this.mode = mode;
    this.draw();
  }

  toggleBlink() {
    if (this.render?.state === "ready") this.setMode(this.mode === "blink" ? "slide" : "blink");
  }

  draw() {
    const { scene, render, mode } = this,
      ready = render?.state === "ready";
    this.element.dataset.mode = mode;
    this.element.classList.toggle("ready", ready);
    if (scene) this.element.style.aspectRatio = scene.aspect;
    for (const [image, source] of [
      [this.photo, scene?.photo],
      [this.background, scene?.background],
      [this.candidate, ready && render.image],
    ])
      if (source && image.getAttribute("src") !== source) image.setAttribute("src", source);
    this.right.textContent = ready ? this.name : "";
    this.showNote(render?.state === "drawing" && `${scene?.photo} ${this.name}`);
    this.lines.replaceChildren(
      ...(mode === "outline" && ready ? [...paths(scene.outline, "mask"), ...paths(render.outline, "shown")] : []),
    );
    this.setBlinking(mode === "blink" && ready);
    fill(
      this.modes,
      [
        ["slide", t("Slide"), t("Drag across the picture")],
        ["blink", t("Blink"), t("Alternate photograph and candidate (B)")],
        ["outline", t("Outline"), t("Candidate outline over the photograph; the mask is dashed")],
      ].map(([name, text, title]) =>
        h(
          `button${mode === name ? ".on" : ""}`,
          {
            disabled: !ready,
            title: ready ? title : this.note.textContent || t("No candidate rendered yet"),
            "aria-pressed": String(mode === name),
            onclick: () => this.setMode(name),
          },
          text,
          name === "blink" && h("kbd", {}, "B"),
        ),
      ),
    );
  }

  // Shows why there is no render, or for how long it has been running.
  showNote(pendingRender) {
    if (pendingRender !== this.drawing) Object.assign(this, { drawing: pendingRender, since: Date.now() });
    clearInterval(this.clock);
    if (!pendingRender) return fill(this.note, this.render?.why ?? "");
    const seconds = h("span.seconds"),
      updateClock = () => {
        const elapsed = Math.round((Date.now() - this.since) / 1000);
        seconds.textContent = elapsed > 1 ? ` ${elapsed} s` : "";
      };
    fill(
      this.note,
      h("span.spin"),
      t("Rendering {name} …", { name: this.name === t("From the view") ? t("the reconstruction") : this.name }),
      seconds,
    );
    updateClock();
    this.clock = setInterval(() => (this.element.isConnected ? updateClock() : clearInterval(this.clock)), 1000);
  }

  setBlinking(on) {
    if (on === Boolean(this.timer)) return;
    clearInterval(this.timer);
    this.timer = on
      ? setInterval(
          () => (this.element.isConnected ? this.element.classList.toggle("blink-hidden") : this.setBlinking(false)),
          BLINK_MS,
        )
      : null;
    this.element.classList.remove("blink-hidden");
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
