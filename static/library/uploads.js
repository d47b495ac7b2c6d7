// What may be chosen for or dropped on the library: models, or a picture to search by.
import { uploadFiles } from "/static/studio/dropped_files.js";
import { t } from "/static/studio/texts.js";

const PICTURE = /\.(png|jpe?g|webp)$/i,
  MODEL = /\.(glb|gltf|obj|stl|ply|urdf|xml|mjcf|zip)$/i;

// The picture to search by if exactly one picture was given, else null.
export const singlePicture = (files) => (files.length === 1 && PICTURE.test(files[0].name) ? files[0].file : null);

// Uploads files with a model among them, as uploadFiles.
export async function uploadModels(files, upload, onProgress) {
  if (!files.some(({ name }) => MODEL.test(name)))
    throw new Error(
      t("None of these files is a model. Drop .glb, .obj, .stl, .ply, .urdf, MJCF .xml, a folder or a .zip of them."),
    );
  return uploadFiles(files, upload, onProgress, "grs-studio library add");
}
