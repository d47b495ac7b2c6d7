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
    const head = [t("Condition"), ...evaluation.policies.map(({ name }) => name)];
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

  #row({ conditions, policies }, number, place, chosen) {
    const id = conditions[number];
    const cell = ({ name, cells }, column) => {
      const one = cells[number];
      const words = one ? outcome(one) : t("not run yet");
      const about = one && !one.success ? failureOf(one)[1] || one.reason : words;
      return h(
        "td",
        {},
        h(
          `button.cell${one ? (one.success ? ".good" : ".bad") : ""}`,
          {
            "data-cell": `${place},${column}`,
            "aria-label": `${id}, ${name}: ${words}`,
            title: about,
            tabindex: "-1",
            onclick: () => this.onChoose(id),
          },
          one ? words : "·",
        ),
      );
    };
    return h(
      id === chosen ? "tr.on" : "tr",
      { "data-condition": id, "aria-current": id === chosen ? "true" : null },
      h("th", { scope: "row" }, id),
      policies.map(cell),
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
