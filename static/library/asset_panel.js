// Panel with one asset: 3D preview, properties with their sources, and fields to edit them.
import { AssetFacts } from "/static/library/asset_facts.js";
import { Chip } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { batch, classes, html, signal } from "/static/studio/view.js";

const BODY_NAME = "asset"; // name of its body in the preview model

export class AssetPanel {
  isOpen = signal(false);
  asset = signal(/** @type {any} */ (null));
  fault = signal(""); // why there is no asset
  preview = signal(/** @type {any} */ (null)); // {view, inertia, doubt}
  overlay = signal(""); // text over the preview
  isBusy = signal(false);
  drafts = signal(/** @type {Record<string, string>} */ ({})); // what is typed but not saved, by field
  token = null; // of the preview in the frame

  /** `ask` sends a request, `onEdited` gets the answer to an edit, `onClose` closes, `onUse` gives it to an object. */
  constructor({ ask, onEdited, onClose, onUse }) {
    this.ask = ask;
    this.onEdited = onEdited;
    this.onClose = onClose;
    this.onUse = onUse;
    addEventListener("message", ({ source, origin, data }) => {
      if (source !== this.frame?.contentWindow || origin !== location.origin || data?.type !== "loaded") return;
      // Selected, so that the viewer shows its joint sliders.
      if (this.asset.value?.joints.length)
        /** @type {Window} */ (source).postMessage({ type: "select", name: BODY_NAME }, origin);
    });
  }

  get id() {
    return this.isOpen.value ? (this.asset.value?.id ?? "") : "";
  }

  async show(id) {
    this.isOpen.value = true;
    // Emptied, so that nobody types into the previous asset's fields.
    if (this.id !== id) this.asset.value = null;
    this.wantedId = id;
    const asset = await this.ask({ kind: "asset", id });
    if (this.wantedId !== id) return;
    const isSame = this.asset.value?.digest === asset.digest && this.token;
    batch(() => {
      this.fault.value = asset.error ?? "";
      this.asset.value = asset.error ? null : asset;
      this.drafts.value = {};
      if (!isSame) this.preview.value = null;
    });
    if (asset.error) this.token = null;
    else if (!isSame) this.showPreview(id);
  }

  async showPreview(id) {
    this.overlay.value = t("Loading preview …");
    const preview = await this.ask({ kind: "preview", id });
    if (this.asset.value?.id !== id) return;
    this.token = preview.view ?? null;
    this.overlay.value = preview.error ?? "";
    if (preview.error) return this.frame.removeAttribute("src");
    this.preview.value = preview;
    if (this.frame.getAttribute("src")?.startsWith("/viewer/"))
      this.frame.contentWindow.postMessage({ type: "load", token: preview.view }, location.origin);
    else this.frame.src = `/viewer/?standalone#${preview.view}`;
  }

  hide() {
    this.isOpen.value = false;
  }

  async change(request) {
    const { id, name } = this.asset.value;
    this.isBusy.value = true;
    const answer = await this.ask({ ...request, id });
    if (request.kind === "remove" && !answer.error) {
      answer.note = [t("{name} removed. You can undo it.", { name }), answer.note].filter(Boolean).join(" ");
      this.onClose();
    }
    await this.onEdited(answer);
    this.isBusy.value = false;
    if (answer.error) this.drafts.value = {};
  }

  // ---------------------------------------------------------------- what is shown

  /** `target` is the object of the open project that it may be used for: {id, words, colour, asset_id}, or null. */
  template(target) {
    const asset = this.asset.value,
      isBusy = this.isBusy.value;
    return html`<aside class=${classes("asset", isBusy && "busy")} hidden=${!this.isOpen.value} inert=${isBusy}>
      <div class="asset-head flow">${this.head(asset)}</div>
      ${this.scene(asset)}
      <div class="facts">
        ${this.fault.value && html`<p class="fault">${this.fault.value}</p>`}
        ${asset && html`<${AssetFacts} panel=${this} asset=${asset} />`}
      </div>
      <div class="asset-actions flow">${asset && [target && this.use(asset, target), asset.own && this.remove(asset)]}</div>
    </aside>`;
  }

  head(asset) {
    const close = html`<button class="studio-button plain" aria-label=${t("Close the asset")} title=${t("Close")}
      onclick=${() => this.onClose()}>✕</button>`;
    if (this.fault.value) return html`<strong>${t("Asset not found")}</strong>${close}`;
    if (!asset) return null;
    return html`${this.textField("name", asset.name, { "aria-label": t("Name"), class: "name" })}
      <span class="busy-note" role="status"><i class="spin" />${t("Saving …")}</span>
      ${close}`;
  }

  scene(asset) {
    const hasJoints = asset?.joints.length > 0; // makes room for the joint sliders
    return html`<div class=${classes("scene", hasJoints && "articulated")} hidden=${Boolean(this.fault.value)}>
      <iframe class="preview" title=${t("3D preview")} ref=${(frame) => (this.frame = frame)} />
      <p class="overlay cover" hidden=${!this.overlay.value}>${this.overlay.value}</p>
    </div>`;
  }

  use(asset, target) {
    const object = html`<${Chip} object=${target} /> ${target.words}`;
    if (target.asset_id === asset.id) return html`<span class="muted">${t("Used for")} ${object}</span>`;
    return html`<button class="studio-button primary" data-act="use" data-sends="library.decide"
      onclick=${() => this.onUse(target, asset)}>${t("Use for")} ${object}</button>`;
  }

  remove({ version }) {
    return html`<button class="studio-button" data-act="remove" title=${t("Remove from the library. You can undo it.")}
      data-sends="library.remove" onclick=${() => this.change({ kind: "remove" })}>
      ${version ? t("Remove my version") : t("Remove from library")}</button>`;
  }

  // ---------------------------------------------------------------- fields

  /** Attributes of a field: its text is the asset's, or what is typed, which `save(text)` gets when it is left. */
  field(key, text, save) {
    return {
      value: this.drafts.value[key] ?? text,
      oninput: ({ target }) => (this.drafts.value = { ...this.drafts.value, [key]: target.value }),
      onchange: ({ target }) => target.value.trim() !== text && save(target.value.trim()),
      onkeydown: (event) => {
        if (event.key === "Enter" && event.target.matches("input")) event.target.blur();
        if (event.key !== "Escape") event.stopPropagation();
      },
    };
  }

  /** A field for one of the asset's own texts. */
  textField(key, text, attributes) {
    const save = (value) => this.change({ kind: "change", values: { [key]: value } });
    return html`<input spellcheck=${false} data-sends="library.change" ...${attributes}
      ...${this.field(key, String(text ?? ""), save)} />`;
  }

  numberField(key, value, unit, label, step, save) {
    const shown = Number(value.toFixed(step < 1 ? 2 : value < 10 ? 1 : 0)),
      saveNumber = (text) => text !== "" && Number(text) !== shown && save(Number(text));
    return html`<span class="number">
      <input type="number" step=${step} min="0" aria-label=${label} ...${this.field(key, String(shown), saveNumber)} />
      ${unit && ` ${unit}`}
    </span>`;
  }
}
