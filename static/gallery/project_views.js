// Projects as cards and as rows of a table.
import { duration } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";

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
/** Returns [title, projects] of each group on the page; without a grouping there is one without a title. */
export function groupsOf({ group, projects }) {
  const of = GROUPS()[group]?.of;
  if (!of) return [[null, projects]];
  const groups = [];
  for (const one of projects) {
    const title = of(one);
    if (groups.at(-1)?.[0] !== title) groups.push([title, []]);
    groups.at(-1)[1].push(one);
  }
  return groups;
}

const DESCENDING_FIRST = ["changed", "state", "objects", "matched", "seconds"];
const UNKNOWN = "–";

export const isDescendingFirst = (order) => DESCENDING_FIRST.includes(order);
const percent = (share) => (share === null ? UNKNOWN : `${Math.round(share * 100)} %`);

/** Button of a project or sample; `label` is written on its picture, `opening` is the name of the one that opens. */
export function card(one, opening, open, label) {
  return html`<button class="tile" key=${one.name} data-name=${one.name} aria-busy=${one.name === opening || null}
    onclick=${open}>
    <span class="picture" style=${one.image && `background-image:url("${one.image}")`}>
      ${label && html`<span class="label">${label}</span>`}
    </span>
    <strong>${one.title}</strong>
    <span class="about">${one.about}</span>
  </button>`;
}

const verdictMark = (one) =>
  one.verdict &&
  html`<span class=${`verdict ${one.verdict}`} title=${[one.reason, one.by].filter(Boolean).join(" · ")}>
    ${VERDICTS()[one.verdict]}</span>`;
const tagMarks = (one) => one.tags.map((tag) => html`<span class="tag">${tag}</span>`);

const pick = (one, board) =>
  html`<input class="pick" type="checkbox" checked=${board.isSelected(one.name)}
    aria-label=${t("Select {title}", { title: one.title })}
    onclick=${(event) => board.pick(one, event.target.checked, event.shiftKey)} />`;
const projectClass = (one, board) => classes("project", board.isSelected(one.name) && "selected");

/** The projects as cards of a ProjectBoard. */
export const cards = (projects, board) => html`<div class="cards">
  ${projects.map(
    (one) => html`<div class=${projectClass(one, board)} key=${one.name}>
      ${card(one, board.opening.value, () => board.onOpen(one.name))}
      ${pick(one, board)}
      ${(one.verdict || one.tags.length > 0) && html`<span class="marks">${verdictMark(one)}${tagMarks(one)}</span>`}
    </div>`,
  )}
</div>`;

/** The projects as a table of a ProjectBoard, sorted by `sort`. */
export function table(projects, { sort, descending }, board) {
  const header = (order, title) =>
    html`<th aria-sort=${order !== sort ? "none" : descending ? "descending" : "ascending"}>
      <button onclick=${() => board.search.sortBy(order)}>
        ${title}<i aria-hidden="true">${order === sort && (descending ? " ▾" : " ▴")}</i>
      </button>
    </th>`;
  return html`<table>
    <thead>
      <tr>
        <th>
          <input type="checkbox" aria-label=${t("Select all on this page")}
            checked=${projects.every((one) => board.isSelected(one.name))}
            onclick=${({ target }) => board.pickAll(projects, target.checked)} />
        </th>
        <th><span class="hidden-text">${t("Picture")}</span></th>
        ${Object.entries(ORDERS()).map(([order, title]) => header(order, title))}
      </tr>
    </thead>
    <tbody>${projects.map((one) => row(one, board))}</tbody>
  </table>`;
}

function row(one, board) {
  const isUnsure = one.confidence !== null && one.confidence < 0.6;
  return html`<tr class=${projectClass(one, board)} key=${one.name}>
    <td>${pick(one, board)}</td>
    <td><span class="thumbnail" style=${`background-image:url("${one.image}")`} /></td>
    <td class="name">
      <button class="open" data-name=${one.name} title=${one.task || one.title}
        aria-busy=${one.name === board.opening.value || null} onclick=${() => board.onOpen(one.name)}>
        ${one.title}</button>
      ${one.tags.length > 0 && html`<span class="tags">${tagMarks(one)}</span>`}
    </td>
    <td class="state" title=${one.steps}>
      <span class="steps" role="img" aria-label=${one.steps.replaceAll("\n", ", ")}>
        ${[...one.stages].map((state) => html`<i class=${state} />`)}
      </span>
      ${STATES()[one.state]}
    </td>
    <td class="number">${one.objects ?? UNKNOWN}</td>
    <td class=${classes("number", isUnsure && "low")}>${percent(one.confidence)}</td>
    <td class="number">${percent(one.matched)}</td>
    <td class="solver" title=${one.solved_by}>${one.solved_by || UNKNOWN}</td>
    <td class="number">${one.seconds ? duration(one.seconds) : UNKNOWN}</td>
    <td>${verdictMark(one) || UNKNOWN}</td>
    <td class="when" title=${one.at}>${one.when}</td>
  </tr>`;
}
