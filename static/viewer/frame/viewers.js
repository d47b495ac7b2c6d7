// Recordings side by side, or one over the other, each in a viewer. They share a clock.
import { t } from "/static/studio/texts.js";
import { batch, classes, html, signal } from "/static/studio/view.js";
import { arrived, join } from "/static/viewer/frame/shared_clock.js";

export class Viewers {
  recordings = signal(/** @type {any[]} */ ([]));
  ghost = signal(/** @type {any} */ (null));
  isOverlaid = signal(false);
  loaded = new WeakSet(); // frames that show their view
  sought = /** @type {number | null} */ (null); // seconds: was asked for and is not shown yet
  panes = /** @type {HTMLElement | null} */ (null);
  onMessage = (event) => this.#receive(event);

  /** `onTime` gets the clock's time in seconds whenever it changes. */
  constructor(onTime) {
    this.onTime = onTime;
  }

  /** Shows recordings [{name, title, token}] side by side, or `ghost`, one like them, in their place; none hides. */
  show(recordings, ghost = null) {
    batch(() => {
      this.recordings.value = recordings;
      this.ghost.value = ghost;
      if (!ghost) this.isOverlaid.value = false;
    });
    this.sought = null;
    removeEventListener("message", this.onMessage);
    if (recordings.length) addEventListener("message", this.onMessage);
  }

  /** Goes to a time in seconds, once a viewer has loaded. */
  seek(time) {
    this.sought = time;
    this.#sendSeek();
  }

  get #frames() {
    return [...(this.panes?.querySelectorAll("iframe") ?? [])];
  }

  /** Sends the time that is asked for to one viewer, whose clock the others follow. */
  #sendSeek() {
    const [frame] = this.#frames;
    if (this.sought === null || !this.loaded.has(frame)) return;
    frame.contentWindow.postMessage({ type: "seek", time: this.sought }, location.origin);
  }

  /** Reports a time that a viewer shows, unless it is one from before a seek; a shorter recording stops at its end. */
  #report({ time, begin, end }) {
    if (this.sought !== null && time !== Math.min(Math.max(this.sought, begin), end)) return;
    this.sought = null;
    this.onTime(time);
  }

  #receive({ source, origin, data }) {
    const frames = this.#frames,
      sender = frames.find((frame) => frame.contentWindow === source);
    if (!sender || origin !== location.origin) return;
    if (data.type === "loaded") {
      this.loaded.add(sender);
      if (!this.isOverlaid.value) {
        join(sender);
        sender.contentWindow.postMessage({ type: "beside", on: true }, location.origin);
      }
      this.#sendSeek();
    }
    if (data.type === "frame") arrived(sender, data);
    if (data.type === "time" && this.loaded.has(sender)) this.#report(data);
    if (data.type === "steered") this.sought = null;
    if (data.type === "camera")
      for (const frame of frames) if (frame !== sender) frame.contentWindow?.postMessage(data, location.origin);
  }

  // Drawing

  template() {
    const shown = this.isOverlaid.value ? [this.ghost.value] : this.recordings.value;
    return html`<section class="viewers" hidden=${!shown.length}>
      <div class="panes" ref=${(panes) => (this.panes = panes)}>${shown.map(pane)}</div>
    </section>`;
  }

  /** The choice between side by side and overlaid. */
  layoutChoice() {
    const choice = (overlaid, title) => {
      const isOn = this.isOverlaid.value === overlaid;
      return html`<button class=${classes("studio-button", isOn && "on")} aria-pressed=${isOn}
        onclick=${() => (this.isOverlaid.value = overlaid)}>${title}</button>`;
    };
    return html`<div class="layout-choice" role="group" aria-label=${t("Layout")} hidden=${!this.ghost.value}>
      ${choice(false, t("Side by side"))}${choice(true, t("Ghost overlay"))}
    </div>`;
  }
}

const pane = ({ name, title, token }) => html`<figure class="pane" data-pane=${name} key=${token}>
  <figcaption title=${title}>${title}</figcaption>
  <iframe title=${title} src="/viewer/#${token}" />
</figure>`;
