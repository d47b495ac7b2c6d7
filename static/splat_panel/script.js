// The Gaussian splats that draw the background and objects of the twin: a file for each, shown with its source.
import { uploadFiles } from "/static/studio/dropped_files.js";
import { fileButton } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { html, mounts, signal, View } from "/static/studio/view.js";

const SENDS = {
  "data-sends": "splat-panel.choose",
  title: t("A .ply of 3DGS, .spz or .splat. Collisions stay as they are"),
};
const ABOUT = [
  ["photo", t("background, from the photograph's camera")],
  ["world", t("background, in the twin's axes")],
];

class SplatPanel extends View {
  sending = signal(""); // what the upload is doing, or why it failed

  async choose(files) {
    const [place, object] = this.root.querySelector("select").value.split(" ");
    try {
      const tell = () => (this.sending.value = t("Uploading the splats …"));
      const sent = await uploadFiles(files, this.upload, tell, "grs-studio splats");
      this.sending.value = "";
      this.send("choose", { files: sent, object: object ?? "", place });
    } catch (error) {
      this.sending.value = /** @type {Error} */ (error).message;
    }
  }

  template() {
    const { objects, chosen } = this.value;
    if (!objects) return null;
    return html`<p class="row">
        ${fileButton(t("Draw by splats …"), (files) => this.choose(files), { accept: ".ply,.spz,.splat" }, SENDS)}
        <select aria-label=${t("What the splats draw")}>
          ${ABOUT.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
          ${objects.map(({ name, words }) => html`<option value=${`object ${name}`}>${words}</option>`)}
        </select>
        <span role="status">${this.sending.value}</span>
      </p>
      ${objects.filter(({ name, made }) => made && !chosen.some(({ object }) => object === name)).map((one) => this.made(one))}
      ${chosen.map((one) => this.row(one))}`;
  }

  made({ name, words }) {
    return html`<p class="row" key=${name}><strong>${words}</strong>
      <button class="studio-button" data-sends="splat-panel.choose_made"
        onclick=${() => this.send("choose_made", { object: name })}>${t("Draw by the service's splats")}</button></p>`;
  }

  row({ object, words, name, source }) {
    const label = t("Remove the splats {name}", { name });
    return html`<p class="row" key=${object}>
      <strong>${object ? words : t("Background")}</strong><span>${name}</span>
      <span class="source">${source}</span>
      <button class="studio-button" data-sends="splat-panel.remove" title=${label} aria-label=${label}
        onclick=${() => this.send("remove", { object })}>✕</button>
    </p>`;
  }
}

export default mounts(SplatPanel);
