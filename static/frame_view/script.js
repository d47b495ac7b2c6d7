// The frame: its colours and depths, read under the pointer, what is known about it, the surface and the camera.
import { CameraForm } from "/static/frame_view/camera.js";
import { drawCross, drawOutline, paintDepth } from "/static/frame_view/drawing.js";
import { groundChoice } from "/static/frame_view/ground.js";
import { TickBox } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { follow, html, mounts, Placed, signal, View } from "/static/studio/view.js";

class FrameView extends View {
  loaded = signal(/** @type {any} */ (null)); // {address, image, depth, near, far, pixels} of the frame
  showsTable = signal(true);
  preview = signal(/** @type {any} */ (null)); // the ground whose choice the pointer is on
  pointer = signal(/** @type {number[] | null} */ (null)); // its place in a picture, in shares of the sides
  form = new CameraForm((numbers) => this.send("camera", numbers));
  colour = this.canvas(t("Colour"));
  depth = this.canvas(t("Depth"));
  address = "";
  camera = "";

  constructor(context) {
    super(context);
    this.onValue((value) => this.takeValue(value));
    follow(this.root, () => this.drawColour());
    follow(this.root, () => this.drawDepth());
  }

  canvas(label) {
    const canvas = document.createElement("canvas");
    canvas.setAttribute("aria-label", label);
    canvas.addEventListener("pointermove", ({ clientX, clientY }) => {
      const { left, top, width, height } = canvas.getBoundingClientRect();
      this.pointer.value = [(clientX - left) / width, (clientY - top) / height];
    });
    canvas.addEventListener("pointerleave", () => {
      this.pointer.value = null;
    });
    return canvas;
  }

  async takeValue({ image: address, depth, width, height, camera }) {
    const cameraText = JSON.stringify(camera);
    this.preview.value = null; // the pointer need not leave the choice that a value replaces
    if (address !== this.address || cameraText !== this.camera) this.form.typed.value = {};
    this.camera = cameraText;
    if (address === this.address) return;
    this.address = address;
    this.loaded.value = null;
    if (!address) return;
    for (const canvas of [this.colour, this.depth]) Object.assign(canvas, { width, height });
    const image = Object.assign(new Image(), { src: address }),
      [bytes] = await Promise.all([fetch(depth).then((answer) => answer.arrayBuffer()), image.decode()]),
      depths = new Float32Array(bytes);
    if (address !== this.address) return; // another frame, or none, is shown by now
    this.loaded.value = { image, depth: depths, ...paintDepth(depths, width, height) };
  }

  // The pixel under the pointer.
  get pixel() {
    const { width, height } = this.value;
    if (!this.loaded.value || !this.pointer.value) return null;
    return this.pointer.value.map((share, axis) => {
      const side = [width, height][axis];
      return Math.min(side - 1, Math.max(0, Math.floor(share * side)));
    });
  }

  drawColour() {
    const { image, width, table, shelves = [] } = this.value;
    if (!image || !this.loaded.value) return;
    const context = this.colour.getContext("2d");
    context.drawImage(this.loaded.value.image, 0, 0);
    for (const outline of this.showsTable.value ? [table, ...shelves] : [])
      if (outline.length) drawOutline(context, outline, "#0072b2", width);
    if (this.preview.value) drawOutline(context, this.preview.value.outline, "#d55e00", width);
    if (this.pixel) drawCross(context, this.pixel, width);
  }

  drawDepth() {
    if (!this.loaded.value) return;
    const context = this.depth.getContext("2d");
    context.putImageData(this.loaded.value.pixels, 0, 0);
    if (this.pixel) drawCross(context, this.pixel, this.value.width);
  }

  template() {
    const { image, facts, notes, grounds } = this.value;
    if (!image) return null;
    return html`<div class="pair">
        <figure><${Placed} element=${this.colour} /><figcaption>${t("Colour")}
          <${TickBox} label=${t("Table outline")} checked=${this.showsTable.value}
            onChange=${(isTicked) => (this.showsTable.value = isTicked)} /></figcaption></figure>
        <figure><${Placed} element=${this.depth} /><figcaption class="scale">${this.scale()}</figcaption></figure>
      </div>
      <div class="readout" role="status">${this.loaded.value && this.readout()}</div>
      <div class="facts">${facts.map(([key, text]) => html`<div><span class="key">${key}</span>${text}</div>`)}</div>
      ${notes.map((note) => html`<p class="warning">${note}</p>`)}
      ${groundChoice(grounds, {
        onPreview: (ground) => (this.preview.value = ground),
        onChoose: (chosen) => this.send("ground", chosen),
      })}
      ${this.form.template(this.value)}`;
  }

  scale() {
    if (!this.loaded.value) return t("Depth");
    const { near, far } = this.loaded.value;
    return html`<span>${near.toFixed(2)} m</span><i /><span>${far.toFixed(2)} m</span>
      <span class="faint">${t("Hatched: no depth")}</span>`;
  }

  readout() {
    const { width, intrinsics, plane } = this.value;
    if (!this.pixel)
      return html`<span class="faint">${t("Hover over a picture to read depth and height above the table.")}</span>`;
    const [x, y] = this.pixel,
      z = this.loaded.value.depth[y * width + x];
    return html`<span>x ${x}  y ${y}</span><strong>${z ? `${z.toFixed(3)} m` : t("no depth")}</strong>
      <span>${z > 0 && plane && heightText(plane, intrinsics, x, y, z)}</span>`;
  }
}

function heightText([a, b, c, d], { fx, fy, cx, cy }, x, y, z) {
  const above = ((a * (x - cx)) / fx) * z + ((b * (y - cy)) / fy) * z + c * z + d;
  return t("{height} cm above the table", { height: (above * 100).toFixed(1).replace(/^-0\.0$/, "0.0") });
}

export default mounts(FrameView);
