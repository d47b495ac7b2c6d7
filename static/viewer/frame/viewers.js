// Recordings side by side, or one over the other, each in a viewer. They share a clock.
import { fill, h } from "/static/studio/dom.js";
import { arrived, join, leave } from "/static/viewer/frame/shared_clock.js";
import { t } from "/static/studio/texts.js";

export class Viewers {
  /** `onTime` gets the clock's time in seconds whenever it changes. */
  constructor(onTime) {
    this.onTime = onTime;
    this.panes = {}; // frames by the name of their pane
    this.loaded = new Set(); // panes that show their view
    this.sought = null; // seconds: was asked for and is not shown yet
    this.overlaid = false;
    this.panesElement = h("div.panes");
    this.toggle = h("div.layout-choice", { role: "group", "aria-label": t("Layout") });
    this.element = h("section.viewers", {}, this.panesElement);
    this.onMessage = (event) => this.#receive(event);
  }

  /** Shows recordings [{name, title, token}] side by side, or `ghost`, one like them, in their place; none hides all. */
  show(recordings, ghost = null) {
    this.recordings = recordings;
    this.ghost = ghost;
    this.overlaid &&= Boolean(ghost);
    this.element.hidden = !recordings.length;
    this.toggle.hidden = !ghost;
    this.sought = null;
    removeEventListener("message", this.onMessage);
    if (recordings.length) addEventListener("message", this.onMessage);
    this.#draw();
  }

  /** Goes to a time in seconds, once a viewer has loaded. */
  seek(time) {
    this.sought = time;
    this.#sendSeek();
  }

  /** Sends the time that is asked for to one viewer, whose clock the others follow. */
  #sendSeek() {
    const [frame] = Object.values(this.panes);
    if (this.sought === null || !this.loaded.has(frame)) return;
    frame.contentWindow.postMessage({ type: "seek", time: this.sought }, location.origin);
  }

  /** Reports a time that a viewer shows, unless it is one from before a seek; a shorter recording stops at its end. */
  #report({ time, begin, end }) {
    if (this.sought !== null && time !== Math.min(Math.max(this.sought, begin), end)) return;
    this.sought = null;
    this.onTime(time);
  }

  #draw() {
    for (const frame of Object.values(this.panes)) leave(frame);
    this.panes = {};
    this.loaded.clear();
    fill(
      this.panesElement,
      (this.overlaid ? [this.ghost] : this.recordings).map(({ name, title, token }) => {
        const frame = h("iframe", { title, src: `/viewer/#${token}` });
        this.panes[name] = frame;
        return h("figure.pane", { "data-pane": name }, h("figcaption", { title }, title), frame);
      }),
    );
    fill(this.toggle, this.#choice(false, t("Side by side")), this.#choice(true, t("Ghost overlay")));
  }

  #choice(overlaid, title) {
    return h(
      `button.studio-button${this.overlaid === overlaid ? ".on" : ""}`,
      {
        "aria-pressed": String(this.overlaid === overlaid),
        onclick: () => {
          this.overlaid = overlaid;
          this.#draw();
        },
      },
      title,
    );
  }

  #receive({ source, origin, data }) {
    const sender = Object.values(this.panes).find((frame) => frame.contentWindow === source);
    if (!sender || origin !== location.origin) return;
    if (data.type === "loaded") {
      this.loaded.add(sender);
      if (!this.overlaid) {
        join(sender);
        sender.contentWindow.postMessage({ type: "beside", on: true }, location.origin);
      }
      this.#sendSeek();
    }
    if (data.type === "frame") arrived(sender, data);
    if (data.type === "time" && this.loaded.has(sender)) this.#report(data);
    if (data.type === "steered") this.sought = null;
    if (data.type === "camera")
      for (const frame of Object.values(this.panes))
        if (frame !== sender) frame.contentWindow?.postMessage(data, location.origin);
  }
}
