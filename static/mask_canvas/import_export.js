// Exports masks as files and imports them.
import { h } from "/static/studio/dom.js";

const FORMATS = [
  ["coco", "COCO", "one JSON file with run lengths"],
  ["cvat", "CVAT", 'zip for "COCO 1.0"'],
  ["label-studio", "Label Studio", "zip: tasks with brush masks, labels"],
  ["labels", "Label image", "one PNG, 16 bit, value = number"],
  ["images", "One image per object", "zip of black and white PNGs"],
];

// `ask(request)` returns the answer, `showMessage(text, isError)` shows a text, `onImported()` follows an import.
export function importExportMenu(ask, showMessage, onImported) {
  const input = h("input", {
    type: "file",
    hidden: true,
    accept: ".json,.zip,.png,.tif,.tiff",
    "aria-label": "Mask file",
  });
  const element = h(
    "details.menu",
    { "data-menu": "files" },
    h("summary.studio-button", { title: "Export or import masks" }, "Export / import"),
  );
  const exportMasks = async (format) => {
    element.open = false;
    const { name, data, error } = await ask({ kind: "export", form: format });
    if (error) return showMessage(error, true);
    const url = URL.createObjectURL(new Blob([bytes(data)]));
    h("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    showMessage(`${name} downloaded.`);
  };
  input.addEventListener("change", async () => {
    const [file] = input.files;
    input.value = "";
    if (!file) return;
    element.open = false;
    showMessage(`Reading ${file.name} …`);
    const { message, error } = await ask({ kind: "import", data: await base64(file) });
    showMessage(error ?? message, Boolean(error));
    if (!error) onImported();
  });
  element.append(
    h(
      "div.sheet",
      {},
      h("p.title", {}, "Export masks as"),
      FORMATS.map(([format, name, note]) =>
        h(
          "button.list-row.choice",
          { "data-form": format, onclick: () => exportMasks(format) },
          h("span", {}, h("strong", {}, name), h("span.note", {}, note)),
        ),
      ),
      h("p.title", {}, "Import masks"),
      h("button.studio-button", { "data-act": "import", onclick: () => input.click() }, "Choose a file …"),
      h("p.note", {}, "Any of these formats. Replaces all masks of this frame; you can undo it."),
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
