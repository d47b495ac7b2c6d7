// The library page: search, inspect, edit and import assets. See components/library_page.py.
import { chip, fill, h } from "/static/studio/dom.js";
import { asker } from "/static/studio/server.js";
import { onSelect, selected } from "/static/studio/selection.js";
import { AssetPanel } from "/static/library/asset_panel.js";
import { filesOfDrop, filesOfInput } from "/static/studio/dropped_files.js";
import { singlePicture, uploadModels } from "/static/library/uploads.js";
import { Filters } from "/static/library/filters.js";
import { Grid } from "/static/library/grid.js";
import { ImportJobs } from "/static/library/import_jobs.js";
import { closeLibrary, libraryOpen, onLibrary } from "/static/library/library_state.js";
import { cover } from "/static/studio/covering.js";
import { closeDrawer, onDrawer } from "/static/studio/drawer.js";
import { Packs } from "/static/library/packs.js";
import { t } from "/static/studio/texts.js";

const SEARCH_DELAY_MS = 120,
  FIRST_PAGE = 100,
  NOTE_MS = 7000,
  INDEXING_POLL_MS = 5000;

export default function mount({ element, trigger, server, upload }) {
  const root = element.querySelector(".library");
  let value = {},
    imageQuery = null,
    results = null,
    digest = "",
    searchNumber = 0,
    timer,
    indexingTimer,
    isUploading = false,
    canUndoHere = false;
  const ask = asker(server, () => ({ page_token: value.page_token, token: value.token }));

  // Search

  const query = (offset, limit) => ({
    kind: "find",
    words: searchInput.value,
    like: imageQuery?.request ?? null,
    ...filters.query,
    offset,
    limit,
  });
  const search = async (keepScroll = false) => {
    const number = ++searchNumber;
    const answer = await ask(query(0, keepScroll ? 200 : FIRST_PAGE));
    if (number !== searchNumber) return;
    if (answer.error) {
      draw(); // shows the picture that was searched by, which a person may take away
      return showNote(answer.error, true);
    }
    results = answer;
    digest = value.digest;
    filters.setOptions(answer.facets);
    grid.show(answer, keepScroll);
    draw();
    clearTimeout(indexingTimer);
    if (answer.indexing && libraryOpen()) indexingTimer = setTimeout(() => search(true), INDEXING_POLL_MS);
  };
  const scheduleSearch = () => {
    clearTimeout(timer);
    timer = setTimeout(search, SEARCH_DELAY_MS);
  };
  const searchByImage = (next) => {
    imageQuery = next;
    search();
  };
  const searchLikeObject = (id) => {
    const one = (value.objects ?? []).find((object) => object.id === id);
    if (one) searchByImage({ request: { object: id, token: value.token }, image: one.crop, text: one.words });
  };
  const searchLikePicture = async (file) => {
    const { path } = await upload(file).catch(() => ({}));
    if (!path) return showNote(t("{name} could not be uploaded.", { name: file.name }), true);
    searchByImage({ request: { picture: path }, image: URL.createObjectURL(file), text: file.name });
  };

  // Import

  const importFiles = async (files) => {
    if (!files.length || isUploading) return;
    const picture = singlePicture(files);
    if (picture) return searchLikePicture(picture);
    isUploading = true;
    try {
      const uploaded = await uploadModels(files, upload, (done, of) =>
        showNote(t("Uploading {done} of {of} files …", { done, of })),
      );
      showNote("");
      const answer = await ask({ kind: "import", files: uploaded });
      answer.error ? showNote(answer.error, true) : jobs.update(answer);
    } catch (error) {
      showNote(error.message, true);
    }
    isUploading = false;
  };
  const chooser = (label, title, { sends, ...attributes }) => {
    const input = h("input", { type: "file", hidden: true, ...attributes });
    return h(
      "span",
      {},
      h("button.studio-button", { title, "data-sends": sends, onclick: () => input.click() }, label),
      input,
    );
  };
  const fileChooser = (label, attributes) =>
    chooser(label, "", {
      sends: "library.import",
      multiple: true,
      onchange: (event) => {
        importFiles(filesOfInput(event.target.files));
        event.target.value = "";
      },
      ...attributes,
    });

  // Messages

  let note = "",
    isError = false;
  let noteTimer;
  const showNote = (text, failed = false) => {
    note = text;
    isError = failed;
    drawNote();
    clearTimeout(noteTimer);
    if (text && !failed) noteTimer = setTimeout(() => showNote(""), NOTE_MS);
  };
  const onEdited = async (answer) => {
    if (answer.error) return showNote(answer.error, true);
    canUndoHere = true;
    if (results) {
      results.undo = answer.undo;
      draw();
    } // at once, before the library has been searched again
    showNote(
      [answer.undone && t("Undone: {undone}.", { undone: answer.undone }), answer.note].filter(Boolean).join(" "),
    );
    trigger("changed");
    const openId = panel.id;
    await search(true);
    if (openId) await panel.show(openId);
  };

  // Components

  const searchInput = h("input.search", {
    type: "search",
    placeholder: t("Search: red mug, bottle, cabinet with drawers …"),
    "aria-label": t("Search assets"),
    oninput: scheduleSearch,
    onkeydown: (event) => event.key !== "Escape" && event.stopPropagation(),
  });
  const filters = new Filters(() => scheduleSearch());
  const openAsset = (id) => {
    grid.markSelected(id);
    panel.show(id);
  };
  const grid = new Grid({
    fetchEntries: (offset, limit) => ask(query(offset, limit)),
    fetchPictures: (ids) => ask({ kind: "thumbnails", ids }),
    onOpen: openAsset,
  });
  const updateTarget = () => panel.setTarget((value.objects ?? []).find((one) => one.id === selected()) ?? null);
  const panel = new AssetPanel({
    ask,
    onEdited,
    onClose: () => {
      panel.hide();
      grid.markSelected("");
    },
    onUse: (object, asset) => {
      canUndoHere = false;
      trigger("decide", { kind: "choose_asset", id: object.id, asset_id: asset.id });
      showNote(t("{object} now uses {asset}. Ctrl Z undoes this.", { object: object.words, asset: asset.name }));
    },
  });
  const jobs = new ImportJobs({
    ask,
    onFinished: () => {
      trigger("changed");
      search(true);
    },
    onOpen: openAsset,
  });
  const packs = new Packs({
    ask,
    onStarted: (answer) => (answer.error ? showNote(answer.error, true) : jobs.update(answer)),
  });

  const countElement = h("span.count", { role: "status" }),
    imageQueryElement = h("span.image-query-slot"),
    noteElement = h("p.message", { hidden: true }),
    emptyElement = h("div.empty"),
    hintElement = h("p.hint-line"),
    undoElement = h("span");
  const pictureChooser = chooser(t("Search by picture …"), t("PNG or JPEG of one object. You can also drop it here."), {
    accept: "image/*",
    onchange: (event) => {
      const [file] = event.target.files;
      if (file) searchLikePicture(file);
      event.target.value = "";
    },
  });
  const undoLast = async () => onEdited(await ask({ kind: "undo" }));
  const drawNote = () => {
    noteElement.hidden = !note;
    noteElement.className = `message${isError ? " bad" : ""}`;
    fill(
      noteElement,
      note,
      h("button.studio-button.plain", { "aria-label": t("Dismiss"), onclick: () => showNote("") }, "✕"),
    );
  };
  const draw = () => {
    countElement.textContent = results
      ? results.total === results.all
        ? t("{n} asset|{n} assets", { n: results.all })
        : t("{total} of {all} assets", { total: results.total, all: results.all })
      : "";
    countElement.title = results?.skipped.length
      ? t("Left out: {skipped}", { skipped: results.skipped.join("; ") })
      : "";
    filters.clear.hidden = !filters.active;
    hintElement.hidden = !(results?.total && (!results.every_word || results.indexing));
    hintElement.textContent = results?.indexing
      ? t("New assets are still being indexed; more may be found in a minute.")
      : t("No asset matches all words; showing partial matches.");
    const target = (value.objects ?? []).find((one) => one.id === selected());
    fill(
      imageQueryElement,
      imageQuery
        ? h(
            "span.image-query",
            {},
            h("img", { src: imageQuery.image, alt: "" }),
            t("Similar to {picture}", { picture: imageQuery.text }),
            h("button", { "aria-label": t("Clear picture"), onclick: () => searchByImage(null) }, "✕"),
          )
        : target &&
            h(
              "button.studio-button",
              { onclick: () => searchLikeObject(target.id) },
              `${t("Similar to")} `,
              chip(target),
              ` ${target.words}`,
            ),
    );
    fill(
      undoElement,
      results?.undo &&
        h(
          "button.studio-button.plain",
          { title: t("Undo: {undo}", { undo: results.undo }), "data-act": "undo", onclick: undoLast },
          t("↶ Undo"),
        ),
    );
    const empty = results && !results.total;
    emptyElement.hidden = !empty;
    if (empty)
      fill(
        emptyElement,
        results.all
          ? [
              `${t("No assets match.")} `,
              filters.active || imageQuery || searchInput.value
                ? h(
                    "button.studio-button",
                    {
                      onclick: () => {
                        filters.reset();
                        searchInput.value = "";
                        searchByImage(null);
                      },
                    },
                    t("Show all"),
                  )
                : "",
            ]
          : t(
              "No assets yet. Drop a model here (.glb .obj .stl .ply .urdf .xml, a folder or a .zip), or install a pack.",
            ),
      );
    updateTarget();
  };

  fill(
    root,
    h(
      "div.full-page-head",
      {},
      h("h2", {}, t("Library")),
      countElement,
      searchInput,
      imageQueryElement,
      pictureChooser,
      h(
        "span.right",
        {},
        undoElement,
        fileChooser(t("Import files …"), {
          accept: ".glb,.gltf,.obj,.mtl,.stl,.ply,.urdf,.xml,.mjcf,.zip,.png,.jpg,.jpeg,.bin",
        }),
        fileChooser(t("Import folder …"), { webkitdirectory: true }),
        h("button.studio-button", { "data-act": "packs", onclick: () => packs.show() }, t("Packs …")),
        h(
          "button.studio-button.plain",
          { title: t("Close (Esc)"), "aria-label": t("Close the library"), onclick: closeLibrary },
          "✕",
        ),
      ),
    ),
    noteElement,
    jobs.element,
    packs.element,
    h(
      "div.full-page-body",
      {},
      filters.element,
      h("div.middle", {}, hintElement, grid.element, emptyElement),
      panel.element,
    ),
    h("div.drop-target", {}, h("p", {}, t("Drop a model to import it, or a picture to search by it"))),
  );
  emptyElement.hidden = true;

  // Drag and drop

  let dragDepth = 0;
  const setDropping = (on) => root.classList.toggle("dropping", on);
  root.addEventListener("dragenter", (event) => {
    event.preventDefault();
    dragDepth++;
    setDropping(true);
  });
  root.addEventListener("dragover", (event) => event.preventDefault());
  root.addEventListener("dragleave", () => {
    dragDepth = Math.max(0, dragDepth - 1);
    if (!dragDepth) setDropping(false);
  });
  root.addEventListener("drop", async (event) => {
    event.preventDefault();
    dragDepth = 0;
    setDropping(false);
    importFiles(await filesOfDrop(event.dataTransfer));
  });

  // Open and close

  document.addEventListener(
    "keydown",
    (event) => {
      if (!libraryOpen() || !element.isConnected) return;
      if (event.key === "Escape") {
        event.stopPropagation();
        !packs.element.hidden ? packs.hide() : !panel.element.hidden ? panel.onClose() : closeLibrary();
      }
      const isTyping = event.target.closest("input:not([type=checkbox]), textarea");
      if (
        (event.ctrlKey || event.metaKey) &&
        event.key.toLowerCase() === "z" &&
        !event.shiftKey &&
        !isTyping &&
        canUndoHere &&
        results?.undo
      ) {
        event.preventDefault();
        event.stopPropagation();
        undoLast();
      }
      if (event.key === "/" && !event.target.closest("input, textarea, select")) {
        event.preventDefault();
        searchInput.focus();
      }
      if (!root.contains(event.target)) stopKeys(event);
    },
    true,
  );
  // Keeps keys from the page below the library, except Ctrl shortcuts such as undo.
  const stopKeys = (event) => {
    if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
  };
  root.addEventListener("keydown", stopKeys);
  onLibrary(element, (request) => {
    root.hidden = !request;
    if (!request) return cover(null);
    closeDrawer();
    jobs.poll();
    draw();
    if (request.like?.object !== undefined) searchLikeObject(request.like.object);
    else if (!results || digest !== value.digest) search();
    if (request.asset) openAsset(request.asset);
    if (request.page === "packs") packs.show();
    searchInput.focus();
    cover(root);
  });
  onSelect(element, () => libraryOpen() && draw());
  onDrawer(element, (page) => page && closeLibrary()); // drawer and library are never open together

  return (next) => {
    const previous = value;
    value = next ?? {};
    if (!libraryOpen()) return;
    if (previous.token !== undefined && previous.token !== value.token) return closeLibrary();
    if (previous.page_token !== value.page_token || (digest && digest !== value.digest)) search(true);
    draw();
  };
}
