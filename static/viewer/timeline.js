// Timeline at the bottom: current time, marked events, and seeking.

export class Timeline {
  /** `onHover` gets the name of the check whose mark is under the pointer, or "". */
  constructor(send, onHover) {
    Object.assign(this, { send, onHover });
    this.track = document.getElementById("track");
    this.begin = this.end = this.time = 0;
    this.track.addEventListener("pointerdown", (event) => {
      this.track.setPointerCapture(event.pointerId);
      this.#seek(event);
    });
    this.track.addEventListener("pointermove", (event) => event.buttons && this.#seek(event));
  }

  /** Shows marks {time, text, kind, check}: a cross for a failed check, a diamond for an event. */
  mark(marks) {
    this.marks = marks;
    document.getElementById("marks").replaceChildren(
      ...marks.map(({ time, text, kind, check }) => {
        const mark = document.createElement("b");
        mark.className = kind;
        mark.textContent = kind === "failed" ? "✕" : "◆";
        mark.title = `${time.toFixed(2)} s: ${text}`;
        mark.dataset.time = time;
        mark.onpointerenter = () => this.onHover(check);
        mark.onpointerleave = () => this.onHover("");
        return mark;
      }),
    );
    this.#place();
  }

  /** `clockEnd` is the end of the longer recording of two that share a clock. */
  show({ time, begin, end }, recording, clockEnd = end) {
    Object.assign(this, { time, begin, end });
    // Live physics has no end; leave room to the right.
    this.length = recording ? Math.max(Math.max(end, clockEnd) - begin, 1e-6) : Math.max((end - begin) * 1.02, 5);
    this.#place();
  }

  seekBy(seconds) {
    this.send("seek", { time: seconds, is_relative: true }); // the shown time may be older than the last request
  }

  seekToBegin = () => this.send("seek", { time: this.begin });
  seekToEnd = () => this.send("seek", { time: this.end });

  #place() {
    const percent = (time) => `${Math.min(100, Math.max(0, ((time - this.begin) / (this.length || 1)) * 100))}%`;
    document.getElementById("clock").textContent = `${this.time.toFixed(2)} s`;
    document.getElementById("known").style.width = percent(this.end);
    document.getElementById("passed").style.width = document.getElementById("thumb").style.left = percent(this.time);
    for (const mark of document.getElementById("marks").children) mark.style.left = percent(mark.dataset.time);
    this.track.setAttribute("aria-valuemin", this.begin);
    this.track.setAttribute("aria-valuemax", this.end);
    this.track.setAttribute("aria-valuenow", this.time);
    this.track.setAttribute("aria-valuetext", `${this.time.toFixed(2)} s`);
  }

  #seek(event) {
    const { left, width } = this.track.getBoundingClientRect();
    const time = this.begin + Math.min(1, Math.max(0, (event.clientX - left) / width)) * this.length;
    this.send("seek", { time: this.#snapToMark(time, width) });
  }

  // A click near a mark seeks to the mark.
  #snapToMark(time, width) {
    const tolerance = (7 / width) * this.length;
    return this.marks?.find((mark) => Math.abs(mark.time - time) < tolerance)?.time ?? time;
  }
}
