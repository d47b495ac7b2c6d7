// The cameras that a person placed in the twin, each with its picture; a new one is where the viewer looks from.
import { hear } from "/static/studio/page_events.js";
import { TypedInput } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { html, mounts, View } from "/static/studio/view.js";

class PlacedCameras extends View {
  wanted = ""; // name of the camera whose place the viewer was asked for

  constructor(context) {
    super(context);
    this.frame = `#${context.props.viewer} iframe`;
    hear(this.root, window, "message", (event) => this.hearViewer(event));
  }

  get viewer() {
    return /** @type {HTMLIFrameElement} */ (document.querySelector(this.frame))?.contentWindow;
  }

  hearViewer({ source, origin, data }) {
    if (!this.wanted || source !== this.viewer || origin !== location.origin || data.type !== "here") return;
    const { pos, quat_wxyz, field_of_view } = data;
    this.send("place", { name: this.wanted, pos, quat_wxyz, field_of_view });
    this.wanted = "";
  }

  place() {
    this.wanted = this.root.querySelector("input").value;
    this.viewer?.postMessage({ type: "where" }, location.origin);
  }

  template() {
    const { next, cameras } = this.value;
    if (!cameras) return null;
    return html`<${TypedInput} value=${next} since=${cameras} maxlength="40" aria-label=${t("Name of the camera")} />
      <button class="studio-button" data-sends="placed-cameras.place" onclick=${() => this.place()}>
        ${t("Camera from this view")}</button>
      ${cameras.map((camera) => this.inset(camera))}`;
  }

  inset({ name, picture }) {
    const label = t("Remove the camera {name}", { name });
    return html`<figure key=${name}>
      <img src=${picture} alt=${t("The twin from the camera {name}", { name })} />
      <figcaption>${name}
        <button class="studio-button" data-sends="placed-cameras.remove" title=${label} aria-label=${label}
          onclick=${() => this.send("remove", { name })}>✕</button></figcaption>
    </figure>`;
  }
}

export default mounts(PlacedCameras);
