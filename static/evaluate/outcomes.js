// What became of episodes, in words, and the grid of all: policies as columns, conditions as rows.
import { t } from "/static/studio/texts.js";
import { classes, html, signal } from "/static/studio/view.js";

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

/** Returns the columns of the grid, {name, cells, words(cell)}: the policies, and last the real logs if any. */
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
  current = signal("0,0"); // the row and column of that cell

  constructor(onChoose) {
    this.onChoose = onChoose;
  }

  /** Shows these rows, numbers of conditions; the condition `chosen` is the one that plays. */
  template(evaluation, rows, chosen) {
    const columns = columnsOf(evaluation),
      head = [t("Condition"), ...columns.map(({ name }) => name)],
      [row, column] = place(this.current.value),
      current = row < rows.length && column < columns.length ? this.current.value : "0,0";
    const mark = ({ target }) => {
      this.current.value = target.dataset.cell ?? this.current.value;
    };
    const line = (number, index) => {
      const id = evaluation.conditions[number],
        isOn = id === chosen;
      return html`<tr class=${isOn ? "on" : null} data-condition=${id} aria-current=${isOn || null} key=${id}>
        <th scope="row">${id}</th>
        ${columns.map((one, at) => this.#cell(one, number, id, `${index},${at}`, current))}
      </tr>`;
    };
    return html`<div class="grid" onkeydown=${move} onfocusin=${mark}>
      <table>
        <thead><tr>${head.map((title) => html`<th scope="col" title=${title}>${title}</th>`)}</tr></thead>
        <tbody>${rows.map(line)}</tbody>
      </table>
    </div>`;
  }

  #cell({ name, cells, words }, number, id, at, current) {
    const one = cells[number],
      text = one ? words(one) : t("not run yet"),
      about = one && !one.success ? (one.failure && failureOf(one)[1]) || one.reason : text,
      isKnown = one && one.success !== null;
    return html`<td>
      <button class=${classes("cell", isKnown && (one.success ? "good" : "bad"))} data-cell=${at} title=${about}
        aria-label="${id}, ${name}: ${text}" tabindex=${at === current ? 0 : -1} onclick=${() => this.onChoose(id)}>
        ${one ? text : "·"}</button>
    </td>`;
  }
}

const place = (cell) => cell.split(",").map(Number);

function move(event) {
  const step = MOVES[event.key],
    [row, column] = place(event.target.dataset.cell ?? ""),
    next = step && event.currentTarget.querySelector(`[data-cell="${row + step[0]},${column + step[1]}"]`);
  if (!next) return;
  event.preventDefault();
  next.focus();
}
