// Exports masks as files and imports them.
import { h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const FORMATS = [
  ["coco", "COCO", t("one JSON file with run lengths")],
  ["cvat", "CVAT", t('zip for "COCO 1.0"')],
  ["label-studio", "Label Studio", t("zip: tasks with brush masks, labels")],
  ["labels", t("Label image"), t("one PNG, 16 bit, value = number")],
  ["images", t("One image per object"), t("zip of black and white PNGs")],
];

// `ask(request)` returns the answer, `showMessage(text, isError)` shows a text, `onImported()` follows an import.
export function importExportMenu(ask, showMessage, onImported) {
  const input = h("input", {
    type: "file",
    hidden: true,
    accept: ".json,.zip,.png,.tif,.tiff",
    "aria-label": t("Mask file"),
  });
  const element = h(
    "details.menu",
    { "data-menu": "files" },
    h("summary.studio-button", { title: t("Export or import masks") }, t("Export / import")),
  );
  const exportMasks = async (format) => {
    element.open = false;
    const { name, data, error } = await ask({ kind: "export", form: format });
    if (error) return showMessage(error, true);
    const url = URL.createObjectURL(new Blob([bytes(data)]));
    h("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    showMessage(t("{name} downloaded.", { name }));
  };
  input.addEventListener("change", async () => {
    const [file] = input.files;
    input.value = "";
    if (!file) return;
    element.open = false;
    showMessage(t("Reading {name} …", { name: file.name }));
    const { message, error } = await ask({ kind: "import", data: await base64(file) });
    showMessage(error ?? message, Boolean(error));
    if (!error) onImported();
  });
  element.append(
    h(
      "div.sheet",
      {},
      h("p.title", {}, t("Export masks as")),
      FORMATS.map(([format, name, note]) =>
        h(
          "button.list-row.choice",
          { "data-form": format, onclick: () => exportMasks(format) },
          h("span", {}, h("strong", {}, name), h("span.note", {}, note)),
        ),
      ),
      h("p.title", {}, t("Import masks")),
      h(
        "button.studio-button",
        { "data-act": "import", "data-sends": "mask-canvas.import", onclick: () => input.click() },
        t("Choose a file …"),
      ),
      h("p.note", {}, t("Any of these formats. Replaces all masks of this frame; you can undo it.")),
      input,
    ),
  );
  return element;
}

const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
const base64 = (file) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = reject;
    reader.readAsDataURL(file);
  });
