// The library over the whole page: finding, seeing, changing and bringing in assets. See components/library.py.
import { chip, fill, h, plural } from "/static/studio/dom.js";
import { onSelect, selected } from "/static/studio/selection.js";
import { AssetPanel } from "/static/library/asset.js";
import { chosen, dropped, pictureOf, sent } from "/static/library/dropping.js";
import { Filters } from "/static/library/filters.js";
import { Grid } from "/static/library/grid.js";
import { Jobs } from "/static/library/jobs.js";
import { closeLibrary, libraryOpen, onLibrary } from "/static/library/opening.js";
import { closeDrawer, onDrawer } from "/static/studio/drawer.js";
import { Packs } from "/static/library/packs.js";

const LATER = 120, FIRST = 100, READ = 7000, LEARNS = 5000;

export default function mount({ element, trigger, server, upload }) {
  const root = element.querySelector(".library");
  let value = {}, like = null, found = null, digest = "", asked = 0, timer, again, sending = false, changedHere = false;
  const ask = (question) => server.ask({ ...question, door: value.door, token: value.token }).catch(() => ({ error: "The server does not answer. Is it still running?" }));

  // What is looked for

  const query = (offset, limit) => ({ kind: "find", words: words.value, like: like?.question ?? null, ...filters.said, offset, limit });
  const search = async (stay = false) => {
    const mine = ++asked;
    const answer = await ask(query(0, stay ? 200 : FIRST));
    if (mine !== asked) return;
    if (answer.error) return say(answer.error, true);
    found = answer;
    digest = value.digest;
    filters.offer(answer.facets);
    grid.show(answer, stay);
    draw();
    clearTimeout(again);
    if (answer.learning && libraryOpen()) again = setTimeout(() => search(true), LEARNS);
  };
  const soon = () => { clearTimeout(timer); timer = setTimeout(search, LATER); };
  const lookFor = (next) => { like = next; search(); };
  const likeObject = (id) => {
    const one = (value.objects ?? []).find((object) => object.id === id);
    if (one) lookFor({ question: { object: id, token: value.token }, image: one.crop, text: one.name });
  };
  const likePicture = async (file) => {
    const { path } = await upload(file).catch(() => ({}));
    if (!path) return say(`${file.name} could not be sent.`, true);
    lookFor({ question: { picture: path }, image: URL.createObjectURL(file), text: file.name });
  };

  // What is brought in

  const bring = async (files) => {
    if (!files.length || sending) return;
    const picture = pictureOf(files);
    if (picture) return likePicture(picture);
    sending = true;
    try {
      const arrived = await sent(files, upload, (done, of) => say(`Sending ${done} of ${of} files …`));
      say("");
      const answer = await ask({ kind: "bring", files: arrived });
      answer.error ? say(answer.error, true) : jobs.take(answer);
    } catch (error) { say(error.message, true); }
    sending = false;
  };
  const chooser = (label, title, attributes) => { const input = h("input", { type: "file", hidden: true, ...attributes }); return h("span", {}, h("button.studio-button", { title, onclick: () => input.click() }, label), input); };
  const picker = (label, attributes) => chooser(label, "", { multiple: true, onchange: (event) => { bring(chosen(event.target.files)); event.target.value = ""; }, ...attributes });

  // What is told

  let note = "", bad = false;
  let fades;
  const say = (text, isBad = false) => { note = text; bad = isBad; drawNote(); clearTimeout(fades); if (text && !isBad) fades = setTimeout(() => say(""), READ); };
  const edited = async (answer) => {
    if (answer.error) return say(answer.error, true);
    changedHere = true;
    if (found) { found.undo = answer.undo; draw(); } // now, not only once the library was searched anew
    say([answer.undone && `Taken back: ${answer.undone}.`, answer.note].filter(Boolean).join(" "));
    trigger("changed");
    const open = panel.id;
    await search(true);
    if (open) await panel.show(open);
  };

  // The parts

  const words = h("input.words", { type: "search", placeholder: "Search: red mug, bottle, cabinet with drawers …", "aria-label": "Search assets", oninput: soon, onkeydown: (event) => event.key !== "Escape" && event.stopPropagation() });
  const filters = new Filters(() => soon());
  const see = (id) => { grid.choose(id); panel.show(id); };
  const grid = new Grid({ more: (offset, limit) => ask(query(offset, limit)), pictures: (ids) => ask({ kind: "drawn", ids }), open: see });
  const aim = () => panel.aim((value.objects ?? []).find((one) => one.id === selected()) ?? null);
  const panel = new AssetPanel({ ask, edited, close: () => { panel.hide(); grid.choose(""); }, use: (object, asset) => { changedHere = false; trigger("decide", { kind: "choose_asset", id: object.id, asset_id: asset.id }); say(`${asset.name} stands for ${object.name} now; Ctrl Z takes it back.`); } });
  const jobs = new Jobs({ ask, finished: () => { trigger("changed"); search(true); }, open: see });
  const packs = new Packs({ ask, began: (answer) => (answer.error ? say(answer.error, true) : jobs.take(answer)) });

  const count = h("span.count", { role: "status" }), likes = h("span.likes"), told = h("p.told", { hidden: true }), nothing = h("div.empty"), doubt = h("p.doubt"), undo = h("span");
  const pick = chooser("By picture …", "A picture of one thing: a PNG or a JPEG. Or drop it here.", { accept: "image/*", onchange: (event) => { const [file] = event.target.files; if (file) likePicture(file); event.target.value = ""; } });
  const takeBack = async () => edited(await ask({ kind: "undo" }));
  const drawNote = () => { told.hidden = !note; told.className = `told${bad ? " bad" : ""}`; fill(told, note, h("button.studio-button.plain", { "aria-label": "Dismiss", onclick: () => say("") }, "✕")); };
  const draw = () => {
    count.textContent = found ? (found.total === found.all ? plural(found.all, "asset") : `${found.total} of ${found.all} assets`) : "";
    count.title = found?.skipped.length ? `Left out: ${found.skipped.join("; ")}` : "";
    filters.clear.hidden = !filters.any;
    doubt.hidden = !(found?.total && (!found.every_word || found.learning));
    doubt.textContent = found?.learning ? "New assets are still being looked at: more may be found in a minute." : "Nothing holds all these words; these hold some.";
    const target = (value.objects ?? []).find((one) => one.id === selected());
    fill(likes, like ? h("span.like", {}, h("img", { src: like.image, alt: "" }), `like ${like.text}`, h("button", { "aria-label": "No longer by picture", onclick: () => lookFor(null) }, "✕"))
      : target && h("button.studio-button", { onclick: () => likeObject(target.id) }, "Like ", chip(target), ` ${target.name}`));
    fill(undo, found?.undo && h("button.studio-button.plain", { title: `Take back: ${found.undo}`, "data-act": "undo", onclick: takeBack }, "↶ Undo"));
    const empty = found && !found.total;
    nothing.hidden = !empty;
    if (empty) fill(nothing, found.all ? ["Nothing here is like that. ", filters.any || like || words.value ? h("button.studio-button", { onclick: () => { filters.reset(); words.value = ""; lookFor(null); } }, "Show everything") : ""] : "There are no assets yet. Drop a model here (.glb .obj .stl .ply .urdf .xml, a folder or a .zip), or install a pack.");
    aim();
  };

  fill(root,
    h("div.library-head", {}, h("h2", {}, "Library"), count, words, likes, pick,
      h("span.right", {}, undo, picker("Bring in files …", { accept: ".glb,.gltf,.obj,.mtl,.stl,.ply,.urdf,.xml,.mjcf,.zip,.png,.jpg,.jpeg,.bin" }), picker("… a folder", { webkitdirectory: true }), h("button.studio-button", { "data-act": "packs", onclick: () => packs.show() }, "Packs …"), h("button.studio-button.plain", { title: "Close (Esc)", "aria-label": "Close the library", onclick: closeLibrary }, "✕"))),
    told, jobs.element, packs.element,
    h("div.library-body", {}, filters.element, h("div.middle", {}, doubt, grid.element, nothing), panel.element),
    h("div.drop-here", {}, h("p", {}, "Drop a model to bring it in, or a picture to look for it")));
  nothing.hidden = true;

  // Dropping

  let inside = 0;
  const over = (on) => root.classList.toggle("dropping", on);
  root.addEventListener("dragenter", (event) => { event.preventDefault(); inside++; over(true); });
  root.addEventListener("dragover", (event) => event.preventDefault());
  root.addEventListener("dragleave", () => { inside = Math.max(0, inside - 1); if (!inside) over(false); });
  root.addEventListener("drop", async (event) => { event.preventDefault(); inside = 0; over(false); bring(await dropped(event.dataTransfer)); });

  // Opening

  document.addEventListener("keydown", (event) => {
    if (!libraryOpen() || !element.isConnected) return;
    if (event.key === "Escape") { event.stopPropagation(); !packs.element.hidden ? packs.hide() : panel.id ? panel.close() : closeLibrary(); }
    const typing = event.target.closest("input:not([type=checkbox]), textarea");
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !event.shiftKey && !typing && changedHere && found?.undo) { event.preventDefault(); event.stopPropagation(); takeBack(); }
    if (event.key === "/" && !event.target.closest("input, textarea, select")) { event.preventDefault(); words.focus(); }
    if (!root.contains(event.target)) below(event);
  }, true);
  // What lies below the library does not hear its keys; undo is the whole studio's.
  const below = (event) => { if (!event.ctrlKey && !event.metaKey) event.stopPropagation(); };
  root.addEventListener("keydown", below);
  onLibrary(element, (wish) => {
    root.hidden = !wish;
    if (!wish) return;
    closeDrawer();
    jobs.follow();
    draw();
    if (wish.like?.object !== undefined) likeObject(wish.like.object);
    else if (!found || digest !== value.digest) search();
    if (wish.asset) see(wish.asset);
    if (wish.page === "packs") packs.show();
    words.focus();
  });
  onSelect(element, () => libraryOpen() && draw());
  onDrawer(element, (page) => page && closeLibrary()); // one of the two at a time

  return (next) => {
    const before = value;
    value = next ?? {};
    if (!libraryOpen()) return;
    if (before.token !== undefined && before.token !== value.token) return closeLibrary();
    if (before.door !== value.door || (digest && digest !== value.digest)) search(true);
    draw();
  };
}
