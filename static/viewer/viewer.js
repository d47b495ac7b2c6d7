// The viewer: the twin of one view at a time, what of it is shown and how, and the selected object.
import { Vector3 } from "three";
import { areShortcutsListed, listShortcuts } from "../studio/keyboard.js";
import { t } from "../studio/texts.js";
import { batch, follow, signal } from "../studio/view.js";
import { Adjust } from "./adjust.js";
import { CameraInsets } from "./camera_insets.js";
import { CameraViews } from "./camera_views.js";
import { Contacts } from "./contacts.js";
import { Ghosts } from "./ghosts.js";
import { Grasps } from "./grasps.js";
import { Joints } from "./joints.js";
import { Labels } from "./labels.js";
import { Loading } from "./loading.js";
import { postToParent } from "./messages.js";
import { ObjectNames } from "./object_names.js";
import { PhotoComparison } from "./photo_comparison.js";
import { Playback } from "./playback.js";
import { Pointer } from "./pointer.js";
import { Splats } from "./splats.js";
import { Turntable } from "./turntable.js";

const ACCENT = "#ffd24a",
  HOVERED = "#ffffff";
const HEADROOM = 44; // pixels that the tools take, where the view is small
const CARRY_M = 0.01; // per key
const NOTICE_MS = 6000;

export class Viewer {
  // What the panels show
  notice = signal("");
  caption = signal("");
  header = signal(/** @type {any} */ (null)); // of the model
  selected = signal("");
  viewName = signal("free");
  showsCollision = signal(false);
  showsBackground = signal(true); // of the photograph; beside it, never
  showsSplats = signal(true);
  adjusting = signal({ mode: null, all: false });
  adjustOffer = signal({ isAllowed: false, isRefused: false, isShown: false });
  ghostNames = signal("");

  twin = null;
  palette = {};
  about = null; // names of the objects that may be selected from outside; null for all
  isBeside = false; // another recording on the same clock
  noticeEnds = 0;

  /** A `standalone` viewer shows a model without a photograph, which turns until it is touched. */
  constructor({ renderer, canvas, photo, difference, labels, objects, standalone }) {
    this.canvas = canvas;
    this.difference = difference;
    this.standalone = standalone;
    this.renderer = renderer;
    this.views = new CameraViews(renderer, canvas, photo, difference);
    this.views.headroom = standalone ? HEADROOM : 0;
    this.labels = new Labels(labels, renderer, this.views);
    this.contacts = new Contacts(renderer.scene);
    this.ghosts = new Ghosts(renderer.scene, (name) => this.colourOf(name));
    this.insets = new CameraInsets(renderer);
    this.splats = new Splats(renderer, () => this.#showBackground());
    this.turntable = new Turntable(renderer, this.views, canvas);
    this.grasps = new Grasps(
      (text) => this.notify(text),
      () => renderer.requestDraw(),
    );
    this.joints = new Joints((op, fields) => this.send(op, fields));
    this.objectNames = new ObjectNames(canvas, objects, (name) => this.wordsOf(name));
    this.pointer = this.#pointer();
    this.adjust = this.#adjust();
    this.pointer.occupied = () => this.adjust.busy;
    this.loading = new Loading(this);
    this.playback = new Playback(this);
    this.comparison = new PhotoComparison(this);
    this.#listen();
    this.#mark(document.body);
  }

  #pointer() {
    return new Pointer(this.renderer, this.views, this.canvas, {
      onHover: (name) => this.hover(name),
      onRay: (ray, event) => this.grasps.hover(ray, event),
      onSelect: (name) => this.select(name),
      onPush: (push) => this.send("push", push),
      onRelease: () => this.send("release"),
    });
  }

