// The time of a view: the frame that is shown, the server's status, and what was measured over time.
import { batch, signal } from "../studio/view.js";
import { Measures } from "./measures.js";
import { postToParent } from "./messages.js";
import { Timeline } from "./timeline.js";

const HELD = "#ff8f7a";
const PAUSE_MS = 1500; // at the end of a recording that is played in a loop
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

export class Playback {
  status = signal(/** @type {any} */ ({})); // the server's
  held = signal(/** @type {any} */ (null)); // the mark of the check at which the recording is held
  latest = null; // the frame that is shown
  presents = false; // the recording plays in a loop, and nothing is selected from outside
  isVisible = false;
  measuresNumber = 0;

  constructor(viewer) {
    this.viewer = viewer;
    this.timeline = new Timeline(
      (op, fields) => viewer.send(op, fields),
      (check) => this.measures.showCheck(check),
    );
    this.measures = new Measures(this.timeline);
    setInterval(() => this.#playAgain(), PAUSE_MS);
    new IntersectionObserver(([entry]) => (this.isVisible = entry.isIntersecting)).observe(document.body);
  }

  showFrame(frame) {
    const { viewer } = this,
      { recording, clock_end } = this.status.value;
    this.latest = frame;
    viewer.twin.setPoses(frame.poses);
    viewer.adjust.applyTrial();
    viewer.contacts.show(frame.contacts);
    this.timeline.show(frame, recording, clock_end);
    postToParent({ type: "time", time: frame.time, begin: frame.begin, end: frame.end });
    viewer.renderer.requestDraw(true);
  }

  takeStatus(next, token) {
    const { joints, pointer } = this.viewer,
      before = this.status.value.notice?.number ?? next.notice.number;
    batch(() => {
      this.status.value = next;
      joints.values.value = next.joints ?? joints.values.value;
      this.timeline.marks.value = next.marks ?? [];
    });
    pointer.carrying = Boolean(next.layout);
    this.#showHeld(next.held);
    if (next.measures !== this.measuresNumber) this.#loadMeasures(token, next.measures);
    if (next.notice.number !== before) this.viewer.notify(next.notice.text);
  }

  async #loadMeasures(token, number) {
    this.measuresNumber = number;
    const answer = number ? await fetch(`${encodeURIComponent(token)}/measures.json`).catch(() => null) : null,
      value = answer?.ok ? await answer.json() : { goals: [], checks: [] };
    if (token === this.viewer.loading.token && number === this.measuresNumber) this.measures.show(value);
  }

  /** Shows the words of the check at whose mark the recording is held, at the object that it is about. */
  #showHeld(mark) {
    this.viewer.labels.setNote(mark ? mark.object : "", mark ? `✕ ${mark.text}` : "");
    if (mark) this.viewer.twin?.outline("hovered", mark.object, HELD);
    else if (this.held.value) this.viewer.hover("");
    this.held.value = mark ?? null;
  }

  // Plays a presented recording from its start, at first and after its end, unless another page covers it.
  #playAgain() {
    const { latest, isVisible, presents } = this,
      { recording, playing } = this.status.value,
      isPaused = !latest || (latest.time > 0 && latest.time < latest.end),
      isSeen = isVisible && !frameElement?.closest("[inert]");
    if (presents && isSeen && recording && !playing && !isPaused && !reducedMotion.matches) this.viewer.send("play");
  }

  togglePlay() {
    this.viewer.send(this.status.value.playing ? "pause" : "play");
  }
}
