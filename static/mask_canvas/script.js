import { chip, fill, h } from "/static/studio/dom.js";
import { alsoSelected, onSelect, select, selected, toggleSelected } from "/static/studio/selection.js";
import { isRefused, onRefusals } from "/static/studio/refused_controls.js";
import { isInReach } from "/static/studio/covering.js";
import { asker } from "/static/studio/server.js";
import { LatestRequest } from "/static/studio/latest_request.js";
import { MaskEdit } from "/static/mask_canvas/mask_edit.js";
import { importExportMenu } from "/static/mask_canvas/import_export.js";
import { gestures } from "/static/mask_canvas/gestures.js";
import { KeyboardPointer } from "/static/mask_canvas/keyboard_pointer.js";
import { LOOKING, SHORTCUTS, keyOf } from "/static/mask_canvas/shortcuts.js";
import { Mask } from "/static/mask_canvas/mask.js";
import { Viewport } from "/static/mask_canvas/viewport.js";
import { qualityMeter, drawCandidates } from "/static/mask_canvas/mask_candidates.js";
import { Segmenters } from "/static/mask_canvas/segmenters.js";
import { button, groups, TOOLS } from "/static/mask_canvas/toolbar.js";
import { t } from "/static/studio/texts.js";

const PREVIEW_DELAY_MS = 70; // time the pointer rests before a mask is previewed
const takes = (values) => t("! Takes {n} pixel from: {names}.|! Takes {n} pixels from: {names}.", values);
const took = (values) =>
  t("{n} pixel taken from: {names}. Undo gives it back.|{n} pixels taken from: {names}. Undo gives them back.", values);
const DISCARD_HINT = t("Press Esc to discard.");
const SOURCES = {
  human: t("accepted by you"),
  depth: t("segmented by depth and colour"),
  sam2: t("segmented by SAM 2"),
};

