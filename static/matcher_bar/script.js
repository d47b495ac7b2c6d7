// Chooses the matcher, and evaluates all on labelled frames.
import { MatcherEvaluation } from "/static/matcher_bar/evaluation.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";
import { html, mounts, View } from "/static/studio/view.js";

class MatcherBar extends View {
  evaluation = new MatcherEvaluation(
    this,
    asker(this.server, () => ({ page_token: this.value.page_token })),
  );

  template() {
    const { matchers = [], chosen, note } = this.value,
      choose = ({ target }) => this.send("choose", { name: target.value });
    return html`<div hidden=${!matchers.length}>
      <div class="bar panel flow">
        <label for="matcher">${t("Matcher")}</label>
        <select id="matcher" data-sends="matcher-bar.choose" value=${chosen} onchange=${choose}>
          ${matchers.map(option)}</select>
        <span class="about">${matchers.find(({ name }) => name === chosen)?.about}</span>
        <button class="studio-button" title=${t("Measure the matchers on labelled frames")}
          onclick=${() => this.evaluation.open()}>${t("Evaluate matchers …")}</button>
      </div>
      ${note && html`<p class="note" role="status">${note}</p>`}
      ${this.evaluation.template()}
    </div>`;
  }
}

function option({ name, title, about, unavailable }) {
  if (!unavailable) return html`<option value=${name} title=${about}>${title}</option>`;
  return html`<option value=${name} disabled title=${`${title} ${unavailable}`}>
    ${title} (${unavailable.split(/[,;]/)[0]})</option>`;
}

export default mounts(MatcherBar);
