import { chip, fill, h } from "/static/studio/dom.js";
import { onSelect, select, selected } from "/static/studio/selection.js";
import { decode, encode } from "/static/studio/runlength.js";
import { Asking } from "/static/mask_canvas/asking.js";
import { KEYS } from "/static/mask_canvas/keys.js";
import { paint, Picture } from "/static/mask_canvas/picture.js";

export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".mask-canvas");
  const canvas = h("canvas", { tabIndex: 0, "aria-label": "Masks: click to add, right-click to remove, drag a box" });
  const tools = h("div.tools"), hint = h("div.hint", { role: "status" }), help = h("div.help", { hidden: true });
  const picture = new Picture(canvas);
  let value = null, picked = new Set(), edit = null, hidden = false, hover = 0, drag = null, down = null, space = false, problem = "";

  const asking = new Asking((question) => server.ask(question), (answer, question, ms) => {
    if (!edit) return;
    if (answer.error) {
      problem = answer.error;
      edit.clicks = edit.clicks.slice(0, edit.steps.at(-1)?.clicks ?? 0);
      edit.box = edit.steps.at(-1)?.box ?? null;
    } else {
      problem = "";
      edit.steps.push({ clicks: edit.clicks.length, box: edit.box, readings: answer.readings.map(decode), reading: 0 });
      canvas.dataset.ms = ms.toFixed(0);
    }
    show();
  });

  // ---- what is edited: a picked segment, or a new one (id 0)
  const segment = (id) => value.segments.find((one) => one.id === id);
  const begin = (id) => {
    edit = { id, clicks: [], box: null, steps: [], colour: segment(id)?.colour ?? value.next_colour };
    if (id) edit.steps.push({ clicks: 0, box: null, readings: [decode(segment(id).rle)], reading: 0 });
  };
  const pick = (id, more = false) => {
    asking.forget();
    edit = null; problem = "";
    if (!more) picked = new Set();
    if (id) picked.has(id) ? picked.delete(id) : picked.add(id);
    if (!more) select(id || null);
    redraw();
  };
  const ask = () => {
    const last = edit.steps.at(-1), from = last?.clicks ?? 0, fresh = edit.clicks.slice(from);
    const mask = last && !(edit.box && edit.box !== last.box) ? last.readings[last.reading] : null;
    asking.ask({ token: value.token, points: fresh.map(([x, y]) => [x, y]), labels: fresh.map((click) => click[2]),
      box: edit.box !== last?.box ? edit.box : null, rle: mask && encode(mask, value.width, value.height) });
    redraw();
  };
  const changed = () => edit && (edit.steps.length > (edit.id ? 1 : 0) || edit.clicks.length);

  const act = {
    new() { pick(0); select(null); begin(0); redraw(); },
    accept() {
      const step = edit?.steps.at(-1);
      if (!step || !changed()) return pick(0);
      const mask = encode(step.readings[step.reading], value.width, value.height);
      const id = edit.id || value.next_id;
      trigger("decide", { kind: "mask", id, mask, clicks: edit.clicks });
      // Shown at once; the server's answer says the same a moment later.
      const shown = { ...(segment(id) ?? { name: "new", is_object: true, colour: edit.colour }), id, rle: mask, source: "human" };
      value = { ...value, next_id: Math.max(value.next_id, id + 1), segments: [...value.segments.filter((one) => one.id !== id), shown] };
      picture.open(value);
      edit = null; picked = new Set([id]); select(id); redraw();
    },
    clear() { asking.forget(); if (edit) { edit = null; problem = ""; } else pick(0); redraw(); },
    back() {
      if (!changed()) return trigger("undo");
      asking.forget();
      const last = edit.steps.at(-1);
      if (edit.clicks.length > (last?.clicks ?? 0) || (edit.box && edit.box !== last?.box)) edit.clicks = edit.clicks.slice(0, last?.clicks ?? 0);
      else { edit.steps.pop(); edit.clicks = edit.clicks.slice(0, edit.steps.at(-1)?.clicks ?? 0); }
      edit.box = edit.steps.at(-1)?.box ?? null;
      if (!edit.steps.length && !edit.id) edit = null;
      show();
    },
    forth() { trigger("redo"); },
    remove() { const ids = [...picked]; ids.forEach((id) => trigger("decide", { kind: "delete_segment", id })); pick(0); },
    merge() { const ids = [...picked]; if (ids.length > 1) { trigger("decide", { kind: "merge_segments", ids, into: Math.min(...ids) }); pick(0); } },
    other() { const one = segment([...picked][0]); if (one) trigger("decide", { kind: "not_object", id: one.id, value: one.is_object }); },
    hide() { hidden = !hidden; redraw(); },
    reading() { const step = edit?.steps.at(-1); if (step?.readings.length > 1) { step.reading = (step.reading + 1) % step.readings.length; show(); } },
    whole() { picture.moved = false; picture.fit(); redraw(); },
    help() { help.hidden = !help.hidden; },
  };

  // ---- drawing
  const show = () => {
    const step = edit?.steps.at(-1);
    if (edit) {
      edit.mask = step && (edit.id === 0 || edit.steps.length > 1) ? step.readings[step.reading] : null;
      edit.layer = edit.mask && paint(edit.mask, value.width, value.height, edit.colour);
    }
    redraw();
  };
  const redraw = () => {
    if (!value?.image) return;
    requestAnimationFrame(() => picture.scene && picture.draw({ picked, hidden, edit, hover, drag }));
    const one = segment([...picked][0]), editing = edit && (changed() || edit.id === 0), step = edit?.steps.at(-1);
    const button = (name, text, key, enabled = true, on = false, sign = text) =>
      h(`button.studio-button${on ? ".on" : ""}`, { disabled: !enabled, title: `${text} (${key})`, "aria-label": text, "data-act": name, onclick: () => { act[name](); canvas.focus(); } }, sign, h("kbd", {}, key));
    fill(tools,
      editing ? [button("accept", "Keep", "Enter", Boolean(step)), button("clear", "Discard", "Esc"), step?.readings.length > 1 && button("reading", `Reading ${step.reading + 1} of ${step.readings.length}`, "R")]
        : [button("new", "New", "N"), button("merge", "Merge", "M", picked.size > 1), button("other", one && !one.is_object ? "Is an object" : "Not an object", "O", picked.size === 1), button("remove", "Delete", "Del", picked.size > 0)],
      h("span.gap"), button("back", "Undo", "Z", changed() || value.can_undo, false, "↶"), button("forth", "Redo", "⇧Z", value.can_redo, false, "↷"),
      button("hide", "Hide", "H", true, hidden), button("whole", "Fit", "F"), button("help", "Keys", "?"));
    const name = one && [chip(one), " ", one.name];
    fill(hint, problem ? h("span.problem", {}, problem)
      : edit && edit.id === 0 ? [h("strong", {}, "New object. "), step ? "Click adds, right-click or Alt-click removes. Enter keeps it." : "Click it, or drag a box around it."]
      : editing ? [name, " changed. Click adds, right-click or Alt-click removes. Enter keeps it, Esc leaves it as it was."]
      : picked.size > 1 ? [`${picked.size} picked. M merges them into one, Del deletes them.`]
      : one ? [name, ": click to add what is missing, right-click or Alt-click to remove what is too much. Shift-click picks another to merge."]
      : "Click an object to pick it. Click anything not outlined, or drag a box, to outline it as a new object.");
  };

  // ---- pointer
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("pointerdown", (event) => {
    if (!value) return;
    canvas.focus();
    canvas.setPointerCapture(event.pointerId);
    down = { x: event.clientX, y: event.clientY, at: picture.at(event), pan: space || event.button === 1, minus: event.button === 2 || event.altKey, shift: event.shiftKey };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!value || !picture.scene) return;
    if (down?.pan) { picture.pan(event.movementX, event.movementY); return redraw(); }
    if (down && !down.minus && Math.hypot(event.clientX - down.x, event.clientY - down.y) > 5) { drag = [...down.at, ...picture.at(event)]; return redraw(); }
    const id = picture.hit(picture.at(event));
    if (id !== hover) { hover = id; requestAnimationFrame(() => picture.draw({ picked, hidden, edit, hover, drag })); }
  });
  canvas.addEventListener("pointerup", (event) => {
    const press = down;
    down = null;
    if (!press || press.pan) return;
    if (drag) {
      const [x0, y0, x1, y1] = drag, clamp = (v, most) => Math.min(most - 1, Math.max(0, v));
      drag = null;
      if (!edit) begin(0), (picked = new Set());
      edit.box = [clamp(Math.min(x0, x1), value.width), clamp(Math.min(y0, y1), value.height), clamp(Math.max(x0, x1), value.width), clamp(Math.max(y0, y1), value.height)];
      return ask();
    }
    const at = picture.at(event), id = picture.inside(at) ? picture.hit(at) : -1;
    if (id < 0) return pick(0);
    if (press.shift && id) return pick(id, true);
    if (!edit && !press.minus && id && !picked.has(id)) return pick(id);
    if (!edit && press.minus && !picked.size) return id ? pick(id) : undefined;
    if (!edit) begin(picked.size === 1 ? [...picked][0] : 0);
    edit.clicks.push([at[0], at[1], press.minus ? 0 : 1]);
    ask();
  });
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); picture.zoomAt(event, Math.exp(-event.deltaY / 400)); redraw(); }, { passive: false });

  // ---- keys
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey) return;
    const key = event.key === " " ? "Space" : event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === "Space") space = true;
    else if (/^[1-9]$/.test(key)) segment(Number(key)) && pick(Number(key));
    else if (key === "z") event.shiftKey ? act.forth() : act.back();
    else if (KEYS[key]?.act) act[KEYS[key].act]();
    else return;
    event.preventDefault();
  });
  canvas.addEventListener("keyup", (event) => { if (event.key === " ") space = false; });

  fill(help, Object.entries(KEYS).map(([key, { name, says }]) => h("div", {}, h("kbd", {}, name ?? key), says)));
  fill(root, tools, h("div.stage", {}, canvas, help), hint);
  new ResizeObserver(() => { picture.fit(); redraw(); }).observe(canvas.parentElement);
  onSelect(element, (id) => { if (!(picked.size === 1 && picked.has(id))) { picked = new Set(id ? [id] : []); if (!edit || edit.id !== id) edit = null; redraw(); } });

  return async (next) => {
    root.classList.toggle("blank", !next?.image);
    if (!next?.image) { value = null; return; }
    value = next;
    await picture.open(value);
    picked = new Set([...picked].filter(segment));
    if (!picked.size && segment(selected())) picked = new Set([selected()]);
    redraw();
  };
}
