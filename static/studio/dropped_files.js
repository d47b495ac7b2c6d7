// Collects files from a drop (folders included) or a file dialogue, and uploads them.
import { t } from "./texts.js";

const MAX_FILE_BYTES = 400 * 2 ** 20;

// Returns [{file, name}] of everything dropped; names are relative to the dropped folder.
export async function filesOfDrop(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return filesOfInput(transfer.files);
  return (await Promise.all(entries.map((entry) => filesOfEntry(entry)))).flat();
}

export const filesOfInput = (files) => [...files].map((file) => ({ file, name: file.webkitRelativePath || file.name }));

async function filesOfEntry(entry, folder = "") {
  const name = folder + entry.name;
  if (entry.isFile) return [{ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), name }];
  const reader = entry.createReader(),
    entries = [];
  for (;;) {
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!batch.length) return (await Promise.all(entries.map((child) => filesOfEntry(child, `${name}/`)))).flat();
    entries.push(...batch);
  }
}

// Uploads the files and calls onProgress(uploaded, total); returns [{path, name}]. Throws an Error whose message is shown
// to the user; `command` takes what is too large for a browser.
export async function uploadFiles(files, upload, onProgress, command) {
  const tooLarge = files.find(({ file }) => file.size > MAX_FILE_BYTES);
  if (tooLarge)
    throw new Error(t("{name} is larger than 0.4 GB. Reduce it, or run: {command}", { name: tooLarge.name, command }));
  const uploaded = [];
  for (const { file, name } of files) {
    onProgress(uploaded.length, files.length);
    const { path } = await upload(file).catch(() => {
      throw new Error(t("{name} could not be uploaded. Try again.", { name }));
    });
    uploaded.push({ path, name });
  }
  return uploaded;
}
