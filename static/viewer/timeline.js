// Timeline at the bottom: current time, marked events, and seeking.
import { t } from "../studio/texts.js";
import { batch, html, signal } from "../studio/view.js";

const SNAP_PX = 7;

export class Timeline {
  frame = signal({ time: 0, begin: 0, end: 0 });
  length = signal(0); // seconds that the track stands for
  marks = signal(/** @type {any[]} */ ([])); // {time, text, kind, check}: a failed check or an event
  track = /** @type {HTMLElement} */ (null);

  /** `onHover` gets the name of the check whose mark is under the pointer, or "". */
  constructor(send, onHover) {
    this.send = send;
    this.onHover = onHover;
  }

  get time() {
    return this.frame.value.time;
  }

  /** `clockEnd` is the end of the longer recording of two that share a clock. */
  show({ time, begin, end }, recording, clockEnd = end) {
    batch(() => {
      this.frame.value = { time, begin, end };
      // Live physics has no end; leave room to the right.
      this.length.value = recording
        ? Math.max(Math.max(end, clockEnd) - begin, 1e-6)
        : Math.max((end - begin) * 1.02, 5);
    });
  }

  seekBy(seconds) {
    this.send("seek", { time: seconds, is_relative: true }); // the shown time may be older than the last request
  }

  seekToBegin = () => this.send("seek", { time: this.frame.value.begin });
  seekToEnd = () => this.send("seek", { time: this.frame.value.end });

  template(bands) {
    const { time, begin, end } = this.frame.value,
      text = `${time.toFixed(2)} s`,
      length = this.length.value || 1,
      percent = (at) => `${Math.min(100, Math.max(0, ((at - begin) / length) * 100))}%`;
    const press = (event) => {
      this.track.setPointerCapture(event.pointerId);
      this.#seek(event);
    };
    return html`<time id="clock">${text}</time>
      <div id="track" role="slider" tabindex="0" aria-label=${t("Time")} aria-valuemin=${begin} aria-valuemax=${end}
        aria-valuenow=${time} aria-valuetext=${text} ref=${(track) => (this.track = track)} onpointerdown=${press}
        onpointermove=${(event) => event.buttons && this.#seek(event)}>
        <div id="known" style="width:${percent(end)}" />
        <div id="passed" style="width:${percent(time)}" />
        <div id="marks">${this.marks.value.map((mark) => this.#mark(mark, percent(mark.time)))}</div>
        <div id="thumb" style="left:${percent(time)}" />
        ${bands}
      </div>`;
  }

  #mark({ time, text, kind, check }, left) {
    return html`<b class=${kind} title="${time.toFixed(2)} s: ${text}" data-time=${time} style="left:${left}"
      onpointerenter=${() => this.onHover(check)} onpointerleave=${() => this.onHover("")}>
      ${kind === "failed" ? "✕" : "◆"}</b>`;
  }

  #seek(event) {
    const { left, width } = this.track.getBoundingClientRect(),
      time = this.frame.value.begin + Math.min(1, Math.max(0, (event.clientX - left) / width)) * this.length.value;
    this.send("seek", { time: this.#snapToMark(time, width) });
  }

  // A click near a mark seeks to the mark.
  #snapToMark(time, width) {
    const tolerance = (SNAP_PX / width) * this.length.value;
    return this.marks.value.find((mark) => Math.abs(mark.time - time) < tolerance)?.time ?? time;
  }
}
