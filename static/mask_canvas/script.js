// The photograph with its masks, and the tools that correct them.
import { isInReach } from "/static/studio/covering.js";
import { shortcuts } from "/static/studio/keyboard.js";
import { hear } from "/static/studio/page_events.js";
import { alsoSelected, onSelect, select, selected, toggleSelected } from "/static/studio/selection.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";
import { follow, html, mounts, signal, untracked, View } from "/static/studio/view.js";
import { Actions } from "./actions.js";
import { Gestures } from "./gestures.js";
import { Hint } from "./hint.js";
import { ImportExport } from "./import_export.js";
import { KeyboardPointer } from "./keyboard_pointer.js";
import { Candidates } from "./mask_candidates.js";
import { MaskWork, mayEdit } from "./mask_work.js";
import { PointerTools } from "./pointer_tools.js";
import { Segmenters } from "./segmenters.js";
import { shortcutsOf } from "./shortcuts.js";
import { Tool, Toolbar } from "./toolbar.js";
import { Viewport } from "./viewport.js";

const ZOOMS = [
  { act: "zoom_in", title: t("Zoom in"), keys: "+" },
  { act: "zoom_out", title: t("Zoom out"), keys: "−" },
  { act: "fit", title: t("Fit to window"), keys: "F" },
];

export class MaskCanvas extends View {
  brushSize = 12;
  isHidden = false; // the masks
  isShown = false; // this page
  isScheduled = false;
  frame = signal(0); // counts what was drawn

  constructor(context) {
    super(context);
    const ask = asker(this.server),
      send = (request) => this.server.ask(request),
      redraw = () => this.redraw();
    this.viewport = new Viewport();
    this.work = new MaskWork({ send: this.send, ask: send, viewport: this.viewport, redraw });
    this.actions = new Actions(this.work, this);
    this.pointer = new PointerTools(this.work, this);
    this.segmenters = new Segmenters(ask, {
      compare: () => this.actions.run("compare"),
      changed: (problem) => (problem ? this.work.refuse(problem) : redraw()),
      find: (name, settings) => this.find(name, settings),
    });
    this.files = new ImportExport((request) => ask({ ...request, token: this.work.scene?.token }), {
      say: (text, isError) => this.say(text, isError),
      imported: () => this.takeImport(),
    });
  }

  /** Once the canvas is in the page. */
  ready() {
    const { work, viewport, root } = this,
      [canvas, photo] = [root.querySelector("canvas"), root.querySelector("img")];
    viewport.show(canvas, photo);
    new Gestures(canvas, this.pointer);
    this.crosshair = new KeyboardPointer(canvas, viewport, this.pointer, () =>
      work.object ? viewport.mask(work.object.id).centre : [work.scene.width / 2, work.scene.height / 2],
    );
    this.listen();
    new ResizeObserver(() => {
      viewport.fit();
      this.redraw();
    }).observe(canvas.parentElement);
    new IntersectionObserver(([entry]) => {
      this.isShown = entry.isIntersecting;
      this.prepare();
    }).observe(root);
    follow(root, () => this.open(this.value));
    follow(root, () => {
      const mayChange = mayEdit();
      untracked(() => mayChange || work.discard());
      this.redraw();
    });
    onSelect(root, () => this.takeSelection());
  }

  prepare() {
    if (this.isShown && mayEdit()) this.segmenters.prepare();
  }

  find(name, settings) {
    this.work.discard();
    select(null);
    this.work.info = t("Segmenting the frame. The status bar shows progress and can stop it.");
    this.send("find", { name, settings });
    this.work.syncSelection();
  }

  say(text, isError) {
    this.work.problem = isError ? text : "";
    this.work.info = isError ? "" : text;
    this.redraw();
  }

  takeImport() {
    this.work.prompts.cancel();
    this.work.edit = null;
    select(null);
    this.send("changed");
  }

  async open(scene) {
    const { work } = this;
    this.root.classList.toggle("blank", !scene.image);
    if (!scene.image || scene.token !== work.scene?.token) {
      work.discard();
      work.tool = "add";
    }
    work.scene = scene.image ? scene : null;
    if (!scene.image) return;
    this.segmenters.open(scene.token);
    untracked(() => this.prepare());
    await this.viewport.open(scene);
    if (work.scene) work.syncSelection(); // else the project was closed while its photograph loaded
  }

  takeSelection() {
    const { work } = this,
      wanted = [selected(), ...alsoSelected()];
    if (!work.scene) return;
    if (!work.edit || (wanted.length === 1 && wanted[0] === (work.edit.id || null))) return work.syncSelection();
    work.turnTo(() => {
      select(null);
      for (const id of wanted) if (id) toggleSelected(id);
      work.syncSelection();
    });
  }

  // ---- drawing

