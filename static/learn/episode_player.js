// One episode in the viewer, by the policy or by the oracle on the same layout, with its terms over time.
import { EpisodeTerms } from "/static/learn/curves.js";
import { t } from "/static/studio/texts.js";
import { batch, html, signal } from "/static/studio/view.js";

/** `play` gets (layout, time, oracle) for the episode that a person asks for; `onError` gets texts. */
export class EpisodePlayer {
  played = signal(/** @type {any} */ (null));
  view = signal(/** @type {string | undefined} */ (undefined)); // stays in the frame when the episode is closed
  isLoading = signal(false);
  terms = new EpisodeTerms();

  constructor(play, onError) {
    this.play = play;
    this.onError = onError;
  }

  clear() {
    this.played.value = null;
  }

  /** Shows the episode that `answer`, a promise, brings. */
  async show(answer) {
    this.isLoading.value = true;
    const episode = await answer;
    this.isLoading.value = false;
    this.onError(episode.error ?? "");
    if (episode.error) return;
    batch(() => {
      this.played.value = episode;
      this.view.value = episode.view;
    });
    this.terms.show(episode).catch((error) => this.onError(error.message));
  }

  template() {
    return html`<figure class="pane" hidden=${!this.played.value}>
      <figcaption>${this.played.value && this.caption(this.played.value)}</figcaption>
      <iframe title=${t("The policy in the twin")} src=${this.view.value && `/viewer/#${this.view.value}`} />
      ${this.terms.template()}
    </figure>`;
  }

  caption({ layout, success, reward }) {
    const oracle = t("The oracle in the same subtask on the same layout, moving at most as fast as a policy");
    return html`<span class="players" role="group" aria-label=${t("Who is shown")}>
        ${this.player(false, t("Policy"), t("The policy's recorded episode"))}
        ${this.player(true, t("Oracle"), oracle)}
      </span>
      ${t("Layout {layout}", { layout })}
      ${success ? ` · ✓ ${t("solved")}` : ` · ✗ ${t("not solved")}`}
      ${` · ${t("return {value}", { value: reward })}`}`;
  }

  player(isOracle, label, title) {
    const { layout, is_oracle } = this.played.value;
    return html`<button class="player" data-oracle=${isOracle} title=${title} disabled=${this.isLoading.value}
      aria-pressed=${Boolean(is_oracle) === isOracle} onclick=${() => this.play(layout, 0, isOracle)}>
      ${label}</button>`;
  }
}
