// Files on their way in: from a drop, with folders as they are, or from a file dialogue.
const LARGEST = 400 * 2 ** 20, PICTURE = /\.(png|jpe?g|webp)$/i, MODEL = /\.(glb|gltf|obj|stl|ply|urdf|xml|mjcf|zip)$/i;

// [{file, name}] of everything dropped; names are relative to what was dropped.
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return chosen(transfer.files);
  return (await Promise.all(entries.map((entry) => below(entry)))).flat();
}

export const chosen = (files) => [...files].map((file) => ({ file, name: file.webkitRelativePath || file.name }));

async function below(entry, before = "") {
  const name = before + entry.name;
  if (entry.isFile) return [{ file: await new Promise((done, failed) => entry.file(done, failed)), name }];
  const reader = entry.createReader(), found = [];
  for (;;) {
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) return (await Promise.all(found.map((one) => below(one, `${name}/`)))).flat();
    found.push(...some);
  }
}

// A picture to look for, if that is all there is.
export const pictureOf = (files) => (files.length === 1 && PICTURE.test(files[0].name) ? files[0].file : null);

// Sends the files and tells how many have arrived; throws an Error whose message is for the person.
export async function sent(files, upload, told) {
  if (!files.some(({ name }) => MODEL.test(name))) throw new Error("There is no model among these files; drop .glb, .obj, .stl, .ply, .urdf, MJCF .xml, a folder or a .zip of them.");
  const large = files.find(({ file }) => file.size > LARGEST);
  if (large) throw new Error(`${large.name} has ${(large.file.size / 1e9).toFixed(1)} GB; at most 0.4 GB are taken here. Thin it first, or use: grs-studio library add`);
  const arrived = [];
  for (const { file, name } of files) {
    told(arrived.length, files.length);
    const { path } = await upload(file).catch(() => { throw new Error(`${name} could not be sent.`); });
    arrived.push({ path, name });
  }
  return arrived;
}
