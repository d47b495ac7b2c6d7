// Name labels that follow the selected and the hovered object.
import * as THREE from "three";

const TOOLS_PX = 48; // the height that the tools take at the top of the view

export class Labels {
  constructor(element, renderer, views) {
    this.names = {}; // what each object is called, by name
    Object.assign(this, { renderer, views, shown: { selected: "", hovered: "", note: "" } });
    this.spans = Object.fromEntries(
      ["selected", "hovered", "note"].map((which) => {
        const span = document.createElement("span");
        span.className = which;
        element.append(span);
        return [which, span];
      }),
    );
    renderer.beforeDraw.push(() => this.#place());
  }

  set(which, name, colour = "") {
    this.shown[which] = name;
    this.spans[which].textContent =
      (this.names[name] ?? name.replaceAll("_", " ")) +
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
      if (span.hidden) continue;
      if (which === "note" && !this.twin.names.includes(name)) {
        span.style.transform = `translate(${this.renderer.size[0] / 2}px, 56px) translate(-50%, 0)`;
        continue;
      }
      const { min, max } = this.twin.boxOf(name);
      const [width, height] = this.renderer.size;
      let [x, y, right, bottom] = [0, Infinity, 0, 0];
      for (let corner = 0; corner < 8; corner++) {
        const at = new THREE.Vector3(
          corner & 1 ? min.x : max.x,
          corner & 2 ? min.y : max.y,
          corner & 4 ? min.z : max.z,
        );
        at.project(this.views.camera);
        x += (((at.x + 1) / 2) * width) / 8;
        y = Math.min(y, ((1 - at.y) / 2) * height);
        bottom = Math.max(bottom, ((1 - at.y) / 2) * height);
        right = Math.max(right, ((at.x + 1) / 2) * width);
      }
      if (which === "note") {
        this.#placeBeside(span, { left: 2 * x - right, right, middle: (y + bottom) / 2 }, width);
        continue;
      }
      span.style.transform = `translate(${x}px, ${Math.max(y - 6, TOOLS_PX + span.offsetHeight)}px) translate(-50%, -100%)`;
    }
  }
}
