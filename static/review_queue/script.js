// The bar of the review queue: leads from one least sure object or frame to the next by keyboard. See
// components/page_frame.py.
import { libraryOpen } from "/static/library/library_state.js";
import { drawer } from "/static/studio/drawer.js";
import { fullPageOpen } from "/static/studio/full_page.js";
import { ABOVE, shortcuts } from "/static/studio/keyboard.js";
import { Chip } from "/static/studio/parts.js";
import { goTo, stopFollowing } from "/static/studio/place.js";
import { onReviewQueue, reviewQueue, setReviewQueue } from "/static/studio/review_state.js";
import { select } from "/static/studio/selection.js";
import { t } from "/static/studio/texts.js";
import { classes, follow, html, mounts, signal, untracked, View } from "/static/studio/view.js";

const UNCONFIRMED_MS = 10_000, // after which a verdict that the server did not record is asked for again
  STEP_DELAY_MS = 60; // the page first goes to the step that a project was left at
const FRAME = null; // the item after the last object
const WORDS = { a: t("Accept"), r: t("Reject …"), s: t("Skip"), f: t("Fix"), p: t("Previous"), Escape: t("End") };

class ReviewQueue extends View {
  item = signal(/** @type {number | null | undefined} */ (undefined)); // object under review, or FRAME; none at first
  sent = signal(/** @type {Map<number, number>} */ (new Map())); // when the verdict on each object was sent
  passed = signal(/** @type {Set<number>} */ (new Set())); // objects skipped in this frame
  leaving = signal(/** @type {any} */ (null)); // the frame whose verdict was sent: {project, reviews, verdict}
  isFixing = signal(false);
  form = signal(/** @type {any} */ (null)); // {text, ofFrame} while the reason for a rejection is asked for
  keys = {
    a: (ofFrame) => this.review("accepted", ofFrame),
    r: (ofFrame) => this.askReason(ofFrame),
    s: (ofFrame) => this.review("skipped", ofFrame),
    f: () => this.fix(),
    p: () => reviewQueue().at > 0 && this.goToFrame(reviewQueue().at - 1),
    Escape: () => end(),
  };

  constructor(context) {
    super(context);
    const { root } = this;
    follow(root, () => (root.hidden = !reviewQueue()));
    follow(root, () => this.chooseItem());
    const isOn = () => reviewQueue() && !(libraryOpen() || fullPageOpen() || drawer());
    shortcuts(root, { title: t("Review"), keys: () => this.shortcuts(), isOn, rank: ABOVE });
    onReviewQueue(root, (queue) => {
      if (!queue) this.enterFrame();
      else if (queue.at === 0 && !this.isHere && this.item.value === undefined) this.openFrame();
    });
    this.onValue((value, before) => this.takeValue(value, before));
  }

  takeValue(value, { project }) {
    const leaving = this.leaving.value; // a late value of the former frame may come between, and takes nothing back
    const confirmed = this.objects.filter((one) => one.review).map((one) => one.id);
    this.sent.value = new Map([...this.sent.value].filter(([id]) => !confirmed.includes(id)));
    if (value.project !== project) {
      this.enterFrame();
      if (leaving?.project === reviewQueue()?.names[reviewQueue().at]) this.leaving.value = leaving;
      if (this.isHere)
        setTimeout(() => {
          stopFollowing();
          goTo("objects");
        }, STEP_DELAY_MS);
    }
    const from = this.leaving.value;
    if (from && value.project === from.project && value.frame_reviews > from.reviews) this.leave(from);
  }

  get objects() {
    return this.value.objects ?? [];
  }

  get isOver() {
    return Boolean(reviewQueue()) && reviewQueue().at >= reviewQueue().names.length;
  }

  get isHere() {
    return Boolean(reviewQueue()) && !this.isOver && this.value.project === reviewQueue().names[reviewQueue().at];
  }

  get current() {
    return this.objects.find((object) => object.id === this.item.value);
  }

  // ---------------------------------------------------------------- leading

  isDone = ({ id, review }) => review || this.passed.value.has(id) || this.sent.value.has(id);

  // Goes on to the first object without a verdict, when the one under review has one.
  chooseItem() {
    if (!this.isHere || this.leaving.value || this.form.value) return;
    const next = this.objects.find((one) => !this.isDone(one))?.id ?? FRAME,
      item = this.item.peek(),
      object = this.objects.find((one) => one.id === item);
    if ((object && !this.isDone(object)) || next === item) return;
    this.item.value = next;
    if (next !== FRAME) untracked(() => select(next));
  }

  enterFrame() {
    this.item.value = undefined;
    this.sent.value = new Map();
    this.passed.value = new Set();
    this.leaving.value = this.form.value = null;
    this.isFixing.value = false;
  }

  openFrame() {
    const { names, at } = reviewQueue();
    if (this.isOver) this.send("home");
    else this.send("open", { kind: "project", name: names[at] });
  }

  goToFrame(at, changes = {}) {
    setReviewQueue({ ...reviewQueue(), ...changes, at });
    this.openFrame();
  }

  // ---------------------------------------------------------------- verdicts

  review(verdict, ofFrame, reason = "") {
    const { project, frame_reviews: reviews } = this.value,
      id = ofFrame ? FRAME : this.item.value;
    this.form.value = null;
    this.isFixing.value = false;
    if (id === FRAME) {
      const leaving = { project, reviews, verdict };
      this.leaving.value = leaving;
      setTimeout(() => this.leave(leaving), UNCONFIRMED_MS);
    } else if (verdict === "skipped") this.passed.value = new Set([...this.passed.value, id]);
    else this.noteSent(id);
    this.send("review", { project, id, verdict, reason });
  }

