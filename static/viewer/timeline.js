// The bar at the bottom: where in time, what happened when, and the way to any instant.

export class Timeline {
  constructor(wish) {
    this.wish = wish;
    this.track = document.getElementById("track");
    this.begin = this.end = this.time = 0;
    this.track.addEventListener("pointerdown", (event) => {
      this.track.setPointerCapture(event.pointerId);
      this.#seek(event);
    });
    this.track.addEventListener("pointermove", (event) => event.buttons && this.#seek(event));
  }

  /** Marks are {time, text, kind}; a failed check is a cross, an event a dot. */
  mark(marks) {
    this.marks = marks;
    document.getElementById("marks").replaceChildren(...marks.map(({ time, text, kind }) => {
      const mark = document.createElement("b");
      mark.className = kind;
      mark.textContent = kind === "failed" ? "✕" : "◆";
      mark.title = `${time.toFixed(2)} s: ${text}`;
      mark.dataset.time = time;
      return mark;
    }));
    this.#place();
  }

  show({ time, begin, end }, recording) {
    Object.assign(this, { time, begin, end });
    // Live physics has no end: some room to the right says so.
    this.length = recording ? Math.max(end - begin, 1e-6) : Math.max((end - begin) * 1.02, 5);
    this.#place();
  }

  by(seconds) {
    this.wish("seek", { time: this.time + seconds });
  }

  #place() {
    const share = (time) => `${Math.min(100, Math.max(0, ((time - this.begin) / (this.length || 1)) * 100))}%`;
    document.getElementById("clock").textContent = `${this.time.toFixed(2)} s`;
    document.getElementById("known").style.width = share(this.end);
    document.getElementById("passed").style.width = document.getElementById("thumb").style.left = share(this.time);
    for (const mark of document.getElementById("marks").children) mark.style.left = share(mark.dataset.time);
    this.track.setAttribute("aria-valuemin", this.begin);
    this.track.setAttribute("aria-valuemax", this.end);
    this.track.setAttribute("aria-valuenow", this.time);
  }

  #seek(event) {
    const { left, width } = this.track.getBoundingClientRect();
    const time = this.begin + Math.min(1, Math.max(0, (event.clientX - left) / width)) * this.length;
    this.wish("seek", { time: this.#nearMark(time, width) });
  }

  // A click beside a mark means the mark.
  #nearMark(time, width) {
    const reach = (7 / width) * this.length;
    return this.marks?.find((mark) => Math.abs(mark.time - time) < reach)?.time ?? time;
  }
}
