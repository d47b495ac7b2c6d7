// Exports masks as files and imports them.
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

const FORMATS = [
  ["coco", "COCO", t("one JSON file with run lengths")],
  ["cvat", "CVAT", t('zip for "COCO 1.0"')],
  ["label-studio", "Label Studio", t("zip: tasks with brush masks, labels")],
  ["labels", t("Label image"), t("one PNG, 16 bit, value = number")],
  ["images", t("One image per object"), t("zip of black and white PNGs")],
];

export class ImportExport {
  /** @type {HTMLDetailsElement} */
  menu = null;

  /**
   * @param {(request: object) => Promise<any>} ask
   * @param {{say: (text: string, isError: boolean) => void, imported: () => void}} handlers
   */
  constructor(ask, handlers) {
    this.ask = ask;
    this.handlers = handlers;
  }

  async #export(form) {
    this.menu.open = false;
    const { name, data, error } = await this.ask({ kind: "export", form });
    if (error) return this.handlers.say(error, true);
    const url = URL.createObjectURL(new Blob([bytes(data)]));
    Object.assign(document.createElement("a"), { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    this.handlers.say(t("{name} downloaded.", { name }), false);
  }

  async #import(input) {
    const [file] = input.files;
    if (!file) return;
    this.menu.open = false;
    this.handlers.say(t("Reading {name} …", { name: file.name }), false);
    const data = await base64(file);
    input.value = "";
    const { message, error } = await this.ask({ kind: "import", data });
    this.handlers.say(error ?? message, Boolean(error));
    if (!error) this.handlers.imported();
  }

  template() {
    const choose = () => this.menu.querySelector("input").click();
    return html`<details class="menu" data-menu="files" ref=${(menu) => (this.menu = menu)}>
      <summary class="studio-button" title=${t("Export or import masks")}>${t("Export / import")}</summary>
      <div class="sheet">
        <p class="title">${t("Export masks as")}</p>
        ${FORMATS.map(
          ([form, name, note]) => html`<button class="list-row choice" data-form=${form}
          onclick=${() => this.#export(form)}><span><strong>${name}</strong><span class="note">${note}</span></span>
        </button>`,
        )}
        <p class="title">${t("Import masks")}</p>
        <button class="studio-button" data-act="import" data-sends="mask-canvas.import" onclick=${choose}>
          ${t("Choose a file …")}</button>
        <p class="note">${t("Any of these formats. Replaces all masks of this frame; you can undo it.")}</p>
        <input type="file" hidden accept=".json,.zip,.png,.tif,.tiff" aria-label=${t("Mask file")}
          onchange=${({ target }) => this.#import(target)} />
      </div>
    </details>`;
  }
}

const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
const base64 = (file) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).slice(String(reader.result).indexOf(",") + 1));
    reader.onerror = reject;
    reader.readAsDataURL(file);
  });