  noteSent(id) {
    const at = performance.now();
    this.sent.value = new Map([...this.sent.value, [id, at]]);
    setTimeout(() => {
      if (this.sent.value.get(id) === at)
        this.sent.value = new Map([...this.sent.value].filter(([other]) => other !== id));
    }, UNCONFIRMED_MS);
  }

  // Opens the next frame, once the verdict on this one is recorded or nothing came of it.
  leave(from) {
    if (this.leaving.value !== from || !reviewQueue()) return;
    const { at, counts } = reviewQueue();
    this.leaving.value = null;
    this.goToFrame(at + 1, { counts: { ...counts, [from.verdict]: counts[from.verdict] + 1 } });
  }

  askReason(ofFrame) {
    const reasons = this.objects.filter((one) => one.review?.verdict === "rejected").map((one) => one.review.reason);
    this.form.value = { ofFrame, text: signal(ofFrame ? [...new Set(reasons)].join("; ") : "") };
  }

  fix() {
    this.isFixing.value = true;
    goTo("masks");
    if (this.item.value !== FRAME) select(this.item.value);
  }

  endFix() {
    this.isFixing.value = false;
    goTo("objects");
  }

  // ---------------------------------------------------------------- keys

  shortcuts() {
    if (this.isFixing.value) return { q: { help: t("end the correction"), act: () => this.endFix() } };
    if (this.form.value) return { Escape: { help: t("Cancel"), act: () => (this.form.value = null) } };
    const shortcut = ([key, act]) => [key, { help: WORDS[key], act: (event) => this.takeKey(event, act) }],
      { Escape, ...here } = Object.fromEntries(Object.entries(this.keys).map(shortcut));
    return this.isHere ? { ...here, Escape } : { Escape };
  }

  takeKey(event, act) {
    if (!event.repeat && !this.leaving.value) act(event.shiftKey || this.item.value === FRAME);
  }

  // ---------------------------------------------------------------- what is shown

  template() {
    const queue = reviewQueue();
    if (!queue) return null;
    const { at, names, counts } = queue,
      of = names.length;
    const where = this.isOver
      ? t("Review finished: {accepted} accepted, {rejected} rejected, {skipped} skipped.", counts)
      : t("Review {n} of {of}", { n: at + 1, of });
    return html`<span class="where" role="status">${where}</span>
      <span class="track"><span class="fill" style=${`width:${(100 * at) / of}%`} /></span>
      ${
        this.isHere
          ? html`<span class="item">${this.itemLine()}</span><span class="actions">${this.actions()}</span>`
          : !this.isOver &&
            html`<button class="studio-button primary" onclick=${() => this.openFrame()}>
              ${t("Continue the review")}</button>`
      }
      <span class="right">
        ${this.isHere && at > 0 && this.act("P", t("Previous"), this.keys.p, "plain")}
        ${this.act("Esc", this.isOver ? t("Close") : t("End"), end, "plain")}
      </span>`;
  }

  act(key, label, onclick, kind = "", title = "") {
    return html`<button class=${classes("studio-button", kind)} type="button" title=${title}
      disabled=${Boolean(this.leaving.value)} onclick=${onclick}>${label}<kbd>${key}</kbd></button>`;
  }

  itemLine() {
    const object = this.current;
    if (object) {
      const confidence = object.score !== null && t("{n} % confidence", { n: Math.round(object.score * 100) });
      return html`<${Chip} object=${object} />
        <strong>${object.words}</strong>
        ${confidence && html`<span class="faint">${confidence}</span>`}`;
    }
    const count = (verdict) => this.objects.filter((one) => one.review?.verdict === verdict).length;
    return html`<strong>${t("The frame as a whole")}</strong>
      <span class="faint">${t("{accepted} of {all} objects accepted, {rejected} rejected", {
        accepted: count("accepted"),
        all: this.objects.length,
        rejected: count("rejected"),
      })}</span>`;
  }

  actions() {
    if (this.form.value) return this.reasonForm(this.form.value);
    if (this.isFixing.value)
      return html`<span class="faint">${t("Correct it on any step; the keys are those of the page.")}</span>
        ${this.act("Q", t("Back to the review"), () => this.endFix(), "primary")}`;
    const isFrame = this.item.value === FRAME,
      more = isFrame ? "" : t("With Shift: the whole frame"),
      verdict = (key, label, kind = "") =>
        this.act(key, label, ({ shiftKey }) => this.keys[key.toLowerCase()](isFrame || shiftKey), kind, more);
    return [
      verdict("A", t("Accept"), "primary"),
      verdict("R", t("Reject …")),
      this.act("F", t("Fix"), this.keys.f),
      verdict("S", t("Skip")),
      !isFrame && html`<span class="faint">${t("⇧ whole frame")}</span>`,
    ];
  }

  reasonForm({ text, ofFrame }) {
    const submit = (event) => {
      event.preventDefault();
      if (text.value.trim()) this.review("rejected", ofFrame, text.value);
      else event.currentTarget.querySelector("input").focus();
    };
    return html`<form onsubmit=${submit}>
      <input type="text" maxlength="400" aria-label=${t("Reason for the rejection")} ref=${focus}
        placeholder=${t("Reason for the rejection")} value=${text.value}
        oninput=${({ target }) => (text.value = target.value)} />
      <button class="studio-button stop" type="submit">${t("Reject")}<kbd>↵</kbd></button>
      ${this.act("Esc", t("Cancel"), () => (this.form.value = null), "plain")}
    </form>`;
  }
}

const end = () => setReviewQueue(null);
const focus = (field) => field?.focus();

export default mounts(ReviewQueue);
