// Names that follow their objects.
import * as THREE from "three";

export class Labels {
  constructor(element, stage, views) {
    Object.assign(this, { stage, views, shown: { selected: "", hovered: "" } });
    this.spans = Object.fromEntries(["selected", "hovered"].map((which) => {
      const span = document.createElement("span");
      span.className = which;
      element.append(span);
      return [which, span];
    }));
    stage.beforeDraw.push(() => this.#place());
  }

  set(which, name, colour = "") {
    this.shown[which] = name;
    this.spans[which].textContent = name.replaceAll("_", " ");
    this.spans[which].style.setProperty("--colour", colour);
    this.stage.changed();
  }

  #place() {
    for (const [which, span] of Object.entries(this.spans)) {
      const name = this.shown[which];
      span.hidden = !name || !this.twin || (which === "hovered" && name === this.shown.selected);
      if (span.hidden) continue;
      const box = this.twin.boxOf(name);
      const top = box.getCenter(new THREE.Vector3()).setZ(box.max.z).project(this.views.camera);
      const [width, height] = this.stage.size;
      const x = ((top.x + 1) / 2) * width, y = ((1 - top.y) / 2) * height;
      span.style.transform = `translate(${x}px, ${y - 8}px) translate(-50%, -100%)`;
    }
  }
}
