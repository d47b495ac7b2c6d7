// The guided demo: a sample scene leads itself from the photograph to the solved task. A click or key outside the caption
// pauses it, so that a person can look around or take over at any moment.
import { openStep } from "./gradio_tabs.js";
import { goTo, place, STEPS, stopFollowing } from "./place.js";
import { t } from "./texts.js";
import { classes, html, show, signal } from "./view.js";

const SCENE = "blocks",
  TICK_MS = 250,
  SETTLED_MS = 2000, // without work, after which it has ended
  TRIALS_MS = 12_000; // for which the first solved trial of a task is waited for
/** @returns {any[]} */
const all = (selector) => [...document.querySelectorAll(selector)];
const hasReached = (step) => STEPS.indexOf(place().reached) >= STEPS.indexOf(step);
const solvedCard = () => all(".task-cards .task").find((card) => card.querySelector(".verdict .good"));
let idleMs = 0;

const SCENES = [
  {
    step: "frame",
    seconds: 5,
    caption: t("One photograph with depth: that is all the studio gets."),
    until: () => hasReached("masks"),
  },
  {
    step: "masks",
    seconds: 6,
    caption: t("Every object gets an outline. A click corrects one that is wrong."),
    until: () => hasReached("objects"),
  },
  {
    step: "objects",
    seconds: 8,
    caption: t("Every object is compared with the 3D assets that it might be."),
    until: () => hasReached("scene"),
  },
  { step: "scene", seconds: 8, caption: t("The twin: the same table in MuJoCo, seen by the same camera.") },
  {
    step: "task",
    seconds: 5,
    caption: t("Tasks that fit this table are proposed and tested. You can also write your own."),
    until: (elapsedMs) => solvedCard() || (elapsedMs > TRIALS_MS && all(".task-cards .task").length),
  },
  {
    step: "task",
    seconds: 8,
    caption: t("A simulation and its checks are generated, run and repaired until a robot solves the task."),
    act: generate,
    until: () => idleMs > SETTLED_MS && hasReached("review"),
  },
  {
    step: "review",
    seconds: 8,
    caption: t("The solution, tested on several seeds. Export takes all of it with you. Now try a frame of your own."),
  },
];

const index = signal(0), // of the scene
  isPaused = signal(false),
  panel = document.createElement("div");
let timer, elapsedMs, hasActed;

show(
  panel,
  () => html`<div class=${classes("demo", isPaused.value && "paused")} role="region" aria-label=${t("Guided demo")}>
    <span class="caption" aria-live="polite">${SCENES[index.value].caption}</span>
    <span class="faint">${t("{done} of {of}", { done: index.value + 1, of: SCENES.length })}</span>
    <button class="studio-button" onclick=${() => (isPaused.value = !isPaused.value)}>
      ${isPaused.value ? t("Continue") : t("Pause")}</button>
    <button class="studio-button plain" onclick=${end}>${t("End demo")}</button>
  </div>`,
);

/** Begins the demo from the gallery: of a sample scene, or of a project. */
export function startDemo({ scene = SCENE, project = "", wait = 0 } = {}) {
  const name = CSS.escape(project || scene),
    [tile] = all(`.gallery ${project ? ".board" : ".samples"} [data-name="${name}"]`);
  // the cards come after the page
  if (!tile && !timer && wait > 0) setTimeout(() => startDemo({ scene, project, wait: wait - TICK_MS }), TICK_MS);
  if (!tile || timer) return;
  document.body.append(panel);
  addEventListener("pointerdown", takeOver, true);
  addEventListener("keydown", takeOver, true);
  enter(0);
  isPaused.value = false;
  tile.click();
  timer = setInterval(tick, TICK_MS);
}

function takeOver(event) {
  if (event.isTrusted && !panel.contains(event.target)) isPaused.value = true;
}

function end() {
  clearInterval(timer);
  timer = null;
  removeEventListener("pointerdown", takeOver, true);
  removeEventListener("keydown", takeOver, true);
  panel.remove();
}

function enter(number) {
  index.value = number;
  elapsedMs = idleMs = 0;
  hasActed = false;
}

function tick() {
  if (isPaused.value || !place().project || !openStep()) return;
  stopFollowing();
  const scene = SCENES[index.value];
  if (openStep() !== scene.step) goTo(scene.step);
  if (scene.act && !hasActed) hasActed = scene.act();
  elapsedMs += TICK_MS;
  idleMs = document.querySelector(".status-bar .spin") ? 0 : idleMs + TICK_MS;
  const isOver = elapsedMs >= 1000 * scene.seconds && (!scene.until || scene.until(elapsedMs));
  if (!isOver) return;
  if (index.value + 1 < SCENES.length) enter(index.value + 1);
  else isPaused.value = true; // the last caption stays
}

// Chooses a task that was solved in its trial and presses Generate; returns whether it could.
function generate() {
  const card = solvedCard() ?? all(".task-cards .task")[0],
    [button] = all("#generate");
  if (!card || !button || button.disabled) return false;
  card.click();
  setTimeout(() => button.click(), TICK_MS);
  return true;
}
