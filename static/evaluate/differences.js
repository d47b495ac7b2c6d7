// How far two episodes of a condition differ, per joint over time (Real2Sim, section III-F), below their rollouts.
import { Plots } from "/static/compare/plots.js";
import { jointTable } from "/static/compare/tables.js";
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

/** Returns the joint whose error is the largest share of its range. */
const widest = ({ arms }) =>
  Object.values(arms)
    .flatMap(({ joints }) => joints)
    .reduce((a, b) => (b.rmse / b.range > a.rmse / a.range ? b : a)).name;

export class Differences {
  /** `ask` sends a request, `onSeek` gets a time in seconds that was clicked, `onError` a text. */
  constructor(ask, onSeek, onError) {
    Object.assign(this, { ask, onError });
    this.plots = new Plots(onSeek);
    this.table = h("div.joints");
    this.pair = h("select", {
      "aria-label": t("Episodes that are compared"),
      onchange: () => this.#compare(),
    });
    this.element = h(
      "section.differences",
      {},
      h("h3", {}, t("Differences"), this.pair),
      this.plots.element,
      this.table,
    );
    this.clear();
  }

  clear() {
    this.condition = "";
    this.element.hidden = true;
  }

  /** Compares the first two of the panes [{title, is_real}] that play, the real log before others. */
  show(condition, panes) {
    this.clear();
    const ordered = [...panes].sort((a, b) => b.is_real - a.is_real);
    if (ordered.length < 2) return;
    this.condition = condition;
    this.pairs = ordered.flatMap((first, i) => ordered.slice(i + 1).map((second) => [first, second]));
    fill(
      this.pair,
      this.pairs.map(([first, second], i) => h("option", { value: i }, `${first.title} · ${second.title}`)),
    );
    this.#compare();
  }

  setTime(time) {
    this.plots.setTime(time);
  }

  async #compare() {
    const { condition } = this,
      [first, second] = this.pairs[Number(this.pair.value)];
    const name = ({ title, is_real }) => (is_real ? "" : title);
    const answer = await this.ask({ kind: "differences", condition, first: name(first), second: name(second) });
    if (condition !== this.condition) return;
    if (answer.error) return this.onError(answer.error);
    this.element.hidden = false;
    const names = { real: first.title, sim: second.title, clock: t("Seconds") };
    const joint = widest(answer.result.comparison);
    this.plots.show(answer.result, joint, names, true).catch((error) => this.onError(error.message));
    this.#drawTable(answer.result.comparison, joint);
  }

  #drawTable(comparison, joint) {
    const select = (name) => {
      this.plots.select(name);
      this.#drawTable(comparison, name);
    };
    fill(this.table, jointTable(comparison, joint, select));
  }
}