export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".mask-canvas");
  // Its children are what a screen reader finds in it.
  const objectsElement = h("ul", { "aria-label": t("Objects") }),
    underElement = h("p.under.hidden-text", { role: "status" }); // what the crosshair is on
  const canvas = h(
    "canvas",
    {
      tabIndex: 0,
      role: "application",
      "aria-label": t("Masks: arrow keys move a crosshair, Space clicks, held Space drags"),
      "aria-describedby": "mask-hint",
    },
    objectsElement,
  );
  const photo = h("img.photo", { alt: "" });
  const toolbar = h("div.tools", { role: "toolbar" }),
    hintElement = h("div.hint", { id: "mask-hint", role: "status" }),
    helpElement = h("div.help", { hidden: true }),
    candidatesElement = h("div.candidates", { hidden: true });
  const brushSize = h("input", {
    type: "range",
    min: "1",
    max: "60",
    value: "12",
    "aria-label": t("Brush size"),
    oninput: () => redraw(),
  });
  const brushSizeLabel = h("label.brush-size", { hidden: true }, t("Size"), brushSize, h("output"));
  const viewport = new Viewport(canvas, photo);
  let value = null,
    picked = new Set(),
    edit = null,
    tool = "add",
    hidden = false,
    isSpaceDown = false,
    isShown = false,
    acceptOnAnswer = false,
    afterAnswer = null, // what a person turned to while the answer was awaited
    problem = "",
    info = "";
  let hover = 0,
    preview = null,
    pointerPixel = null,
    drag = null,
    line = null;

  // ---- requests
  const promptRequest = new LatestRequest(
    (request) => server.ask(request),
    (answer, request, ms) => {
      if (!edit) return;
      const acceptNow = acceptOnAnswer && !answer.error;
      const turned = acceptNow && afterAnswer;
      acceptOnAnswer = false;
      afterAnswer = null;
      if (answer.error) {
        edit.dropUnanswered();
        problem = answer.error;
      } else {
        const candidates = answer.candidates.map(({ rle, ...rest }) => ({ ...rest, mask: Mask.decode(rle) }));
        edit.addStep(
          request.kind === "compare" ? [{ title: t("Current"), mask: edit.mask }, ...candidates] : candidates,
        );
        info = (answer.missing ?? []).join(" ");
      }
      if (turned) turnTo(turned);
      else if (acceptNow) actions.accept();
      else redraw();
      canvas.dataset.ms = ms.toFixed(0);
    },
  );
  const previewRequest = new LatestRequest(
    (request) => server.ask(request),
    (answer) => {
      if (!pointerPixel || promptRequest.busy || !answer.candidates) return;
      const mask = Mask.decode(answer.candidates[0].rle);
      preview = mask.at(...pointerPixel) ? mask : null;
      redraw();
    },
  );
  const sendPrompt = () => {
    info = problem = "";
    preview = null;
    previewRequest.cancel();
    promptRequest.send({ kind: "prompt", token: value.token, ...edit.prompt() });
    redraw();
  };
  const segmenters = new Segmenters(asker(server), {
    compare: () => actions.compare(),
    changed: (text) => {
      if (text) problem = text;
      redraw();
    },
    find: (name, settings) => {
      discardEdit();
      select(null);
      info = t("Segmenting the frame. The status bar shows progress and can stop it.");
      trigger("find", { name, settings });
      syncSelection();
    },
  });
  const importExport = importExportMenu(
    asker(server, () => ({ token: value.token })),
    (text, isError) => {
      problem = isError ? text : "";
      info = isError ? "" : text;
      redraw();
    },
    () => {
      promptRequest.cancel();
      edit = null;
      select(null);
      trigger("changed");
    },
  );

  // Whether this person may change masks; one who only looks still selects, zooms and pans.
  const mayEdit = () => !isRefused("mask-canvas.decide");
  const prepare = () => isShown && mayEdit() && segmenters.prepare();

  // ---- selection and edit: a segment, or a new one (id 0)
  const segment = (id) => value.segments.find((other) => other.id === id);
  const singlePicked = () => (picked.size === 1 ? segment([...picked][0]) : null);
  const startEdit = (id) => {
    edit = new MaskEdit(id, segment(id)?.colour ?? value.next_colour, id ? viewport.mask(id) : null);
  };
  const discardEdit = () => {
    promptRequest.cancel();
    previewRequest.cancel();
    preview = null;
    edit = null;
    acceptOnAnswer = false;
    afterAnswer = null;
    problem = info = "";
  };
  // Goes on with something else. An edit is accepted before, as soon as its answer is there; Undo takes it back.
  const turnTo = (next) => {
    if (edit?.isWaiting && mayEdit()) {
      acceptOnAnswer = true;
      afterAnswer = next;
      return redraw();
    }
    const keeps = edit?.isChanged && edit.mask.area && mayEdit();
    keeps ? actions.accept() : discardEdit();
    const kept = info;
    next();
    if (keeps) info = kept;
  };
  const pick = (id, more = false) =>
    turnTo(() => {
      more && id ? toggleSelected(id) : select(id || null);
      syncSelection();
    });
  // The objects whose pixels a mask of an object takes: [{words, count}].
  const losers = (mask, id) =>
    value.segments
      .filter((other) => other.id !== id)
      .map(({ id: other, words }) => ({ words, count: mask.overlap(viewport.mask(other)) }))
      .filter(({ count }) => count);
  const taken = (mask, id, say) => {
    const from = losers(mask, id);
    return from.length
      ? say({
          n: from.reduce((sum, { count }) => sum + count, 0),
          names: from.map(({ words }) => words).join(", "),
        })
      : "";
  };
  // Takes over the selection that all components of the page share.
  const syncSelection = () => {
    picked = new Set([selected(), ...alsoSelected()].filter((id) => id && segment(id)));
    nameObjects();
    redraw();
  };
  const decide = (kind, data) => trigger("decide", { kind, ...data });
  const decideSeveral = (label, decisions) =>
    decisions.length === 1 ? trigger("decide", decisions[0]) : decide("several", { label, decisions });
  // Shows changed segments at once, before the server sends the same.
  const showNow = (shown) => {
    value = {
      ...value,
      next_id: Math.max(value.next_id, ...shown.map(({ id }) => id + 1)),
      segments: [...value.segments.filter((other) => !shown.some(({ id }) => id === other.id)), ...shown],
    };
    viewport.open(value);
  };
  const withMask = (id, mask, colour) => ({
    ...(segment(id) ?? { words: t("New object"), is_object: true, colour }),
    id,
    rle: mask.encode(),
    source: "human",
    quality: null,
    review: "",
  });

  const actions = {
    new() {
      pick(0);
      startEdit(0);
      if (tool !== "brush") tool = "add";
      redraw();
    },
    accept() {
      const object = singlePicked();
      if (edit?.isWaiting) {
        acceptOnAnswer = true;
        return redraw();
      } // accepted as soon as the answer is there
      const mask = edit?.isChanged ? edit.mask : object && object.source !== "human" && viewport.mask(object.id);
      if (!mask) return edit ? undefined : pick(0);
      if (!mask.area) {
        problem = t("The mask is empty. Paint or click first, or delete the object.");
        return redraw();
      }
      const id = edit?.isChanged ? edit.id || value.next_id : object.id,
        shown = withMask(id, mask, edit?.colour),
        note = taken(mask, id, took);
      decide("mask", { id, mask: shown.rle, clicks: edit?.clicks ?? [] });
      discardEdit();
      showNow([shown]);
      select(id);
      info = note;
      syncSelection();
    },
    discard() {
      if (!helpElement.hidden) return actions.help();
      if (tool === "split") tool = "add";
      else if (edit) discardEdit();
      else return pick(0);
      redraw();
    },
    undo() {
      preview = null;
      if (!edit?.isChanged) return trigger("undo");
      promptRequest.cancel();
      edit.undo();
      if (!edit.steps.length && !edit.id) edit = null;
      redraw();
    },
    redo() {
      preview = null;
      if (!edit?.undone.length) return trigger("redo");
      edit.redo();
      redraw();
    },
    delete() {
      const ids = [...picked];
      if (ids.length) {
        decideSeveral(
          t("{ids} deleted", { ids: ids.join(t(" and ")) }),
          ids.map((id) => ({ kind: "delete_segment", id })),
        );
        discardEdit();
        pick(0);
      }
    },
    merge() {
      const ids = [...picked];
      if (ids.length > 1) {
        decide("merge_segments", { ids, into: Math.min(...ids) });
        pick(0);
      }
    },
    split() {
      const object = singlePicked();
      if (!object) {
        problem = t("Select one object to split.");
        return redraw();
      }
      if (tool === "split") return actions.split_auto();
      turnTo(() => {
        tool = "split";
        redraw();
      });
    },
    split_auto() {
      const object = singlePicked();
      tool = "add";
      if (object) decide("split", { id: object.id });
      redraw();
    },
    toggle_object() {
      const object = singlePicked();
      if (object) decide("not_object", { id: object.id, value: object.is_object });
    },
    hide() {
      hidden = !hidden;
      redraw();
    },
    next_candidate(i) {
      const step = edit?.last;
      if (step?.candidates.length > 1) {
        step.chosen = i ?? (step.chosen + 1) % step.candidates.length;
        redraw();
      }
    },
    compare() {
      const object = singlePicked(),
        mask = edit?.mask ?? (object && viewport.mask(object.id));
      if (!mask?.area) {
        problem = t("Select an object first, then compare segmenters on it.");
        return redraw();
      }
      if (!edit) startEdit(object.id);
      problem = "";
      info = t("Running each segmenter …");
      promptRequest.send({ kind: "compare", token: value.token, rle: mask.encode() });
      redraw();
    },
    smaller() {
      brushSize.value = Math.max(1, Math.round(brushSize.value * 0.8));
      redraw();
    },
    larger() {
      brushSize.value = Math.min(60, Math.ceil(brushSize.value * 1.25));
      redraw();
    },
    zoom_in() {
      viewport.zoomBy(1.4);
      redraw();
    },
    zoom_out() {
      viewport.zoomBy(1 / 1.4);
      redraw();
    },
    fit() {
      viewport.moved = false;
      viewport.fit();
      redraw();
    },
    help() {
      helpElement.hidden = !helpElement.hidden;
    },
  };
  const runAction = (name) => {
    name.startsWith("tool:") ? useTool(name.slice(5)) : actions[name]();
    canvas.focus({ preventScroll: true });
  };
  const useTool = (name) => {
    tool = name;
    problem = "";
    redraw();
  };

  // ---- drawing
  let isScheduled = false;
  const redraw = () => {
    if (!value?.image || isScheduled) return;
    isScheduled = true;
    requestAnimationFrame(() => {
      isScheduled = false;
      if (!value?.image) return;
      paint();
      drawToolbar();
    });
  };
  const radius = () => (Number(brushSize.value) * Math.max(1, (0.5 / viewport.fitZoom) * viewport.ratio)) / 2;
  const isPainting = () => tool === "brush" || tool === "erase";
  const paint = () => {
    if (!viewport.scene) return;
    viewport.draw({
      picked,
      hidden,
      edit,
      hover: edit ? 0 : hover,
      preview,
      drag,
      line,
      brush: isPainting() && mayEdit() && pointerPixel ? { at: pointerPixel, radius: radius() } : null,
      crosshair: keyboardPointer.pixel,
    });
    canvas.style.cursor =
      isSpaceDown || tool === "move"
        ? "grab"
        : !mayEdit()
          ? "default"
          : isPainting()
            ? "none"
            : tool === "several"
              ? "pointer"
              : "crosshair";
  };
  const nameObjects = () => {
    fill(
      objectsElement,
      value.segments.map((object) =>
        h(
          "li",
          { id: `mask-${object.id}`, "aria-current": String(picked.has(object.id)) },
          [`${object.id} ${object.words}`, !object.is_object && t("not an object"), object.review]
            .filter(Boolean)
            .join(", "),
        ),
      ),
    );
    const object = singlePicked();
    if (object) canvas.setAttribute("aria-activedescendant", `mask-${object.id}`);
    else canvas.removeAttribute("aria-activedescendant");
  };
  let drawnState = "";
  const drawToolbar = () => {
    const object = singlePicked(),
      editing = edit && (edit.isChanged || edit.id === 0),
      step = edit?.last;
    canvas.setAttribute("aria-busy", String(Boolean(edit?.isWaiting)));
    brushSizeLabel.hidden = !isPainting();
    brushSizeLabel.lastChild.textContent = `${Math.max(1, Math.round(2 * radius()))} px`;
    drawCandidates(candidatesElement, viewport, edit, (i) => actions.next_candidate(i));
    const hintContent = hintText(object, editing, step);
    const objects = editing
      ? [
          { act: "accept", text: t("Accept"), key: "Enter", primary: true, off: !step && !edit.isWaiting },
          { act: "discard", text: t("Discard"), key: "Esc" },
        ]
      : [
          { act: "new", text: t("New"), key: "N", title: t("New object") },
          { act: "merge", text: t("Merge"), key: "M", title: t("Merge the selected objects"), off: picked.size < 2 },
          {
            act: "split",
            text: t("Split"),
            key: "S",
            title: t("Split the selected object"),
            off: !object,
            on: tool === "split",
          },
          {
            act: "toggle_object",
            text: object && !object.is_object ? t("Object") : t("Non-object"),
            title: object && !object.is_object ? t("Mark as object") : t("Mark as not an object"),
            key: "O",
            off: !object,
          },
          { act: "delete", icon: "bin", text: t("Delete"), key: "Del", off: !picked.size },
        ];
    const rows = [
      [t("Tools"), TOOLS.map((item) => ({ ...item, on: `tool:${tool}` === item.act }))],
      [t("Object"), objects],
      [
        t("View"),
        [
          { act: "undo", text: t("Undo"), key: "Z", off: !(edit?.isChanged || value.can_undo) },
          { act: "redo", text: t("Redo"), key: "Shift-Z", off: !(edit?.undone.length || value.can_redo) },
          { act: "hide", text: t("Hide"), key: "H", title: t("Hide masks"), on: hidden },
          { act: "help", text: t("Keys"), key: "?" },
        ],
      ],
    ];
    // Buttons are rebuilt only if they differ, so that a press is not lost between pointer down and up.
    const state = JSON.stringify(rows);
    if (state !== drawnState) {
      drawnState = state;
      fill(toolbar, groups(rows, runAction));
    }
    const newHint = hintElement.cloneNode(false);
    fill(newHint, hintContent);
    if (!newHint.isEqualNode(hintElement)) {
      hintElement.replaceChildren(...newHint.childNodes);
      hintElement.title = hintElement.textContent;
    }
  };
  const hintText = (object, editing, step) => {
    const name = object && [chip(object), " ", h("strong", {}, object.words)];
    if (problem) return h("span.problem", {}, problem);
    if (!mayEdit())
      return [name, name && ". ", t("Click a mask to select it. You can look at masks, not change them.")];
    if (promptRequest.busy && segmenters.waitText) return segmenters.waitText;
    if (tool === "split" && object)
      return [
        name,
        `${t(": drag a line across it, or")} `,
        h(
          "button.studio-button",
          { "data-act": "split_auto", onclick: () => runAction("split_auto") },
          t("Split automatically"),
        ),
        " (S).",
      ];
    if (step?.candidates.length > 1)
      return [
        info && `${info} `,
        step.candidates[0].title
          ? `${t("Choose a mask (R for the next). Press Enter to accept.")} `
          : `${t("Choose a mask (R for the next) or refine it with clicks. Press Enter to accept.")} `,
        DISCARD_HINT,
      ];
    if (info) return info;
    if (edit?.id === 0)
      return [
        h("strong", {}, `${t("New object.")} `),
        step
          ? [
              `${t("Click to add, right-click to remove. Press Enter to accept.")} `,
              h("span.review", {}, `${taken(edit.mask, 0, takes)} `),
              qualityMeter(step.candidates[step.chosen].quality),
            ]
          : tool === "brush"
            ? t("Paint its mask.")
            : t("Click it, drag a box around it, or paint it."),
      ];
    if (editing)
      return [
        name,
        ` ${t("edited. Click to add, right-click to remove. Press Enter to accept.")} `,
        DISCARD_HINT,
        step && h("span.review", {}, ` ${taken(edit.mask, edit.id, takes)}`),
        " ",
        qualityMeter(step?.candidates[step.chosen].quality),
      ];
    if (picked.size > 1) return t("{count} selected. Press M to merge, Del to delete.", { count: picked.size });
    if (object?.review)
      return [
        name,
        " ",
        h("span.review", {}, t("! Needs review")),
        ` ${t("{review} Correct it, or press Enter to accept it.", { review: object.review })} `,
        qualityMeter(object.quality),
      ];
    if (object)
      return [
        name,
        `, ${SOURCES[object.source] ?? `segmented by ${object.source}`}. `,
        qualityMeter(object.quality),
        ` ${t("Click to add, right-click to remove.")}`,
      ];
    return t("Click a mask to select it. Click elsewhere or drag a box to segment a new object.");
  };

  // ---- pointer
  const clamp = ([x, y]) => [Math.min(value.width - 1, Math.max(0, x)), Math.min(value.height - 1, Math.max(0, y))];
  const tap = (place, minus, more) => {
    const pixel = viewport.pixelAt(place),
      id = viewport.contains(pixel) ? viewport.segmentAt(pixel) : -1;
    if (id < 0) return pick(0);
    if (!mayEdit()) return pick(id);
    if (more || tool === "several") return id ? pick(id, true) : undefined;
    if (!edit && id && !picked.has(id) && (!minus || !picked.size)) return pick(id);
    if (!edit && minus && !picked.size) return;
    if (!edit) {
      const object = singlePicked();
      if (!object) select(null);
      startEdit(object?.id ?? 0);
      if (!object) syncSelection();
    }
    if (minus && !edit.mask && !edit.isWaiting) {
      if (!edit.id) edit = null;
      problem = t("Select an object first, then remove from it.");
      return redraw();
    }
    edit.clicks.push([...pixel, minus ? 0 : 1]);
    sendPrompt();
  };
  const paintStroke = (from, to, minus, isNewStroke) => {
    if (isNewStroke) {
      promptRequest.cancel();
      problem = info = "";
      if (!edit) startEdit(singlePicked()?.id ?? 0);
    }
    edit.paint(
      [value.width, value.height],
      viewport.pixelAt(from),
      viewport.pixelAt(to),
      radius(),
      tool === "brush" && !minus ? 1 : 0,
      isNewStroke,
    );
    redraw();
  };
  const promptWithBox = (from, to) => {
    const [[x0, y0], [x1, y1]] = [clamp(viewport.pixelAt(from)), clamp(viewport.pixelAt(to))];
    drag = null;
    if (Math.abs(x1 - x0) < 2 || Math.abs(y1 - y0) < 2) return redraw();
    if (!edit) {
      select(null);
      startEdit(0);
      syncSelection();
    }
    edit.box = [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)];
    sendPrompt();
  };
  const splitAlong = (from, to) => {
    const object = singlePicked(),
      parts = object ? viewport.mask(object.id).splitAlong(viewport.pixelAt(from), viewport.pixelAt(to)) : [];
    line = null;
    if (!object || !parts[1].area) {
      problem = t("The line does not cross the object. Drag it across.");
      return redraw();
    }
    const shown = [withMask(object.id, parts[0]), withMask(value.next_id, parts[1], value.next_colour)];
    decideSeveral(
      t("{id} split", { id: object.id }),
      shown.map(({ id, rle }) => ({ kind: "mask", id, mask: rle, clicks: [] })),
    );
    tool = "add";
    showNow(shown);
    select(object.id);
    syncSelection();
  };
  let previewTimer = 0;
  const requestPreview = () => {
    const object = singlePicked(),
      mask = edit ? edit.mask : object && viewport.mask(object.id);
    if (!pointerPixel || edit?.isWaiting || promptRequest.busy || mask?.at(...pointerPixel)) return;
    previewRequest.send({
      kind: "prompt",
      token: value.token,
      points: [pointerPixel],
      labels: [1],
      rle: mask ? mask.encode() : null,
    });
  };
  const handlers = {
    pans: () => isSpaceDown || tool === "move",
    press(start) {
      preview = null;
      if (value && isPainting() && mayEdit()) paintStroke(start, start, start.minus, true);
    },
    drag(start, before, now) {
      if (!value) return;
      pointerPixel = viewport.pixelAt(now);
      if (!mayEdit()) return;
      if (isPainting()) return paintStroke(before, now, start.minus, false);
      if (!start.dragged || tool === "several") return;
      if (tool === "split") line = [...viewport.pixelAt(start), ...pointerPixel];
      else if (!start.minus) drag = [...viewport.pixelAt(start), ...pointerPixel];
      redraw();
    },
    release(start, event) {
      if (!value || (isPainting() && mayEdit())) return;
      if (start.dragged && tool === "split") return splitAlong(start, event);
      if (drag) return promptWithBox(start, event);
      if (tool !== "split") tap(event, start.minus || tool === "remove", start.more);
    },
    drop() {
      drag = line = null;
      redraw();
    },
    pan(dx, dy) {
      viewport.pan(dx, dy);
      redraw();
    },
    zoom(place, factor) {
      if (value) {
        viewport.zoomAt(place, factor);
        redraw();
      }
    },
    leave() {
      hover = 0;
      pointerPixel = preview = null;
      clearTimeout(previewTimer);
      previewRequest.cancel();
      redraw();
    },
    hover(event) {
      if (!value || !viewport.scene) return;
      pointerPixel = viewport.pixelAt(event);
      const id = viewport.contains(pointerPixel) ? viewport.segmentAt(pointerPixel) : 0;
      const hasLeft = preview && !preview.at(...pointerPixel);
      if (hasLeft) preview = null;
      if (id !== hover || hasLeft || isPainting()) {
        hover = id;
        redraw();
      }
      clearTimeout(previewTimer);
      // Previews the mask of a click. A click on another mask would select that one instead.
      if (
        mayEdit() &&
        (!id || edit) &&
        !preview &&
        tool === "add" &&
        viewport.contains(pointerPixel) &&
        event.pointerType === "mouse" &&
        segmenters.chosen?.state === "ready"
      )
        previewTimer = setTimeout(requestPreview, PREVIEW_DELAY_MS);
      if (keyboardPointer.pixel) {
        underElement.textContent = segment(id)?.words ?? t("No object here");
        redraw();
      }
    },
  };
  gestures(canvas, handlers);
  const keyboardPointer = new KeyboardPointer(canvas, viewport, handlers, () => {
    const object = singlePicked();
    return object ? viewport.mask(object.id).centre : [value.width / 2, value.height / 2];
  });

  // Closes the open menus except the one that holds the target; returns whether any was open.
  const closeMenus = (target = null) => {
    const open = [...root.querySelectorAll("details.menu[open]")].filter((menu) => !menu.contains(target));
    for (const menu of open) menu.open = false;
    return open.length > 0;
  };

  // ---- keys, wherever the focus is while this page is shown
  const onKeyDown = (event) => {
    if (!element.isConnected) {
      document.removeEventListener("keydown", onUndoKey, true);
      document.removeEventListener("keydown", onKeyDown);
      document.removeEventListener("keyup", onKeyUp);
      return;
    }
    if (!value || !isInReach(root)) return;
    const key = keyOf(event);
    if (key === null) return;
    const closed = closeMenus();
    if (key === "Escape" && closed) return;
    if (key === "Space") isSpaceDown = true;
    else if (/^[1-9]$/.test(key)) {
      if (segment(Number(key))) pick(Number(key));
    } else if (key === "z" && mayEdit()) event.shiftKey ? actions.redo() : actions.undo();
    else if (SHORTCUTS[key] && !mayEdit() && !LOOKING.has(key)) return;
    else if (SHORTCUTS[key]?.tool) useTool(SHORTCUTS[key].tool);
    else if (SHORTCUTS[key]?.act) actions[SHORTCUTS[key].act]();
    else return;
    event.preventDefault();
    redraw();
  };
  // Ctrl-Z first undoes clicks of the open edit; decisions are undone by the top bar.
  const onUndoKey = (event) => {
    if (
      !edit ||
      !isInReach(root) ||
      !(event.ctrlKey || event.metaKey) ||
      event.key.toLowerCase() !== "z" ||
      event.target.closest("input:not([type=range]), textarea, .cm-editor")
    )
      return;
    event.preventDefault();
    event.stopPropagation();
    event.shiftKey ? actions.redo() : actions.undo();
  };
  const onKeyUp = (event) => {
    if (event.key === " ") {
      isSpaceDown = false;
      redraw();
    }
  };
  document.addEventListener("keydown", onUndoKey, true);
  document.addEventListener("keydown", onKeyDown);
  document.addEventListener("keyup", onKeyUp);

  fill(
    helpElement,
    h("strong", {}, t("Keyboard shortcuts")),
    Object.values(SHORTCUTS)
      .filter(({ name }) => name)
      .map(({ name, help }) => h("div", {}, h("kbd", {}, name), help)),
  );
  const zoomButtons = h(
    "div.zoom-buttons",
    {},
    [
      ["zoom_in", t("Zoom in"), "+"],
      ["zoom_out", t("Zoom out"), "−"],
      ["fit", t("Fit to window"), "F"],
    ].map(([name, title, key]) => button({ act: name, text: "", title, key }, runAction)),
  );
  fill(
    root,
    toolbar,
    h("div.stage", {}, photo, canvas, underElement, brushSizeLabel, zoomButtons, candidatesElement, helpElement),
    h("div.foot", {}, hintElement, importExport, segmenters.element),
  );
  onRefusals(element, () => {
    if (!mayEdit()) discardEdit();
    redraw();
  });
  root.addEventListener("pointerdown", (event) => closeMenus(event.target));
  new ResizeObserver(() => {
    viewport.fit();
    redraw();
  }).observe(canvas.parentElement);
  new IntersectionObserver(([entry]) => {
    isShown = entry.isIntersecting;
    prepare();
  }).observe(root);
  onSelect(element, () => {
    if (!value) return;
    const wanted = [selected(), ...alsoSelected()];
    if (!edit || (wanted.length === 1 && wanted[0] === (edit.id || null))) return syncSelection();
    turnTo(() => {
      select(null);
      for (const id of wanted) if (id) toggleSelected(id);
      syncSelection();
    });
  });

  return async (next) => {
    root.classList.toggle("blank", !next?.image);
    if (!next?.image) {
      value = null;
      discardEdit();
      return;
    }
    if (next.token !== value?.token) {
      discardEdit();
      tool = "add";
      preview = null;
      drawnState = "";
    }
    value = next;
    segmenters.open(value.token);
    prepare();
    await viewport.open(value);
    if (value) syncSelection(); // else the project was closed while its photograph loaded
  };
}
