// The rounds of a task: their branches, and what the chosen one was. See components/steps.py.
import { checkMatrix } from "/static/round_timeline/check_matrix.js";
import { comparison } from "/static/round_timeline/comparison.js";
import { judgingPanel, playbackSwitch, wantsPlayback } from "/static/round_timeline/judging.js";
import { lanes } from "/static/round_timeline/lanes.js";
import { roundDetail } from "/static/round_timeline/round_detail.js";
import { t } from "/static/studio/texts.js";
import { follow, html, mounts, signal, View } from "/static/studio/view.js";

const END_TIME_S = 1e6; // later than any recording

class RoundTimeline extends View {
  picked = signal(/** @type {number | null} */ (null)); // the round that a person chose; null follows the newest one
  showsMatrix = signal(false);
  isAgreed = false; // with the server, on whether rounds are played
  wasRunning = false;
  inSight = "";

  constructor(context) {
    super(context);
    follow(this.root, () => this.takeValue());
  }

  takeValue() {
    const { running, plays } = this.value;
    if (running && !this.wasRunning) this.picked.value = null;
    this.wasRunning = Boolean(running);
    if (this.isAgreed || plays === undefined) return;
    this.isAgreed = true;
    if (plays !== wantsPlayback()) this.send("autoplay", { on: wantsPlayback() });
  }

  get rounds() {
    return this.value.rounds ?? [];
  }

  numbered(number) {
    return this.rounds.find((round) => round.number === number);
  }

  /** The chosen round; undefined if there is none yet. */
  get round() {
    return this.numbered(this.picked.value) ?? this.rounds.at(-1);
  }

  get chosen() {
    return this.round?.number ?? null;
  }

  play(number, check = null) {
    this.send("play", check ? { number, instant: check.instant ?? END_TIME_S } : { number });
  }

  // While a replay is open it shows the chosen round, at the moment that matters.
  choose(number) {
    this.picked.value = number === this.rounds.at(-1)?.number ? null : number;
    const { replayed_round: shown, arranging, comparing } = this.value;
    if (shown === null || shown === number || arranging || comparing) return;
    this.play(number, this.numbered(number)?.checks.find((check) => !check.passed) ?? { instant: null });
  }

  showMatrix(on) {
    this.showsMatrix.value = on;
    if (on !== Boolean(this.value.charts)) this.send("chart", { on });
  }

  // Long lists of rounds scroll by themselves; what is chosen or runs stays in sight.
  keepInSight(lanes) {
    const follows = this.picked.value === null,
      target = (follows && lanes.querySelector(".running")) || lanes.querySelector(".on"),
      key = `${target?.className} ${target?.dataset.round} ${this.rounds.length}`;
    if (key !== this.inSight && target) lanes.scrollTop = target.offsetTop + target.offsetHeight - lanes.clientHeight;
    this.inSight = key;
  }

  template() {
    const { rounds, round } = this,
      { running, judging, comparing, arranging } = this.value,
      isMany = rounds.length > 1;
    return html`${arranging && this.goalLayout()}
      ${
        (running || round) &&
        html`<div class="head">
          <div class="lanes" ref=${(element) => element && this.keepInSight(element)}>${lanes(this)}</div>
          ${playbackSwitch(this)}
        </div>`
      }
      ${
        isMany &&
        html`<div class="tabs" role="group" aria-label=${t("Show")}>
          ${this.tab(false, t("Round"))}${this.tab(true, t("Checks by round"))}
        </div>`
      }
      ${judging && judgingPanel(judging)}
      ${comparing && comparison(comparing, () => this.send("compare", { a: null }))}
      ${isMany && this.showsMatrix.value ? checkMatrix(this) : round && roundDetail(round, this)}`;
  }

  tab(isMatrix, title) {
    const isOn = this.showsMatrix.value === isMatrix;
    return html`<button class=${isOn ? "on" : null} aria-pressed=${isOn} onclick=${() => this.showMatrix(isMatrix)}>
      ${title}</button>`;
  }

  goalLayout() {
    const { replaying, replayed_round: number } = this.value;
    const doing = replaying
      ? t("Replaying the round to its end …")
      : t(
          "Drag objects to their goal positions, or select one and press arrow keys. Objects you do not move are free.",
        );
    return html`<div class="goal-layout panel flow" role="status">
      <span>${doing}</span>
      <button class="studio-button primary" disabled=${replaying} data-sends="round-timeline.use_as_goal"
        onclick=${() => this.send("use_as_goal", { number })}>${t("Use as goal")}</button>
      <button class="studio-button" onclick=${() => this.send("close_replay", {})}>${t("Cancel")}</button>
    </div>`;
  }
}

export default mounts(RoundTimeline);
