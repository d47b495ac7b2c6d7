// The library page: search, inspect, edit and import assets. See components/library_page.py.
import { fileButton } from "/static/studio/parts.js";
import { AssetPanel } from "/static/library/asset_panel.js";
import { AssetSearch } from "/static/library/search.js";
import { ImportJobs } from "/static/library/import_jobs.js";
import { closeLibrary, libraryOpen, onLibrary } from "/static/library/library_state.js";
import { Packs } from "/static/library/packs.js";
import { singlePicture, uploadModels } from "/static/library/uploads.js";
import { cover } from "/static/studio/covering.js";
import { closeDrawer, onDrawer } from "/static/studio/drawer.js";
import { filesOfDrop } from "/static/studio/dropped_files.js";
import { COVER, shortcuts } from "/static/studio/keyboard.js";
import { selected } from "/static/studio/selection.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";
import { classes, html, mounts, signal, View } from "/static/studio/view.js";

const NOTE_MS = 7000;
const MODELS = ".glb,.gltf,.obj,.mtl,.stl,.ply,.urdf,.xml,.mjcf,.zip,.png,.jpg,.jpeg,.bin";

class Library extends View {
  note = signal({ text: "", isError: false });
  isUploading = false;
  mayUndo = false; // whether the last that a person did here was an edit of the library
  dragDepth = 0;

  constructor(context) {
    super(context);
    const ask = asker(this.server, () => ({ page_token: this.value.page_token, token: this.value.token }));
    const openAsset = (id) => this.openAsset(id),
      showNote = (text, isError) => this.showNote(text, isError);
    this.ask = ask;
    this.search = new AssetSearch({ ask, digest: () => this.value.digest, showNote, onOpen: openAsset });
    this.panel = new AssetPanel({
      ask,
      onEdited: (answer) => this.takeEdit(answer),
      onClose: () => this.closeAsset(),
      onUse: (object, asset) => this.use(object, asset),
    });
    this.jobs = new ImportJobs({
      root: this.root,
      ask,
      onFinished: () => {
        this.send("changed");
        this.search.find(true);
      },
      onOpen: openAsset,
    });
    this.packs = new Packs({ ask, onStarted: (answer) => this.takeImport(answer) });
    this.listen();
  }

  listen() {
    const { root } = this;
    for (const name of ["dragenter", "dragover", "dragleave", "drop"])
      root.addEventListener(name, (event) => this.onDrag(event));
    const isOn = libraryOpen;
    shortcuts(root, { title: t("Library"), keys: () => this.keys(), isOn, rank: COVER, holdsKeys: true });
    onLibrary(root, (request) => this.open(request));
    onDrawer(root, (page) => page && closeLibrary()); // drawer and library are never open together
    this.onValue((value, before) => this.takeValue(value, before));
  }

  takeValue(value, { token, page_token }) {
    if (!libraryOpen()) return;
    if (token !== undefined && token !== value.token) closeLibrary();
    else if (page_token !== value.page_token || this.search.isOutdated()) this.search.find(true);
  }

  open(request) {
    this.root.hidden = !request;
    if (!request) return cover(null);
    closeDrawer();
    this.jobs.look();
    const alike = this.objects.find((one) => one.id === request.like?.object);
    if (alike) this.searchLike(alike);
    else if (!this.search.results.value || this.search.isOutdated()) this.search.find();
    if (request.asset) this.openAsset(request.asset);
    if (request.page === "packs") this.packs.show();
    this.search.field.focus();
    cover(this.root);
  }

  get objects() {
    return this.value.objects ?? [];
  }

  // The object of the open project that an asset may be used for.
  get target() {
    return this.objects.find((one) => one.id === selected()) ?? null;
  }

  showNote(text, isError = false) {
    this.note.value = { text, isError };
    clearTimeout(this.noteTimer);
    if (text && !isError) this.noteTimer = setTimeout(() => this.showNote(""), NOTE_MS);
  }

  openAsset(id) {
    this.search.grid.chosen.value = id;
    this.panel.show(id);
  }

  closeAsset() {
    this.panel.hide();
    this.search.grid.chosen.value = "";
  }

  searchLike(object) {
    const { id, crop, words } = object;
    this.search.searchByImage({ request: { object: id, token: this.value.token }, image: crop, text: words });
  }

  async searchLikePicture(file) {
    const { path } = await this.upload(file).catch(() => ({}));
    if (!path) return this.showNote(t("{name} could not be uploaded.", { name: file.name }), true);
    this.search.searchByImage({ request: { picture: path }, image: URL.createObjectURL(file), text: file.name });
  }

  // ---------------------------------------------------------------- edits

