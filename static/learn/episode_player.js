// One episode in the viewer, by the policy or by the oracle on the same layout, with its terms over time.
import { EpisodeTerms } from "/static/learn/curves.js";
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

/** `play` gets (layout, time, oracle) for the episode that a person asks for; `onError` gets texts. */
export class EpisodePlayer {
  constructor(play, onError) {
    this.onError = onError;
    this.played = null;
    this.terms = new EpisodeTerms();
    this.caption = h("figcaption");
    this.frame = h("iframe", { title: t("The policy in the twin") });
    this.element = h("figure.pane", { hidden: true }, this.caption, this.frame, this.terms.element);
    const button = (oracle, label, title) =>
      h(
        "button.player",
        { "data-oracle": String(oracle), title, onclick: () => play(this.played.layout, 0, oracle) },
        label,
      );
    this.buttons = [
      button(false, t("Policy"), t("The policy's recorded episode")),
      button(
        true,
        t("Oracle"),
        t("The oracle in the same subtask on the same layout, moving at most as fast as a policy"),
      ),
    ];
  }

  clear() {
    this.played = null;
    this.element.hidden = true;
  }

  /** Shows the episode that `answer`, a promise, brings. */
  async show(answer) {
    this.setDisabled(true);
    const episode = await answer;
    this.setDisabled(false);
    this.onError(episode.error ?? "");
    if (episode.error) return;
    this.played = episode;
    this.frame.src = `/viewer/#${episode.view}`;
    this.element.hidden = false;
    this.buttons.forEach((button, index) => {
      button.setAttribute("aria-pressed", String(Boolean(episode.is_oracle) === Boolean(index)));
    });
    fill(
      this.caption,
      h("span.players", { role: "group", "aria-label": t("Who is shown") }, this.buttons),
      t("Layout {layout}", { layout: episode.layout }),
      episode.success ? ` · ✓ ${t("solved")}` : ` · ✗ ${t("not solved")}`,
      ` · ${t("return {value}", { value: episode.reward })}`,
    );
    this.terms.show(episode).catch((error) => this.onError(error.message));
  }

  setDisabled(disabled) {
    for (const button of this.buttons) button.disabled = disabled;
  }
}
