// How far two episodes of a condition differ, per joint over time (Real2Sim, section III-F), below their rollouts.
import { Plots } from "/static/compare/plots.js";
import { jointTable } from "/static/compare/tables.js";
import { t } from "/static/studio/texts.js";
import { computed, html, Placed, signal } from "/static/studio/view.js";

/** Returns the joint whose error is the largest share of its range. */
const widest = ({ arms }) =>
  Object.values(arms)
    .flatMap(({ joints }) => joints)
    .reduce((a, b) => (b.rmse / b.range > a.rmse / a.range ? b : a)).name;

export class Differences {
  pairs = signal(/** @type {any[]} */ ([])); // episodes [{title, is_real}] that can be compared
  pair = signal(/** @type {any} */ (null)); // the one of them that is
  comparison = signal(/** @type {any} */ (null));
  joint = signal("");
  condition = "";
  table = computed(
    () => this.comparison.value && jointTable(this.comparison.value, this.joint.value, (name) => this.#select(name)),
  );

  /** `ask` sends a request, `onSeek` gets a time in seconds that was clicked, `onError` a text. */
  constructor(ask, onSeek, onError) {
    this.ask = ask;
    this.onError = onError;
    this.plots = new Plots(onSeek);
  }

  clear() {
    this.condition = "";
    this.comparison.value = null;
  }

  /** Compares the first two of the panes [{title, is_real}] that play, the real log before others. */
  show(condition, panes) {
    this.clear();
    const ordered = [...panes].sort((a, b) => b.is_real - a.is_real);
    if (ordered.length < 2) return;
    this.condition = condition;
    this.pairs.value = ordered.flatMap((first, i) => ordered.slice(i + 1).map((second) => [first, second]));
    this.#compare(this.pairs.value[0]);
  }

  setTime(time) {
    this.plots.setTime(time);
  }

  async #compare(pair) {
    this.pair.value = pair;
    const { condition } = this,
      [first, second] = pair,
      name = ({ title, is_real }) => (is_real ? "" : title),
      answer = await this.ask({ kind: "differences", condition, first: name(first), second: name(second) });
    if (condition !== this.condition || pair !== this.pair.value) return;
    if (answer.error) return this.onError(answer.error);
    const { comparison } = answer.result,
      joint = widest(comparison);
    this.comparison.value = comparison;
    this.joint.value = joint;
    const names = { real: first.title, sim: second.title, clock: t("Seconds") };
    this.plots.show(answer.result, joint, names, true).catch((error) => this.onError(error.message));
  }

  #select(name) {
    this.joint.value = name;
    this.plots.select(name);
  }

  template() {
    const pairs = this.pairs.value;
    return html`<section class="differences" hidden=${!this.comparison.value}>
      <h3>${t("Differences")}
        <select aria-label=${t("Episodes that are compared")} value=${pairs.indexOf(this.pair.value)}
          onchange=${({ target }) => this.#compare(pairs[target.value])}>
          ${pairs.map(([first, second], i) => html`<option value=${i}>${first.title} · ${second.title}</option>`)}
        </select>
      </h3>
      <${Placed} element=${this.plots.element} />
      <div class="joints">${this.table.value}</div>
    </section>`;
  }
}
