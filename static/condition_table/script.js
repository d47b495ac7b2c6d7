// Conditions of `grs-studio vary` under which the robot failed, each with a button to watch it, as components/steps.py
// describes them.
import { t } from "/static/studio/texts.js";
import { html, mounts, View } from "/static/studio/view.js";

const percent = (share) => Math.round(100 * share);
const short = (value) => (typeof value === "number" ? Number(value.toPrecision(3)) : value);

class ConditionTable extends View {
  watchedStudies = new Set(); // opened by themselves; a person opens and closes them all

  template() {
    const studies = this.value.studies ?? [];
    return html`${studies.length > 0 && html`<h3>${t("Failed conditions")}</h3>`}
      ${studies.map((study) => this.study(study))}`;
  }

  study({ name, title: robot, success, factors, failures }) {
    if (this.value.watched?.study === name) this.watchedStudies.add(name);
    const { successes, count, low, high } = success,
      titles = [t("Condition"), t("Reward"), t("Reason"), ...factors];
    const summary = t("{name}: {successes} of {count} conditions solved by {robot} ({low} to {high} %)", {
      name,
      successes,
      count,
      robot,
      low: percent(low),
      high: percent(high),
    });
    return html`<details key=${name} open=${this.watchedStudies.has(name) || null}>
      <summary>${summary}</summary>
      <div class="rows">
        <table>
          <thead><tr>${titles.map((title) => html`<th>${title}</th>`)}</tr></thead>
          <tbody>${failures.map((failure) => this.row(name, failure))}</tbody>
        </table>
      </div>
    </details>`;
  }

  row(study, { id, reward, reason, values }) {
    const { watched } = this.value,
      isOn = watched?.study === study && watched.id === id;
    return html`<tr class=${isOn ? "watched" : null} data-condition=${id} key=${id}>
      <td>
        <button class="studio-button" aria-pressed=${isOn}
          onclick=${() => this.send("watch", isOn ? {} : { study, id })}>
          ${isOn ? t("■ Close") : t("▶ Watch {id}", { id })}</button>
      </td>
      <td class="number">${reward.toFixed(2)}</td>
      <td>${reason}</td>
      ${values.map((value) => html`<td class="number">${short(value)}</td>`)}
    </tr>`;
  }
}

export default mounts(ConditionTable);
