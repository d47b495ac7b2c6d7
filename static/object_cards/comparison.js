// The photograph's crop with a candidate over it: with a slider, blinking, or as an outline.
import { t } from "/static/studio/texts.js";
import { classes, computed, follow, html, signal } from "/static/studio/view.js";
import { FROM_VIEW } from "./candidates.js";

const BLINK_MS = 650; // how long each of the two is shown
const MODES = [
  ["slide", t("Slide"), t("Drag across the picture")],
  ["blink", t("Blink"), t("Alternate photograph and candidate (B)")],
  ["outline", t("Outline"), t("Candidate outline over the photograph; the mask is dashed")],
];

/** Calls `act` with 0 whenever `key` changes, then while there is one with 1, 2 … as the intervals pass. */
function count(ms, element, key, act) {
  let timer = 0;
  follow(element, () => {
    let n = 0;
    clearInterval(timer);
    act(0);
    if (key.value) timer = setInterval(() => (element.isConnected ? act(++n) : clearInterval(timer)), ms);
  });
}

export class Comparison {
  mode = signal("slide");
  isHidden = signal(false); // the candidate, while it blinks
  seconds = signal(0); // for which the candidate has been rendered
  at = signal(50); // percent of the width at which the slider is

  /** `shown()` gives {scene, render, name} of the candidate. */
  constructor(root, shown) {
    this.shown = computed(shown);
    const isBlinking = computed(() => this.mode.value === "blink" && this.isReady),
      rendered = computed(() => {
        const { scene, render, name } = this.shown.value;
        return render?.state === "drawing" && `${scene.photo} ${name}`;
      });
    count(BLINK_MS, root, isBlinking, (n) => (this.isHidden.value = n % 2 === 1));
    count(1000, root, rendered, (n) => (this.seconds.value = n));
  }

  get isReady() {
    return this.shown.value.render?.state === "ready";
  }

  toggleBlink() {
    if (this.isReady) this.mode.value = this.mode.value === "blink" ? "slide" : "blink";
  }

  startSlide(event) {
    if (this.mode.value !== "slide") return;
    event.currentTarget.setPointerCapture(event.pointerId);
    this.slide(event);
  }

  slide({ currentTarget, pointerId, clientX }) {
    if (!currentTarget.hasPointerCapture(pointerId)) return;
    const { left, width } = currentTarget.getBoundingClientRect();
    this.at.value = Math.min(100, Math.max(0, ((clientX - left) / width) * 100));
  }

  picture() {
    const { scene, render, name } = this.shown.value,
      { isReady } = this,
      mode = this.mode.value;
    return html`<div class=${classes("compare", isReady && "ready", this.isHidden.value && "blink-hidden")}
      data-mode=${mode} style=${`aspect-ratio:${scene.aspect};--at:${this.at.value}%`}
      onpointerdown=${(event) => this.startSlide(event)} onpointermove=${(event) => this.slide(event)}>
      <img class="photo" src=${scene.photo} alt=${t("The photograph")} draggable=${false} />
      <div class="after cover">
        <img class="background" src=${scene.background || undefined} alt="" draggable=${false} />
        <img class="candidate" src=${isReady ? render.image : undefined} alt="" draggable=${false} />
      </div>
      <svg viewBox="0 0 1 1" preserveAspectRatio="none">
        ${mode === "outline" && isReady && [...paths(scene.outline, "mask"), ...paths(render.outline, "shown")]}
      </svg>
      <div class="handle"><span>⇔</span></div>
      <span class="label left clip">${t("Photograph")}</span>
      <span class="label right clip">${isReady && name}</span>
      <div class="note">${this.note()}</div>
    </div>`;
  }

  // Why there is no picture, or for how long it has been rendered.
  note() {
    const { render } = this.shown.value,
      seconds = this.seconds.value;
    if (render?.state !== "drawing") return render?.why;
    return html`<span class="spin" />${this.rendering()}
      <span class="seconds">${seconds > 1 && ` ${seconds} s`}</span>`;
  }

  rendering() {
    const { name } = this.shown.value;
    return t("Rendering {name} …", { name: name === FROM_VIEW ? t("the reconstruction") : name });
  }

  modes() {
    const { render } = this.shown.value,
      obstacle = render?.state === "drawing" ? this.rendering() : render?.why || t("No candidate rendered yet");
    return html`<div class="modes" role="group" aria-label=${t("Comparison mode")}>
      ${MODES.map(([name, text, title]) => {
        const isOn = this.mode.value === name;
        return html`<button class=${isOn && "on"} disabled=${!this.isReady} title=${this.isReady ? title : obstacle}
          aria-pressed=${isOn} onclick=${() => (this.mode.value = name)}>
          ${text}${name === "blink" && html`<kbd>B</kbd>`}</button>`;
      })}
    </div>`;
  }
}

const paths = (polygons, name) =>
  polygons.map((points) => html`<path class=${name} d=${`M${points.map((point) => point.join(" ")).join("L")}Z`} />`);
