// Masks taken away as files, and files of masks taken in.
import { fill, h } from "/static/studio/dom.js";

const FORMS = [
  ["coco", "COCO", "one JSON file with run lengths"], ["cvat", "CVAT", "zip for \"COCO 1.0\""], ["label-studio", "Label Studio", "zip: tasks with brush masks, labels"],
  ["labels", "Label image", "one PNG, 16 bit, value = number"], ["images", "An image an object", "zip of black and white PNGs"],
];

// `ask(question)` answers; `said(text, bad)` is shown; `taken()` is called when the masks are others than before.
export function files(ask, said, taken) {
  const input = h("input", { type: "file", hidden: true, accept: ".json,.zip,.png,.tif,.tiff", "aria-label": "A file of masks" });
  const element = h("details.menu", { "data-menu": "files" }, h("summary.studio-button", { title: "Masks as files" }, "Export, import"));
  const away = async (form) => {
    element.open = false;
    const { name, data, error } = await ask({ kind: "export", form });
    if (error) return said(error, true);
    const url = URL.createObjectURL(new Blob([bytes(data)]));
    h("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    said(`${name} is on its way to your downloads.`);
  };
  input.addEventListener("change", async () => {
    const [file] = input.files;
    input.value = "";
    if (!file) return;
    element.open = false;
    said(`Reading ${file.name} …`);
    const { said: text, error } = await ask({ kind: "import", data: await base64(file) });
    said(error ?? text, Boolean(error));
    if (!error) taken();
  });
  element.append(h("div.sheet", {}, h("p.title", {}, "Take the masks away as"),
    FORMS.map(([form, name, note]) => h("button.choice", { "data-form": form, onclick: () => away(form) }, h("span", {}, h("strong", {}, name), h("span.note", {}, note)))),
    h("p.title", {}, "Take masks in"), h("button.studio-button", { "data-act": "import", onclick: () => input.click() }, "Choose a file …"),
    h("p.note", {}, "Any of these; they replace all masks of this frame, and undo brings those back."), input));
  return element;
}

const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
const base64 = (file) => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = failed;
  reader.readAsDataURL(file);
});
