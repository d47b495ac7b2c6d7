// Projects as cards and as rows of a table.
import { h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

export const STATES = () => ({
  solved: t("Solved"),
  doubtful: t("Doubtful"),
  unsolved: t("Not solved"),
  failed: t("Failed"),
  twin: t("Twin ready"),
  started: t("In progress"),
});
export const VERDICTS = () => ({
  accepted: t("Accepted"),
  rejected: t("Rejected"),
  unsure: t("Unsure"),
  none: t("No verdict"),
});
// Columns that can be sorted by, with their titles.
export const ORDERS = () => ({
  title: t("Project"),
  state: t("Steps"),
  objects: t("Objects"),
  confidence: t("Least confidence"),
  matched: t("Matched"),
  solved_by: t("Solved by"),
  seconds: t("Work"),
  verdict: t("Verdict"),
  changed: t("Changed"),
});
// What projects can be grouped by: its title, and the title of a project's group.
export const GROUPS = () => ({
  state: { title: t("State"), of: (one) => STATES()[one.state] },
  verdict: { title: t("Verdict"), of: (one) => VERDICTS()[one.verdict || "none"] },
  tags: { title: t("Tags"), of: (one) => one.tags.join(", ") || t("No tag") },
  solved_by: { title: t("Solved by"), of: (one) => one.solved_by || t("Not solved") },
});
const DESCENDING_FIRST = ["changed", "state", "objects", "matched", "seconds"];
const UNKNOWN = "–";

export const isDescendingFirst = (order) => DESCENDING_FIRST.includes(order);
const percent = (share) => (share === null ? UNKNOWN : `${Math.round(share * 100)} %`);

// Time as "45 s", "12 min" or "1 h 5 min".
function duration(seconds) {
  if (seconds < 60) return seconds ? `${seconds} s` : UNKNOWN;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// Button of a project or sample; `label` is written on its picture.
export function card(one, open, label) {
  return h(
    "button.tile",
    { "data-name": one.name, onclick: ({ currentTarget }) => open(currentTarget) },
    h(
      "span.picture",
      { style: one.image ? `background-image:url("${one.image}")` : "" },
      label && h("span.label", {}, label),
    ),
    h("strong", {}, one.title),
    h("span.about", {}, one.about),
  );
}

const verdictMark = (one) =>
  one.verdict &&
  h(
    `span.verdict.${one.verdict}`,
    { title: [one.reason, one.by].filter(Boolean).join(" · ") },
    VERDICTS()[one.verdict],
  );
const tagMarks = (one) => one.tags.map((tag) => h("span.tag", {}, tag));

const pick = (one, { isSelected, onPick }) =>
  h("input.pick", {
    type: "checkbox",
    checked: isSelected(one.name),
    "aria-label": t("Select {title}", { title: one.title }),
    onclick: (event) => onPick(one, event.target.checked, event.shiftKey),
  });

// `actions` are {isSelected(name), onPick(project, on, isRange), onOpen(name, button), onPickAll(on), onSort(order)}.
export function cards(projects, actions) {
  return h(
    "div.cards",
    {},
    projects.map((one) =>
      h(
        `div.project${actions.isSelected(one.name) ? ".selected" : ""}`,
        {},
        card(one, (button) => actions.onOpen(one.name, button)),
        pick(one, actions),
        (one.verdict || one.tags.length > 0) && h("span.marks", {}, verdictMark(one), tagMarks(one)),
      ),
    ),
  );
}

export function table(projects, { sort, descending }, actions) {
  const header = (order, title) =>
    h(
      "th",
      { "aria-sort": order === sort ? (descending ? "descending" : "ascending") : "none" },
      h(
        "button",
        { onclick: () => actions.onSort(order) },
        title,
        h("i", { "aria-hidden": "true" }, order === sort ? (descending ? " ▾" : " ▴") : ""),
      ),
    );
  return h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h(
          "th",
          {},
          h("input", {
            type: "checkbox",
            "aria-label": t("Select all on this page"),
            checked: projects.every((one) => actions.isSelected(one.name)),
            onclick: ({ target }) => actions.onPickAll(target.checked),
          }),
        ),
        h("th", {}, h("span.hidden-text", {}, t("Picture"))),
        Object.entries(ORDERS()).map(([order, title]) => header(order, title)),
      ),
    ),
    h(
      "tbody",
      {},
      projects.map((one) => row(one, actions)),
    ),
  );
}

function row(one, actions) {
  const unsure = one.confidence !== null && one.confidence < 0.6;
  return h(
    `tr.project${actions.isSelected(one.name) ? ".selected" : ""}`,
    {},
    h("td", {}, pick(one, actions)),
    h("td", {}, h("span.thumbnail", { style: `background-image:url("${one.image}")` })),
    h(
      "td.name",
      {},
      h(
        "button.open",
        {
          "data-name": one.name,
          title: one.task || one.title,
          onclick: ({ currentTarget }) => actions.onOpen(one.name, currentTarget),
        },
        one.title,
      ),
      one.tags.length > 0 && h("span.tags", {}, tagMarks(one)),
    ),
    h(
      "td.state",
      { title: one.steps },
      h(
        "span.steps",
        { role: "img", "aria-label": one.steps.replaceAll("\n", ", ") },
        [...one.stages].map((state) => h(`i.${state}`)),
      ),
      STATES()[one.state],
    ),
    h("td.number", {}, one.objects === null ? UNKNOWN : String(one.objects)),
    h(`td.number${unsure ? ".low" : ""}`, {}, percent(one.confidence)),
    h("td.number", {}, percent(one.matched)),
    h("td.solver", { title: one.solved_by }, one.solved_by || UNKNOWN),
    h("td.number", {}, duration(one.seconds)),
    h("td", {}, verdictMark(one) || UNKNOWN),
    h("td.when", { title: one.at }, one.when),
  );
}
