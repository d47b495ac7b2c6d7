// The bar of the review queue: leads from one least sure object or frame to the next by keyboard. See
// components/page_frame.py.
import { keyOf } from "/static/mask_canvas/shortcuts.js";
import { libraryOpen } from "/static/library/library_state.js";
import { chip, fill, h } from "/static/studio/dom.js";
import { drawer } from "/static/studio/drawer.js";
import { fullPageOpen } from "/static/studio/full_page.js";
import { goTo, stopFollowing } from "/static/studio/place.js";
import { onReviewQueue, reviewQueue, setReviewQueue } from "/static/studio/review_state.js";
import { select } from "/static/studio/selection.js";
import { t } from "/static/studio/texts.js";

const UNCONFIRMED_MS = 10_000, // after which a verdict that the server did not record is asked for again
  STEP_DELAY_MS = 60; // the page first goes to the step that a project was left at
const FRAME = null; // the item after the last object

export default function mount({ element, trigger }) {
  const bar = element.querySelector(".review-queue");
  let value = { project: null, objects: [] },
    item, // id of the object under review, or FRAME; undefined before the first
    sent = new Map(), // when the verdict on each object was sent
    passed = new Set(), // objects skipped in this frame
    leaving = null, // the frame whose verdict was sent: {project, reviews}
    isFixing = false,
    form = null;

  const running = () => reviewQueue() !== null;
  const isOver = () => running() && reviewQueue().at >= reviewQueue().names.length;
  const isHere = () => running() && !isOver() && value.project === reviewQueue().names[reviewQueue().at];
  const isWaiting = (id) => performance.now() - (sent.get(id) ?? -Infinity) < UNCONFIRMED_MS;
  const isDone = (object) => object.review || passed.has(object.id) || isWaiting(object.id);
  const current = () => value.objects.find((object) => object.id === item);

  // ---------------------------------------------------------------- leading

  function chooseItem() {
    const object = current();
    if (item !== undefined && item !== FRAME && object && !isDone(object)) return;
    const next = value.objects.find((one) => !isDone(one))?.id ?? FRAME;
    if (next === item) return;
    item = next;
    if (item !== FRAME) select(item);
  }

  function enterFrame() {
    item = undefined;
    sent = new Map();
    passed = new Set();
    leaving = form = null;
    isFixing = false;
  }

  function openFrame() {
    if (isOver()) return trigger("home");
    trigger("open", { kind: "project", name: reviewQueue().names[reviewQueue().at] });
  }

  function goToFrame(at, changes = {}) {
    setReviewQueue({ ...reviewQueue(), ...changes, at });
    openFrame();
  }

  // ---------------------------------------------------------------- verdicts

  function review(verdict, ofFrame, reason = "") {
    const id = ofFrame ? FRAME : item;
    form = null;
    isFixing = false;
    if (id === FRAME) {
      leaving = { project: value.project, reviews: value.frame_reviews, verdict };
      setTimeout(leave, UNCONFIRMED_MS, leaving);
    } else if (verdict === "skipped") passed.add(id);
    else {
      sent.set(id, performance.now());
      setTimeout(draw, UNCONFIRMED_MS + 1);
    }
    trigger("review", { project: value.project, id, verdict, reason });
    draw();
  }

  // Opens the next frame, once the verdict on this one is recorded or nothing came of it.
  function leave(from) {
    if (leaving !== from || !running()) return;
    const { at, counts } = reviewQueue(),
      { verdict } = leaving;
    leaving = null;
    goToFrame(at + 1, { counts: { ...counts, [verdict]: counts[verdict] + 1 } });
  }

  function askReason(ofFrame) {
    const reasons = value.objects.filter((one) => one.review?.verdict === "rejected").map((one) => one.review.reason),
      input = h("input", {
        type: "text",
        maxlength: "400",
        "aria-label": t("Reason for the rejection"),
        placeholder: t("Reason for the rejection"),
        value: ofFrame ? [...new Set(reasons)].join("; ") : "",
      });
    form = h(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          if (input.value.trim()) review("rejected", ofFrame, input.value);
          else input.focus();
        },
      },
      input,
      h("button.studio-button.stop", { type: "submit" }, t("Reject"), h("kbd", {}, "↵")),
      act("Esc", t("Cancel"), closeForm, ".plain"),
    );
    draw();
    input.focus();
  }

  function closeForm() {
    form = null;
    draw();
  }

  function fix() {
    isFixing = true;
    goTo("masks");
    if (item !== FRAME) select(item);
    draw();
  }

  function endFix() {
    isFixing = false;
    goTo("objects");
    draw();
  }

  const end = () => setReviewQueue(null);

  // ---------------------------------------------------------------- keys

  const KEYS = {
    a: (ofFrame) => review("accepted", ofFrame),
    r: askReason,
    s: (ofFrame) => review("skipped", ofFrame),
    f: fix,
    p: () => reviewQueue().at > 0 && goToFrame(reviewQueue().at - 1),
    Escape: end,
  };
  window.addEventListener(
    "keydown",
    (event) => {
      if (!element.isConnected || !running() || libraryOpen() || fullPageOpen() || drawer() || event.altKey) return;
      if (form?.contains(event.target)) {
        if (event.key === "Escape") closeForm();
        event.stopPropagation(); // of the page's own keys
        return;
      }
      const key = keyOf(event);
      if (isFixing ? key !== "q" : !(key in KEYS)) return;
      if (!isHere() && key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      if (event.repeat || leaving) return;
      isFixing ? endFix() : KEYS[key](event.shiftKey || item === FRAME);
    },
    true,
  );

  // ---------------------------------------------------------------- drawing

  const act = (key, label, onclick, more = "", title = "") =>
    h(
      `button.studio-button${more}`,
      { type: "button", onclick, title, disabled: Boolean(leaving) },
      label,
      h("kbd", {}, key),
    );

  function itemLine() {
    const object = current();
    if (object)
      return [
        chip(object),
        h("strong", {}, object.words),
        object.score !== null && h("span.faint", {}, t("{n} % confidence", { n: Math.round(object.score * 100) })),
      ];
    const count = (verdict) => value.objects.filter((one) => one.review?.verdict === verdict).length;
    return [
      h("strong", {}, t("The frame as a whole")),
      h(
        "span.faint",
        {},
        t("{accepted} of {all} objects accepted, {rejected} rejected", {
          accepted: count("accepted"),
          all: value.objects.length,
          rejected: count("rejected"),
        }),
      ),
    ];
  }

  function actions() {
    if (form) return form;
    if (isFixing)
      return [
        h("span.faint", {}, t("Correct it on any step; the keys are those of the page.")),
        act("Q", t("Back to the review"), endFix, ".primary"),
      ];
    const isFrame = item === FRAME,
      more = isFrame ? "" : t("With Shift: the whole frame"),
      verdict = (key, label, give, kind = "") =>
        act(key, label, (event) => give(isFrame || event.shiftKey), kind, more);
    return [
      verdict("A", t("Accept"), (ofFrame) => review("accepted", ofFrame), ".primary"),
      verdict("R", t("Reject …"), askReason),
      act("F", t("Fix"), fix),
      verdict("S", t("Skip"), (ofFrame) => review("skipped", ofFrame)),
      !isFrame && h("span.faint", {}, t("⇧ whole frame")),
    ];
  }

  const summary = ({ counts }) =>
    t("Review finished: {accepted} accepted, {rejected} rejected, {skipped} skipped.", counts);

  function draw() {
    const queue = reviewQueue();
    bar.hidden = !queue;
    if (!queue) return;
    if (isHere() && !leaving && !form) chooseItem();
    const { at, names } = queue,
      of = names.length;
    const focused = document.activeElement;
    fill(
      bar,
      h("span.where", { role: "status" }, isOver() ? summary(queue) : t("Review {n} of {of}", { n: at + 1, of })),
      h("span.track", {}, h("span.fill", { style: `width:${(100 * at) / of}%` })),
      isHere()
        ? [h("span.item", {}, itemLine()), h("span.actions", {}, actions())]
        : !isOver() && h("button.studio-button.primary", { onclick: openFrame }, t("Continue the review")),
      h(
        "span.right",
        {},
        isHere() && at > 0 && act("P", t("Previous"), KEYS.p, ".plain"),
        act("Esc", isOver() ? t("Close") : t("End"), end, ".plain"),
      ),
    );
    if (form?.contains(focused)) focused.focus();
  }

  onReviewQueue(element, (queue) => {
    if (!queue) enterFrame();
    else if (queue.at === 0 && !isHere() && item === undefined) openFrame();
    draw();
  });

  return (next) => {
    const before = value.project;
    value = next ?? { project: null, objects: [] };
    for (const one of value.objects) if (one.review) sent.delete(one.id);
    if (value.project !== before) {
      const kept = leaving; // a late value of the former frame may come between, and takes nothing back
      enterFrame();
      if (kept?.project === reviewQueue()?.names[reviewQueue().at]) leaving = kept;
      if (isHere())
        setTimeout(() => {
          stopFollowing();
          goTo("objects");
        }, STEP_DELAY_MS);
    }
    if (leaving && value.project === leaving.project && value.frame_reviews > leaving.reviews) leave(leaving);
    draw();
  };
}
