// What became of episodes, in words, and the grid of all: policies as columns, conditions as rows.
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

// Classes of pipeline/closed_loop/failure.py: the word on a cell, and the sentence.
const CLASSES = {
  never_reached: [t("never reached"), t("it never touched what it had to move")],
  wrong_object: [t("wrong object"), t("it carried an object that no goal is about")],
  collision: [t("collision"), t("it pushed something else aside")],
  missed_grasp: [t("missed grasp"), t("it touched what it had to move, and never lifted it")],
  dropped: [t("dropped"), t("it let go in the air")],
  wrong_place: [t("wrong place"), t("it put the right object in a wrong place")],
  time: [t("time over"), t("the time was over while it was at work")],
};
const NOT_RUN = [t("did not run")];
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const failureOf = (cell) => CLASSES[cell.failure] ?? NOT_RUN;
export const outcome = (cell) =>
  cell.success ? `✓ ${t("{seconds} s", { seconds: cell.seconds.toFixed(1) })}` : `✗ ${failureOf(cell)[0]}`;
/** What became of a real log: as the twin measures it, or that it is not known. */
export const logOutcome = ({ success, seconds }) =>
  success === null ? t("? not known") : success ? outcome({ success, seconds }) : t("✗ not solved");

/** Returns the columns of the grid, {name, cells, words(cell)}: the policies, and last the real logs if there are any. */
function columnsOf({ policies, real }) {
  const logs = real?.some(Boolean) ? [{ name: t("Real log"), cells: real, words: logOutcome }] : [];
  return [...policies.map((one) => ({ ...one, words: outcome })), ...logs];
}

/** Returns the ways to choose rows, [{value, title, keeps(cells)}], that keep one at least. */
export function filters({ conditions, policies }) {
  const cellsOf = (row) => policies.map(({ cells }) => cells[row]);
  const offered = [
    ["all", t("All conditions"), () => true],
    ["differ", t("Policies differ"), (cells) => new Set(cells.map((cell) => cell?.success)).size > 1],
    ["failed", t("Failed"), (cells) => cells.some((cell) => cell?.success === false)],
    ...Object.entries(CLASSES).map(([name, [word]]) => [name, word, (cells) => cells.some((c) => c?.failure === name)]),
  ];
  return offered
    .map(([name, title, keeps]) => {
      const rows = conditions.map((_, row) => row).filter((row) => keeps(cellsOf(row)));
      return { name, title: `${title} (${rows.length})`, rows };
    })
    .filter(({ name, rows }) => name === "all" || rows.length);
}

/** The grid of episodes. `onChoose` gets the condition of a cell that was clicked. One cell is reached by Tab, the
 * others by arrow keys. */
export class OutcomeGrid {
  constructor(onChoose) {
    this.onChoose = onChoose;
    this.element = h("div.grid", {
      onkeydown: (event) => this.#move(event),
      onfocusin: ({ target }) => this.#mark(target),
    });
    this.current = "0,0";
    this.shown = "";
  }

  /** Shows these rows, numbers of conditions; the condition `chosen` is the one that plays. */
  show(evaluation, rows, chosen) {
    const shown = JSON.stringify([evaluation, rows, chosen]);
    if (shown === this.shown) return;
    this.shown = shown;
    const head = [t("Condition"), ...columnsOf(evaluation).map(({ name }) => name)];
    fill(
      this.element,
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            head.map((title) => h("th", { scope: "col", title }, title)),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((number, place) => this.#row(evaluation, number, place, chosen)),
        ),
      ),
    );
    this.#mark(
      this.element.querySelector(`[data-cell="${this.current}"]`) ?? this.element.querySelector("[data-cell]"),
    );
  }

  #row(evaluation, number, place, chosen) {
    const id = evaluation.conditions[number];
    const cell = ({ name, cells, words }, column) => {
      const one = cells[number];
      const text = one ? words(one) : t("not run yet");
      const about = one && !one.success ? (one.failure && failureOf(one)[1]) || one.reason : text;
      const kind = one && one.success !== null ? (one.success ? ".good" : ".bad") : "";
      return h(
        "td",
        {},
        h(
          `button.cell${kind}`,
          {
            "data-cell": `${place},${column}`,
            "aria-label": `${id}, ${name}: ${text}`,
            title: about,
            tabindex: "-1",
            onclick: () => this.onChoose(id),
          },
          one ? text : "·",
        ),
      );
    };
    return h(
      id === chosen ? "tr.on" : "tr",
      { "data-condition": id, "aria-current": id === chosen ? "true" : null },
      h("th", { scope: "row" }, id),
      columnsOf(evaluation).map(cell),
    );
  }

  #mark(cell) {
    if (!cell?.dataset.cell) return;
    for (const one of this.element.querySelectorAll("[tabindex='0']")) one.tabIndex = -1;
    cell.tabIndex = 0;
    this.current = cell.dataset.cell;
  }

  #move(event) {
    const step = MOVES[event.key],
      [row, column] = (event.target.dataset.cell ?? "").split(",").map(Number);
    const next = step && this.element.querySelector(`[data-cell="${row + step[0]},${column + step[1]}"]`);
    if (!next) return;
    event.preventDefault();
    next.focus();
  }
}