  use(object, asset) {
    this.mayUndo = false;
    this.send("decide", { kind: "choose_asset", id: object.id, asset_id: asset.id });
    this.showNote(t("{object} now uses {asset}. Ctrl Z undoes this.", { object: object.words, asset: asset.name }));
  }

  async takeEdit(answer) {
    if (answer.error) return this.showNote(answer.error, true);
    const { undo, undone, note } = answer;
    this.mayUndo = true;
    this.search.setUndo(undo); // at once, before the library has been searched again
    this.showNote([undone && t("Undone: {undone}.", { undone }), note].filter(Boolean).join(" "));
    this.send("changed");
    const openId = this.panel.id;
    await this.search.find(true);
    if (openId) await this.panel.show(openId);
  }

  async undoLast() {
    this.takeEdit(await this.ask({ kind: "undo" }));
  }

  // ---------------------------------------------------------------- imports

  async importFiles(files) {
    if (!files.length || this.isUploading) return;
    const picture = singlePicture(files);
    if (picture) return this.searchLikePicture(picture);
    this.isUploading = true;
    try {
      const uploaded = await uploadModels(files, this.upload, (done, of) =>
        this.showNote(t("Uploading {done} of {of} files …", { done, of })),
      );
      this.showNote("");
      this.takeImport(await this.ask({ kind: "import", files: uploaded }));
    } catch (/** @type {any} */ error) {
      this.showNote(error.message, true);
    }
    this.isUploading = false;
  }

  takeImport(answer) {
    answer.error ? this.showNote(answer.error, true) : this.jobs.update(answer);
    this.jobs.look();
  }

  async onDrag(event) {
    if (event.type !== "dragleave") event.preventDefault();
    if (event.type === "dragenter") this.dragDepth++;
    if (event.type === "dragleave") this.dragDepth = Math.max(0, this.dragDepth - 1);
    if (event.type === "drop") this.dragDepth = 0;
    this.root.classList.toggle("dropping", this.dragDepth > 0);
    if (event.type === "drop") this.importFiles(await filesOfDrop(event.dataTransfer));
  }

  // ---------------------------------------------------------------- keys

  keys() {
    const undo = this.mayUndo && this.search.results.value?.undo;
    return {
      "/": { help: t("search"), act: () => this.search.field.focus() },
      ...(undo && {
        "mod+z": { name: t("Ctrl-Z"), help: t("undo"), act: (event) => event.shiftKey || this.undoLast() },
      }),
      Escape: { name: t("Esc"), help: t("close"), act: () => this.closeFront() },
    };
  }

  closeFront() {
    if (this.packs.isOpen.value) this.packs.hide();
    else if (this.panel.isOpen.value) this.closeAsset();
    else closeLibrary();
  }

  // ---------------------------------------------------------------- what is shown

  template() {
    const { text, isError } = this.note.value;
    return html`<div class="full-page-head">${this.head()}</div>
      <p class=${classes("message", isError && "bad")} hidden=${!text}>
        ${text}
        <button class="studio-button plain" aria-label=${t("Dismiss")} onclick=${() => this.showNote("")}>✕</button>
      </p>
      ${this.jobs.template()}
      ${this.packs.template()}
      <div class="full-page-body">
        ${this.search.filters.template()}
        ${this.search.template()}
        ${this.panel.template(this.target)}
      </div>
      <div class="drop-target"><p>${t("Drop a model to import it, or a picture to search by it")}</p></div>`;
  }

  head() {
    const title = t("PNG or JPEG of one object. You can also drop it here."),
      search = ([{ file }]) => this.searchLikePicture(file);
    return html`<h2>${t("Library")}</h2>
      ${this.search.head(this.target, () => this.searchLike(this.target))}
      ${fileButton(t("Search by picture …"), search, { accept: "image/*" }, { title })}
      <span class="right flow">
        <span>${this.search.results.value?.undo && this.undoButton(this.search.results.value)}</span>
        ${this.importer(t("Import files …"), { accept: MODELS })}
        ${this.importer(t("Import folder …"), { webkitdirectory: true })}
        <button class="studio-button" data-act="packs" onclick=${() => this.packs.show()}>${t("Packs …")}</button>
        <button class="studio-button plain" title=${t("Close (Esc)")} aria-label=${t("Close the library")}
          onclick=${closeLibrary}>✕</button>
      </span>`;
  }

  undoButton({ undo }) {
    return html`<button class="studio-button plain" title=${t("Undo: {undo}", { undo })} data-act="undo"
      onclick=${() => this.undoLast()}>${t("↶ Undo")}</button>`;
  }

  importer(label, attributes) {
    const importFiles = (files) => this.importFiles(files);
    return fileButton(label, importFiles, { multiple: true, ...attributes }, { "data-sends": "library.import" });
  }
}

export default mounts(Library);
