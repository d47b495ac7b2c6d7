// Where a person is: project, step and selected object, kept in the page's address, so that reload, back, forward and a
// copied link lead there. A project that is opened, not at a step of the address, leads through the steps as the work
// reaches them, until the person does something.
import { onTab, openStep, showStep, stepOf } from "./gradio_tabs.js";
import { onSelect, select } from "./selection.js";

export const STEPS = ["frame", "masks", "objects", "scene", "task", "review"];
const FOLLOW_MS = 1500; // for which each step is shown at least
const USES = ["pointerdown", "keydown"];
let project, // undefined until the first value has arrived
  reached = "",
  chosen = "", // the step that a person opened before the project's first value arrived
  follows = false,
  follower;
const noteChoice = ({ isTrusted, target }) => {
  if (!project && isTrusted) chosen = stepOf(target) || chosen;
};
addEventListener("click", noteChoice, true);

const parameter = (name) => new URL(location.href).searchParams.get(name) ?? "";

function address(changes) {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes))
    value ? url.searchParams.set(name, value) : url.searchParams.delete(name);
  return url;
}

const replace = (changes) => history.replaceState(null, "", address(changes));

function push(changes) {
  const url = address(changes);
  if (url.href !== location.href) history.pushState(null, "", url);
}

export const place = () => ({ project, reached });
export const goTo = show;
export const isFollowing = () => follows;

// Stays at the open step although the work goes on.
export function stopFollowing() {
  follows = false;
}

function show(step) {
  replace({ step }); // first: the tab reports its change later
  if (openStep()) return showStep(step);
  setTimeout(() => parameter("step") === step && show(step), 50); // the tabs are not in the page yet
}

/** Notes which project is open, null for the gallery, and the furthest step that its work has reached. */
export function showPlace(element, openProject, reachedStep) {
  const before = project;
  project = openProject ?? "";
  reached = reachedStep ?? "";
  if (before === undefined) {
    replace({ project });
    begin(element);
    if (openStep() && openStep() !== STEPS[0]) chosen ||= openStep(); // opened before this script was there
    lead(STEPS.includes(parameter("step")) ? parameter("step") : "");
    if (project && parameter("object")) select(Number(parameter("object")));
  } else if (project !== before) {
    push({ project, step: "", object: "" });
    lead("");
  } else follow();
}

// Shows the step that a person chose meanwhile, else a step of the address, else what the work has reached.
function lead(step) {
  const wanted = chosen || step;
  chosen = "";
  follows = Boolean(project) && !wanted;
  if (project) show(wanted || reached);
}

function begin(element) {
  onTab(() => {
    if (project && openStep() && openStep() !== parameter("step")) push({ step: openStep() });
  });
  onSelect(element, (id) => project && replace({ object: id }));
  addEventListener("popstate", () => {
    if (parameter("project") !== project) return location.reload();
    show(STEPS.includes(parameter("step")) ? parameter("step") : reached);
  });
  for (const use of USES) addEventListener(use, (event) => event.isTrusted && stopFollowing(), true);
}

// Shows one step after the other, up to the one that the work has reached.
function follow() {
  if (!follows || follower) return;
  const next = STEPS.indexOf(openStep()) + 1;
  if (next > STEPS.indexOf(reached)) return;
  show(STEPS[next]);
  follower = setTimeout(() => {
    follower = null;
    follow();
  }, FOLLOW_MS);
}
