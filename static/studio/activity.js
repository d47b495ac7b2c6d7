// How long a person is active on the page, with the clicks and keys in that time. A pause counts as far as IDLE_MS, so
// that looking at a picture is work and a break is not; time in another window does not count.
const IDLE_MS = 30_000;
const INPUTS = ["pointerdown", "pointermove", "wheel", "keydown"];

export class Activity {
  constructor() {
    this.begin();
    for (const kind of INPUTS)
      addEventListener(kind, (event) => event.isTrusted && this.note(kind), { capture: true, passive: true });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.count();
      else this.last = performance.now();
    });
  }

  begin() {
    Object.assign(this, { ms: 0, pointer_presses: 0, key_presses: 0, last: performance.now() });
  }

  note(kind) {
    this.count();
    if (kind === "pointerdown") this.pointer_presses++;
    if (kind === "keydown") this.key_presses++;
  }

  count() {
    const now = performance.now();
    if (!document.hidden) this.ms += Math.min(now - this.last, IDLE_MS);
    this.last = now;
  }

  // Returns {seconds, pointer_presses, key_presses} since the beginning, and begins again.
  take() {
    this.count();
    const { ms, pointer_presses, key_presses } = this;
    this.begin();
    return { seconds: ms / 1000, pointer_presses, key_presses };
  }
}