  redraw() {
    if (!this.work.scene?.image || this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      if (!this.work.scene?.image) return;
      this.paint();
      this.frame.value++;
    });
  }

  /** The brush's radius in pixels of the photograph. */
  get radius() {
    return (this.brushSize * Math.max(1, (0.5 / this.viewport.fitZoom) * this.viewport.ratio)) / 2;
  }

  paint() {
    const { work, pointer, viewport } = this;
    if (!viewport.scene) return;
    viewport.draw({
      picked: work.picked,
      hidden: this.isHidden,
      edit: work.edit,
      hover: work.edit ? 0 : pointer.under,
      preview: work.preview,
      drag: pointer.box,
      line: pointer.line,
      brush: work.isPainting && mayEdit() && work.pointer ? { at: work.pointer, radius: this.radius } : null,
      crosshair: this.crosshair.pixel,
    });
  }

  get cursor() {
    if (this.pointer.pans()) return "grab";
    if (!mayEdit()) return "default";
    if (this.work.isPainting) return "none";
    return this.work.tool === "several" ? "pointer" : "crosshair";
  }

  press(action) {
    this.actions.run(action);
    this.viewport.canvas.focus({ preventScroll: true });
  }

  template() {
    this.frame.value; // drawn again with the canvas
    const { work, viewport, segmenters } = this,
      press = (action) => this.press(action);
    return html`<${Toolbar} work=${work} isHidden=${this.isHidden} onPress=${press} />
      <div class="stage"><img class="photo" alt="" />${this.canvas()}
        <p class="under hidden-text" role="status">
          ${this.crosshair?.pixel && (work.segment(this.pointer.under)?.words ?? t("No object here"))}</p>
        ${this.brush()}
        <div class="zoom-buttons">${ZOOMS.map((zoom) => html`<${Tool} text="" ...${zoom} onPress=${press} />`)}</div>
        <${Candidates} viewport=${viewport} edit=${work.edit}
          onChoose=${(index) => this.actions.run("next_candidate", index)} />
      </div>
      <div class="foot">
        <${Hint} work=${work} waitText=${segmenters.waitText} run=${press} />
        ${this.files.template()}${segmenters.template()}
      </div>`;
  }

  // Its children are what a screen reader finds in it.
  canvas() {
    const { object, edit, picked, scene } = this.work,
      words = ({ id, words: name, is_object, review }) =>
        [`${id} ${name}`, !is_object && t("not an object"), review].filter(Boolean).join(", ");
    return html`<canvas tabindex="0" role="application" style=${`cursor:${this.cursor}`}
      aria-label=${t("Masks: arrow keys move a crosshair, Space clicks, held Space drags")}
      aria-describedby="mask-hint" aria-busy=${Boolean(edit?.isWaiting)}
      aria-activedescendant=${object ? `mask-${object.id}` : null}>
      <ul aria-label=${t("Objects")}>${scene?.segments.map(
        (one) => html`<li id=${`mask-${one.id}`} aria-current=${picked.has(one.id)} key=${one.id}>${words(one)}</li>`,
      )}</ul>
    </canvas>`;
  }

  brush() {
    if (!this.work.isPainting) return null;
    const size = (event) => {
      this.brushSize = Number(event.target.value);
      this.redraw();
    };
    return html`<label class="brush-size flow">${t("Size")}<input type="range" min="1" max="60" value=${this.brushSize}
      aria-label=${t("Brush size")} oninput=${size} />
      <output>${`${Math.max(1, Math.round(2 * this.radius))} px`}</output></label>`;
  }

  // ---- keys, wherever the focus is while this page is shown

  listen() {
    const isOn = () => this.work.scene && isInReach(this.root);
    shortcuts(this.root, { title: t("Masks"), keys: () => this.keys(), isOn });
    hear(this.root, document, "keyup", ({ key }) => {
      if (key !== " ") return;
      this.pointer.isSpaceDown = false;
      this.redraw();
    });
    this.root.addEventListener("pointerdown", (event) => this.closeMenus(event.target));
  }

  takeShortcut(key, { id, tool, act }, { shiftKey }) {
    const closed = this.closeMenus();
    if (key === "Escape" && closed) return;
    if (key === "Space") this.pointer.isSpaceDown = true;
    else if (id) this.work.segment(id) && this.work.pick(id);
    else this.actions.run(tool ? `tool:${tool}` : act === "undo" && shiftKey ? "redo" : act);
    this.redraw();
  }

  keys() {
    const keys = shortcutsOf(mayEdit(), (...pressed) => this.takeShortcut(...pressed));
    // Ctrl-Z first undoes clicks of the open edit; decisions are undone by the top bar.
    return this.work.edit ? { ...keys, "mod+z": keys.z } : keys;
  }
  /** Closes the open menus except the one that holds the target; returns whether any was open. */
  closeMenus(target = null) {
    const menus = /** @type {HTMLDetailsElement[]} */ ([...this.root.querySelectorAll("details.menu[open]")]),
      open = menus.filter((menu) => !menu.contains(target));
    for (const menu of open) menu.open = false;
    return open.length > 0;
  }
}

export default mounts(MaskCanvas);
