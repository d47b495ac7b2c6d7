import { chip, fill, h } from "/static/studio/dom.js";
import { also, onSelect, select, selected, selectMore } from "/static/studio/selection.js";
import { Asking } from "/static/mask_canvas/asking.js";
import { Edit } from "/static/mask_canvas/edit.js";
import { files } from "/static/mask_canvas/files.js";
import { gestures } from "/static/mask_canvas/gestures.js";
import { KEYS, keyOf } from "/static/mask_canvas/keys.js";
import { Mask } from "/static/mask_canvas/mask.js";
import { Picture } from "/static/mask_canvas/picture.js";
import { meter, strip } from "/static/mask_canvas/readings.js";
import { Segmenters } from "/static/mask_canvas/segmenters.js";
import { button, groups, TOOLS } from "/static/mask_canvas/toolbar.js";

const REST = 70; // milliseconds that a pointer rests before it is asked about
const ESCAPE = "Esc leaves it as it was.";
const SOURCES = { human: "kept by a person", depth: "outlined by depth and colour", sam2: "outlined by SAM 2" };

export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".mask-canvas");
  const canvas = h("canvas", { tabIndex: 0, "aria-label": "Masks: click to add, right-click to remove, drag a box" });
  const photo = h("img.photo", { alt: "" });
  const tools = h("div.tools", { role: "toolbar" }), hint = h("div.hint", { role: "status" }), help = h("div.help", { hidden: true }), offered = h("div.readings", { hidden: true });
  const size = h("input", { type: "range", min: "1", max: "60", value: "12", "aria-label": "Size of the brush", oninput: () => redraw() });
  const sizer = h("label.sizer", { hidden: true }, "Size", size, h("output"));
  const picture = new Picture(canvas, photo);
  let value = null, picked = new Set(), edit = null, tool = "add", hidden = false, space = false, keeping = false, problem = "", news = "";
  let hover = 0, preview = null, at = null, drag = null, line = null;

  // ---- asking
  const asking = new Asking((question) => server.ask(question), (answer, question, ms) => {
    if (!edit) return;
    const keep = keeping && !answer.error;
    keeping = false;
    if (answer.error) { edit.forget(); problem = answer.error; }
    else {
      const readings = answer.readings.map(({ rle, ...rest }) => ({ ...rest, mask: Mask.decode(rle) }));
      edit.step(question.kind === "compare" ? [{ title: "as it is", mask: edit.mask }, ...readings] : readings);
      news = (answer.missing ?? []).join(" ");
    }
    if (keep) act.accept(); else redraw();
    canvas.dataset.ms = ms.toFixed(0);
  });
  const peeking = new Asking((question) => server.ask(question), (answer, question) => {
    if (!at || asking.busy || !answer.readings) return;
    const mask = Mask.decode(answer.readings[0].rle);
    preview = mask.at(...at) ? mask : null;
    redraw();
  });
  const ask = () => { news = problem = ""; preview = null; peeking.forget(); asking.ask({ kind: "prompt", token: value.token, ...edit.question() }); redraw(); };
  const segmenters = new Segmenters((question) => server.ask(question).catch(() => ({ error: "The server does not answer. Is it still running?" })), { compare: () => act.compare(),
    changed: (text) => { if (text) problem = text; redraw(); },
    find: (name, settings) => { drop(); select(null); news = "Looking everywhere; the bar below shows how far, and stops it."; trigger("find", { name, settings }); taken(); } });
  const filing = files((question) => server.ask({ ...question, token: value.token }), (text, bad) => { problem = bad ? text : ""; news = bad ? "" : text; redraw(); },
    () => { asking.forget(); edit = null; select(null); trigger("changed"); });

  // ---- what is picked and edited: a segment, or a new one (id 0)
  const segment = (id) => value.segments.find((one) => one.id === id);
  const only = () => (picked.size === 1 ? segment([...picked][0]) : null);
  const begin = (id) => { edit = new Edit(id, segment(id)?.colour ?? value.next_colour, id ? picture.mask(id) : null); };
  const drop = () => { asking.forget(); peeking.forget(); preview = null; edit = null; keeping = false; problem = news = ""; };
  const pick = (id, more = false) => { drop(); more && id ? selectMore(id) : select(id || null); taken(); };
  // The selection is the page's: what is picked here follows it.
  const taken = () => { picked = new Set([selected(), ...also()].filter((id) => id && segment(id))); redraw(); };
  const decide = (kind, data) => trigger("decide", { kind, ...data });
  const several = (said, decisions) => decisions.length === 1 ? trigger("decide", decisions[0]) : decide("several", { said, decisions });
  // Shown at once; the server's answer says the same a moment later.
  const assume = (shown) => { value = { ...value, next_id: Math.max(value.next_id, ...shown.map(({ id }) => id + 1)), segments: [...value.segments.filter((one) => !shown.some(({ id }) => id === one.id)), ...shown] }; picture.open(value); };
  const masked = (id, mask, colour) => ({ ...(segment(id) ?? { name: "new", is_object: true, colour }), id, rle: mask.encode(), source: "human", quality: null, review: "" });

  const act = {
    new() { pick(0); begin(0); if (tool !== "brush") tool = "add"; redraw(); },
    accept() {
      const one = only();
      if (edit?.asked) { keeping = true; return redraw(); } // kept as soon as it is answered
      const mask = edit?.changed ? edit.mask : one && one.source !== "human" && picture.mask(one.id);
      if (!mask) return edit ? undefined : pick(0);
      if (!mask.area) { problem = "The mask is empty: nothing to keep. Paint or click first, or delete the object."; return redraw(); }
      const id = edit?.changed ? edit.id || value.next_id : one.id, shown = masked(id, mask, edit?.colour);
      decide("mask", { id, mask: shown.rle, clicks: edit?.clicks ?? [] });
      drop(); assume([shown]); select(id); taken();
    },
    clear() { if (!help.hidden) return act.help(); if (tool === "split") tool = "add"; else if (edit) drop(); else return pick(0); redraw(); },
    back() { preview = null; if (!edit?.changed) return trigger("undo"); asking.forget(); edit.back(); if (!edit.steps.length && !edit.id) edit = null; redraw(); },
    forth() { preview = null; if (!edit?.gone.length) return trigger("redo"); edit.forth(); redraw(); },
    remove() { const ids = [...picked]; if (ids.length) { several(`${ids.join(" and ")} deleted`, ids.map((id) => ({ kind: "delete_segment", id }))); pick(0); } },
    merge() { const ids = [...picked]; if (ids.length > 1) { decide("merge_segments", { ids, into: Math.min(...ids) }); pick(0); } },
    split() {
      const one = only();
      if (!one) { problem = "Pick one object to split."; return redraw(); }
      if (tool === "split") return act.neck();
      drop(); tool = "split"; redraw();
    },
    neck() { const one = only(); tool = "add"; if (one) decide("split", { id: one.id }); redraw(); },
    other() { const one = only(); if (one) decide("not_object", { id: one.id, value: one.is_object }); },
    hide() { hidden = !hidden; redraw(); },
    reading(i) { const step = edit?.last; if (step?.readings.length > 1) { step.chosen = i ?? (step.chosen + 1) % step.readings.length; redraw(); } },
    compare() {
      const one = only(), mask = edit?.mask ?? (one && picture.mask(one.id));
      if (!mask?.area) { problem = "Pick an object first, then compare what each segmenter takes for it."; return redraw(); }
      if (!edit) begin(one.id);
      problem = ""; news = "Asking each segmenter …";
      asking.ask({ kind: "compare", token: value.token, rle: mask.encode() });
      redraw();
    },
    smaller() { size.value = Math.max(1, Math.round(size.value * 0.8)); redraw(); },
    larger() { size.value = Math.min(60, Math.ceil(size.value * 1.25)); redraw(); },
    nearer() { picture.zoomBy(1.4); redraw(); },
    farther() { picture.zoomBy(1 / 1.4); redraw(); },
    whole() { picture.moved = false; picture.fit(); redraw(); },
    help() { help.hidden = !help.hidden; },
  };
  const press = (name) => { name.startsWith("tool:") ? use(name.slice(5)) : act[name](); canvas.focus({ preventScroll: true }); };
  const use = (name) => { tool = name; problem = ""; redraw(); };

  // ---- drawing
  let waiting = false;
  const redraw = () => {
    if (!value?.image || waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; if (!value?.image) return; paint(); bar(); });
  };
  const radius = () => Number(size.value) * Math.max(1, 0.5 / picture.whole * picture.ratio) / 2;
  const painting = () => tool === "brush" || tool === "erase";
  const paint = () => {
    if (!picture.scene) return;
    picture.draw({ picked, hidden, edit, hover: edit ? 0 : hover, preview, drag, line, brush: painting() && at ? { at, radius: radius() } : null });
    canvas.style.cursor = space || tool === "move" ? "grab" : painting() ? "none" : tool === "several" ? "pointer" : "crosshair";
  };
  let shown = "";
  const bar = () => {
    const one = only(), editing = edit && (edit.changed || edit.id === 0), step = edit?.last;
    sizer.hidden = !painting(); sizer.lastChild.textContent = `${Math.max(1, Math.round(2 * radius()))} px`;
    strip(offered, picture, edit, (i) => act.reading(i));
    const told = say(one, editing, step);
    const objects = editing
      ? [{ act: "accept", text: "Keep", key: "Enter", primary: true, off: !step && !edit.asked }, { act: "clear", text: "Discard", key: "Esc" }]
      : [{ act: "new", text: "New", key: "N", title: "A new object" }, { act: "merge", text: "Merge", key: "M", title: "Merge the picked objects", off: picked.size < 2 }, { act: "split", text: "Split", key: "S", title: "Split the picked object", off: !one, on: tool === "split" },
        { act: "other", text: one && !one.is_object ? "Is object" : "No object", title: one && !one.is_object ? "Is an object" : "Not an object", key: "O", off: !one }, { act: "remove", sign: "bin", text: "Delete", key: "Del", off: !picked.size }];
    const rows = [["Tools", TOOLS.map((item) => ({ ...item, on: `tool:${tool}` === item.act }))], ["Object", objects],
      ["View", [{ act: "back", text: "Undo", key: "Z", off: !(edit?.changed || value.can_undo) }, { act: "forth", text: "Redo", key: "Shift-Z", off: !(edit?.gone.length || value.can_redo) }, { act: "hide", text: "Hide", key: "H", title: "Hide the masks", on: hidden }, { act: "help", text: "Keys", key: "?" }]]];
    // Buttons are made anew only when they differ, so that a press is not lost between down and up.
    const state = JSON.stringify(rows);
    if (state !== shown) { shown = state; fill(tools, groups(rows, press)); }
    const fresh = hint.cloneNode(false);
    fill(fresh, told);
    if (!fresh.isEqualNode(hint)) { hint.replaceChildren(...fresh.childNodes); hint.title = hint.textContent; }
  };
  const say = (one, editing, step) => {
    const name = one && [chip(one), " ", h("strong", {}, one.name)];
    if (problem) return h("span.problem", {}, problem);
    if (asking.busy && segmenters.waiting) return segmenters.waiting;
    if (tool === "split" && one) return [name, ": drag a line across it to cut it there, or ", h("button.studio-button", { "data-act": "neck", onclick: () => press("neck") }, "split where it looks like several"), " (S again)."];
    if (step?.readings.length > 1) return [news && `${news} `, step.readings[0].title ? "Choose an outline, or press R to blink between them. Enter keeps it. " : "Choose a reading, or click on. Enter keeps it. ", ESCAPE];
    if (news) return news;
    if (edit?.id === 0) return [h("strong", {}, "New object. "), step ? ["Click adds, right-click removes. Enter keeps it. ", meter(step.readings[step.chosen].quality)] : tool === "brush" ? "Paint it." : "Click it, drag a box around it, or paint it with the brush."];
    if (editing) return [name, " changed. Click adds, right-click removes. Enter keeps it. ", ESCAPE, " ", meter(step?.readings[step.chosen].quality)];
    if (picked.size > 1) return `${picked.size} picked. M merges them into one, Del deletes them.`;
    if (one?.review) return [name, " ", h("span.review", {}, "! needs review"), ` ${one.review} Correct it, or press Enter to keep it as it is. `, meter(one.quality)];
    if (one) return [name, `, ${SOURCES[one.source] ?? `outlined by ${one.source}`}. `, meter(one.quality), " Click adds, right-click removes."];
    return "Click an object to pick it. Click anything not outlined, or drag a box, to outline it as a new object.";
  };

  // ---- pointer
  const clamp = ([x, y]) => [Math.min(value.width - 1, Math.max(0, x)), Math.min(value.height - 1, Math.max(0, y))];
  const tap = (place, minus, more) => {
    const spot = picture.at(place), id = picture.inside(spot) ? picture.hit(spot) : -1;
    if (id < 0) return pick(0);
    if (more || tool === "several") return id ? pick(id, true) : undefined;
    if (!edit && id && !picked.has(id) && (!minus || !picked.size)) return pick(id);
    if (!edit && minus && !picked.size) return;
    if (!edit) { const one = only(); if (!one) select(null); begin(one?.id ?? 0); if (!one) taken(); }
    if (minus && !edit.mask && !edit.asked) { if (!edit.id) edit = null; problem = "Nothing to remove from yet: click the object first."; return redraw(); }
    edit.clicks.push([...spot, minus ? 0 : 1]);
    ask();
  };
  const stroke = (from, to, minus, begins) => {
    if (begins) { asking.forget(); problem = news = ""; if (!edit) begin(only()?.id ?? 0); }
    edit.paint([value.width, value.height], picture.at(from), picture.at(to), radius(), tool === "brush" && !minus ? 1 : 0, begins);
    redraw();
  };
  const boxed = (from, to) => {
    const [[x0, y0], [x1, y1]] = [clamp(picture.at(from)), clamp(picture.at(to))];
    drag = null;
    if (Math.abs(x1 - x0) < 2 || Math.abs(y1 - y0) < 2) return redraw();
    if (!edit) { select(null); begin(0); taken(); }
    edit.box = [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)];
    ask();
  };
  const cut = (from, to) => {
    const one = only(), parts = one ? picture.mask(one.id).cut(picture.at(from), picture.at(to)) : [];
    line = null;
    if (!one || !parts[1].area) { problem = "The line leaves all of it on one side: drag it across the object."; return redraw(); }
    const shown = [masked(one.id, parts[0]), masked(value.next_id, parts[1], value.next_colour)];
    several(`${one.id} split`, shown.map(({ id, rle }) => ({ kind: "mask", id, mask: rle, clicks: [] })));
    tool = "add";
    assume(shown); select(one.id); taken();
  };
  let still = 0;
  const peek = () => {
    const one = only(), mask = edit ? edit.mask : one && picture.mask(one.id);
    if (!at || edit?.asked || asking.busy || mask?.at(...at)) return;
    peeking.ask({ kind: "prompt", token: value.token, points: [at], labels: [1], rle: mask ? mask.encode() : null });
  };
  gestures(canvas, {
    pans: () => space || tool === "move",
    press(start) { preview = null; if (value && painting()) stroke(start, start, start.minus, true); },
    drag(start, before, now) {
      if (!value) return;
      at = picture.at(now);
      if (painting()) return stroke(before, now, start.minus, false);
      if (!start.dragged || tool === "several") return;
      if (tool === "split") line = [...picture.at(start), ...at];
      else if (!start.minus) drag = [...picture.at(start), ...at];
      redraw();
    },
    release(start, event) {
      if (!value || painting()) return;
      if (start.dragged && tool === "split") return cut(start, event);
      if (drag) return boxed(start, event);
      if (tool !== "split") tap(event, start.minus || tool === "remove", start.more);
    },
    drop() { drag = line = null; redraw(); },
    pan(dx, dy) { picture.pan(dx, dy); redraw(); },
    zoom(place, factor) { if (value) { picture.zoomAt(place, factor); redraw(); } },
    leave() { hover = 0; at = preview = null; clearTimeout(still); peeking.forget(); redraw(); },
    hover(event) {
      if (!value || !picture.scene) return;
      at = picture.at(event);
      const id = picture.inside(at) ? picture.hit(at) : 0;
      const left = preview && !preview.at(...at);
      if (left) preview = null;
      if (id !== hover || left || painting()) { hover = id; redraw(); }
      clearTimeout(still);
      // What a click would take or add, once the pointer rests there; a click on another outline would pick that.
      if ((!id || edit) && !preview && tool === "add" && picture.inside(at) && event.pointerType === "mouse" && segmenters.chosen?.word === "ready") still = setTimeout(peek, REST);
    },
  });

  // Closes the open menus but the one that holds the target; tells whether there was one.
  const shut = (target = null) => {
    const open = [...root.querySelectorAll("details.menu[open]")].filter((menu) => !menu.contains(target));
    open.forEach((menu) => (menu.open = false));
    return open.length > 0;
  };

  // ---- keys, wherever the focus is while this step is shown
  const keyed = (event) => {
    if (!element.isConnected) { document.removeEventListener("keydown", chorded, true); document.removeEventListener("keydown", keyed); document.removeEventListener("keyup", lifted); return; }
    if (!value || !root.offsetParent) return;
    const key = keyOf(event);
    if (key === null) return;
    const closed = shut();
    if (key === "Escape" && closed) return;
    if (key === "Space") space = true;
    else if (/^[1-9]$/.test(key)) { if (segment(Number(key))) pick(Number(key)); }
    else if (key === "z") event.shiftKey ? act.forth() : act.back();
    else if (KEYS[key]?.tool) use(KEYS[key].tool);
    else if (KEYS[key]?.act) act[KEYS[key].act]();
    else return;
    event.preventDefault();
    redraw();
  };
  // Ctrl-Z takes back a click that is not kept yet before it takes back a decision, which is the top bar's to do.
  const chorded = (event) => {
    if (!edit || !root.offsetParent || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || event.target.closest("input:not([type=range]), textarea, .cm-editor")) return;
    event.preventDefault();
    event.stopPropagation();
    event.shiftKey ? act.forth() : act.back();
  };
  const lifted = (event) => { if (event.key === " ") { space = false; redraw(); } };
  document.addEventListener("keydown", chorded, true);
  document.addEventListener("keydown", keyed);
  document.addEventListener("keyup", lifted);

  fill(help, h("strong", {}, "Keys"), Object.values(KEYS).filter(({ name }) => name).map(({ name, says }) => h("div", {}, h("kbd", {}, name), says)));
  const zooming = h("div.zooming", {}, [["nearer", "Zoom in", "+"], ["farther", "Zoom out", "−"], ["whole", "The whole picture", "F"]].map(([name, title, key]) => button({ act: name, text: "", title, key }, press)));
  fill(root, tools, h("div.stage", {}, photo, canvas, sizer, zooming, offered, help), h("div.foot", {}, hint, filing, segmenters.element));
  root.addEventListener("pointerdown", (event) => shut(event.target));
  new ResizeObserver(() => { picture.fit(); redraw(); }).observe(canvas.parentElement);
  onSelect(element, () => { if (!value) return; if (edit && !(selected() === (edit.id || null) && !also().size)) drop(); taken(); });

  return async (next) => {
    root.classList.toggle("blank", !next?.image);
    if (!next?.image) { value = null; drop(); return; }
    if (next.token !== value?.token) { drop(); tool = "add"; preview = null; shown = ""; }
    value = next;
    segmenters.open(value.token);
    await picture.open(value);
    taken();
  };
}