  #adjust() {
    return new Adjust(this.renderer, this.views, this.canvas, {
      onTry: (state) => postToParent({ type: "adjusting", state }),
      onDone: (state) => postToParent({ type: "adjusted", state }),
      onMode: (mode, all) => {
        this.adjusting.value = { mode, all };
        // Adjusts the twin's pose, not a later state of the simulation.
        if (mode && (this.playback.status.value.playing || this.playback.timeline.time > 0)) this.send("reset");
      },
    });
  }

  #listen() {
    const { renderer, views } = this;
    renderer.onResize = (width, height) => {
      if (this.twin) views.resize(width, height);
      this.twin?.resize(width, height);
      this.insets.resize();
    };
    views.onShow = (name) => {
      this.viewName.value = name;
      this.insets.isHidden.value = name === "photo";
      this.#showBackground();
      this.hover("");
      this.comparison.update();
      this.turntable.set(false);
    };
    views.onMove = (position, target) => postToParent({ type: "camera", position, target });
  }

  /** What the style sheet knows of the page. */
  #mark(body) {
    const marks = {
      standalone: () => this.standalone,
      arranging: () => this.playback.status.value.layout,
      playing: () => this.playback.status.value.playing,
      pushing: () => this.pointer.isPushing.value,
    };
    for (const [name, isOn] of Object.entries(marks)) follow(body, () => body.classList.toggle(name, Boolean(isOn())));
    follow(body, () => {
      body.dataset.view = this.viewName.value;
      body.dataset.selected = this.header.value ? this.selected.value : "";
      body.dataset.ghosts = this.ghostNames.value;
      body.dataset.held = this.playback.held.value?.check ?? "";
    });
  }

  send(op, fields = {}) {
    postToParent({ type: "steered" });
    this.loading.connection?.send(op, fields);
  }

  notify(text) {
    this.notice.value = text;
    clearTimeout(this.noticeEnds);
    this.noticeEnds = setTimeout(() => (this.notice.value = ""), NOTICE_MS);
  }

  // The view

  /** Shows a twin, or the present one again with another motion if `next` is null. */
  show(next, { header, focus }, token) {
    const { renderer } = this;
    if (next) {
      this.twin?.root.removeFromParent();
      this.header.value = header;
      this.twin = this.pointer.twin = this.labels.twin = next;
      renderer.scene.add(next.root);
      next.resize(...renderer.size);
      next.showCollisions(this.showsCollision.value);
      this.#showBackground();
      this.splats.load(next, token, header.splats);
      renderer.illuminate(next.bounds(), header.light);
    }
    const { twin } = this,
      about = this.header.value;
    this.adjust.show(twin);
    this.showInsets();
    this.ghosts.show(null);
    this.joints.show(about.joints, twin.names);
    this.grasps.show(twin, token);
    this.labels.setSuffix("");
    this.playback.measuresNumber = -1;
    this.difference.removeAttribute("src");
    const points = focus?.map((point) => new Vector3().fromArray(point)) ?? twin.corners(),
      picture = about.picture ? `${encodeURIComponent(token)}/photo.png` : "";
    this.views.frame(points, about.camera, picture, Boolean(focus));
    this.comparison.update();
    this.select(this.selected.value, true); // the studio may select an object that this view lacks
  }

  showInsets() {
    if (this.twin) this.insets.show(this.twin, this.isBeside ? this.header.value.cameras : []);
  }

  showGhosts() {
    this.ghostNames.value = this.ghosts.show(this.twin).join(" ");
    this.renderer.requestDraw();
  }

  // Selection

  wordsOf(name) {
    return this.labels.names.value[name] ?? name.replaceAll("_", " ");
  }

  colourOf(name) {
    return this.palette[name] ?? ACCENT;
  }

  select(name, fromParent = false) {
    const { twin } = this,
      selected = twin?.names.includes(name) ? name : "",
      colour = this.colourOf(selected);
    batch(() => {
      this.selected.value = this.joints.object.value = this.objectNames.selected.value = selected;
      this.objectNames.names.value = twin?.names ?? [];
    });
    twin?.outline("selected", selected, colour);
    this.labels.set("selected", selected, colour);
    this.adjust.select(selected);
    this.grasps.select(selected);
    this.#offerAdjust();
    this.hover("");
    if (fromParent) return;
    this.objectNames.announcement.value = selected
      ? t("{name} selected", { name: this.wordsOf(selected) })
      : t("Nothing selected");
    postToParent({ type: "select", name: selected });
  }

  hover(name) {
    this.canvas.classList.toggle("over", Boolean(name));
    this.twin?.outline("hovered", name === this.selected.value ? "" : name, HOVERED);
    this.labels.set("hovered", name);
  }

  // Adjusting an object

  allowAdjust(on, isRefused) {
    this.adjust.allow(on, isRefused);
    this.adjust.select(this.selected.value);
    this.#offerAdjust();
  }

  #offerAdjust() {
    const { allowed: isAllowed, refused: isRefused } = this.adjust,
      isShown = isAllowed && Boolean(this.twin?.bodyOf(this.selected.value));
    this.adjustOffer.value = { isAllowed, isRefused, isShown };
  }

  // Cycles: rotate about z, rotate about all axes, off.
  setAdjust(mode) {
    const { adjust } = this,
      isRetry = mode === "rotate" && adjust.mode === "rotate" && !adjust.all;
    if (this.adjustOffer.value.isShown) adjust.setMode(mode, isRetry || (mode === "rotate" && adjust.all));
  }

  /** Moves the selected object by an arrow key, if it can be. */
  nudge({ key, shiftKey }) {
    return this.adjust.nudge(key, shiftKey) || this.#carry(key, shiftKey);
  }

  // Moves the selected object of a layout that is arranged by hand along the table.
  #carry(key, isLarge) {
    const body = this.twin?.bodyOf(this.selected.value);
    if (!this.playback.status.value.layout || !body || !key.startsWith("Arrow")) return false;
    const forward = key === "ArrowRight" || key === "ArrowUp" ? 1 : -1,
      step = forward * (isLarge ? 10 : 1) * CARRY_M,
      target = body.position.clone().addScaledVector(this.adjust.axis(key), step);
    this.send("push", { body: body.userData.index, point: [0, 0, 0], target: target.toArray() });
    return true;
  }

  // Tools

  toggleContacts() {
    this.send("contacts", { on: !this.playback.status.value.contacts });
  }

  togglePush() {
    this.pointer.isPushing.value = !this.pointer.isPushing.value;
  }

  toggleCollision() {
    this.showsCollision.value = !this.showsCollision.value;
    this.twin?.showCollisions(this.showsCollision.value);
    this.renderer.requestDraw();
  }

  toggleBackground() {
    this.showsBackground.value = !this.showsBackground.value;
    this.#showBackground();
  }

  toggleSplats() {
    this.showsSplats.value = !this.showsSplats.value;
    this.#showBackground();
  }

  #showBackground() {
    this.twin?.showSplats(this.showsSplats.value);
    this.twin?.showBackground(this.showsBackground.value && this.viewName.value !== "photo");
    this.renderer.requestDraw();
  }

  toggleGrasps() {
    if (!this.header.value?.grasps) return;
    this.grasps.toggle();
    if (this.grasps.on.value && !this.selected.value) this.notify(t("Select an object to see its grasps."));
  }

  /** Closes the help, else ends adjusting, else clears the selection. */
  cancel() {
    if (areShortcutsListed()) listShortcuts(false);
    else if (this.adjust.mode) this.adjust.setMode(null);
    else this.select("");
  }
}
