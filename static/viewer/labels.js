// Name labels that follow the selected and the hovered object.
import { signal } from "../studio/view.js";
import { cornersOf } from "./twin.js";

const TOOLS_PX = 48; // the height that the tools take at the top of the view

export class Labels {
  names = signal(/** @type {Record<string, string>} */ ({})); // what each object is called, by name
  shown = { selected: "", hovered: "", note: "" };
  suffix = "";
  twin = null;

  constructor(element, renderer, views) {
    this.renderer = renderer;
    this.views = views;
    this.spans = Object.fromEntries([...element.children].map((span) => [span.className, span]));
    renderer.beforeDraw.push(() => this.#place());
  }

  set(which, name, colour = "") {
    this.shown[which] = name;
    this.spans[which].textContent =
      (this.names.value[name] ?? name.replaceAll("_", " ")) +
      (which === "selected" && this.suffix ? ` · ${this.suffix}` : "");
    this.spans[which].style.setProperty("--colour", colour);
    this.renderer.requestDraw();
  }

  /** Shows a text at an object, or at the top of the view if the object is not there; an empty text removes it. */
  setNote(name, text) {
    this.shown.note = text ? name || " " : "";
    this.spans.note.textContent = text;
    this.renderer.requestDraw();
  }

  /** Sets a text shown after the selected object's name. */
  setSuffix(suffix) {
    this.suffix = suffix;
    this.set("selected", this.shown.selected, this.spans.selected.style.getPropertyValue("--colour"));
  }

  // To the right of an object, or to its left where there is no room, so that it covers nothing that stands on it.
  #placeBeside(span, { left, right, middle }, width) {
    const onLeft = right + 14 + span.offsetWidth > width;
    span.classList.toggle("on-left", onLeft);
    const x = onLeft ? Math.max(left - 14, span.offsetWidth) : right + 14;
    span.style.transform = `translate(${x}px, ${Math.max(middle, 62)}px) translate(${onLeft ? -100 : 0}%, -50%)`;
  }

  #place() {
    for (const [which, span] of Object.entries(this.spans)) {
      const name = this.shown[which];
      span.hidden = !name || !this.twin || (which === "hovered" && name === this.shown.selected);
      if (!span.hidden) this.#placeAt(which, span, name);
    }
  }

  #placeAt(which, span, name) {
    const [width] = this.renderer.size;
    if (which === "note" && !this.twin.names.includes(name)) {
      span.style.transform = `translate(${width / 2}px, 56px) translate(-50%, 0)`;
      return;
    }
    const { x, top, right, bottom } = this.#outline(name);
    if (which === "note") this.#placeBeside(span, { left: 2 * x - right, right, middle: (top + bottom) / 2 }, width);
    else {
      const y = Math.max(top - 6, TOOLS_PX + span.offsetHeight);
      span.style.transform = `translate(${x}px, ${y}px) translate(-50%, -100%)`;
    }
  }

  /** Where an object is on the screen: its middle `x`, and its edges. */
  #outline(name) {
    const [width, height] = this.renderer.size,
      seen = cornersOf(this.twin.boxOf(name)).map((corner) => corner.project(this.views.camera)),
      across = seen.map((at) => ((at.x + 1) / 2) * width),
      down = seen.map((at) => ((1 - at.y) / 2) * height);
    return {
      x: across.reduce((sum, one) => sum + one, 0) / across.length,
      right: Math.max(0, ...across),
      top: Math.min(...down),
      bottom: Math.max(0, ...down),
    };
  }
}
