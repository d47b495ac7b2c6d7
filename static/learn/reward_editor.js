// The success conditions and reward terms of a subtask: weights, deletion, and terms to add.
import { t } from "/static/studio/texts.js";
import { html, signal } from "/static/studio/view.js";

const TEMPLATE = `def compute_reward(env):
    """What it leads to"""
    hand = env.get_robot_gripper_pose()
    cube = env.get_pose_by_link_name("name of an object", "base")
    return -norm(hand - cube)`;

/** `edit` gets {change, index, weight, row} of a subtask that a person may edit. */
export class RewardEditor {
  weights = signal(/** @type {Record<number, string>} */ ({})); // as typed, until the edit is answered, by the term

  constructor(edit) {
    this.edit = edit;
  }

  async weigh(index, weight) {
    await this.edit({ change: "weight", index, weight });
    this.weights.value = {};
  }

  /** `allowed` says whether a person may edit now. */
  template(subtask, allowed) {
    const { success, reward, addable_goals, addable_terms, can_edit } = subtask;
    return html`${
      can_edit &&
      html`<label class="tick">
        <input type="checkbox" data-sends="learn.edit" disabled=${!allowed} checked=${subtask.way === "plan"}
          onchange=${({ target }) => this.edit({ change: "way", way: target.checked ? "plan" : "learn" })} />${t(
            "Planned by the oracle, not learned",
          )}</label>`
    }
      <h3>${t("Success conditions")}</h3>
      <ul class="rows">
        ${success.map(
          (text, index) => html`<li>
            <span class="text">${text}</span>
            ${can_edit && this.remove("remove_goal", index, text, allowed && success.length > 1)}
          </li>`,
        )}
      </ul>
      ${can_edit && this.adder("add_goal", t("Add a condition"), addable_goals, allowed)}
      <h3>${t("Reward terms")}</h3>
      <ul class="rows">${reward.map((term, index) => this.term(term, index, subtask, allowed))}</ul>
      ${can_edit && this.adder("add_term", t("Add a term"), addable_terms, allowed)}
      ${can_edit && this.coder(t("Add a term as code"), TEMPLATE, null, `new ${reward.length}`, allowed)}
      <p class="muted">
        ${t("The success conditions alone decide about success; terms only lead the learner there.")}</p>`;
  }

  term({ text, weight, code }, index, { can_edit, reward }, allowed) {
    const type = ({ target }) => (this.weights.value = { ...this.weights.value, [index]: target.value });
    return html`<li>
      <span class="text">${text}</span>
      <input class="weight" type="number" min="0.1" max="100" step="0.1"
        value=${this.weights.value[index] ?? String(Number(weight.toFixed(2)))}
        aria-label=${t("Weight of {term}", { term: text })} title=${t("Weight")} disabled=${!allowed || !can_edit}
        data-sends="learn.edit" oninput=${type} onchange=${({ target }) => this.weigh(index, Number(target.value))} />
      ${can_edit && this.remove("remove_term", index, text, allowed && reward.length > 1)}
      ${can_edit && code && this.coder(t("Code"), code, index, code, allowed)}
    </li>`;
  }

  remove(change, index, text, allowed) {
    return html`<button class="studio-button plain" aria-label=${`${t("Delete")}: ${text}`} title=${t("Delete")}
      disabled=${!allowed} data-sends="learn.edit" onclick=${() => this.edit({ change, index })}>✕</button>`;
  }

  // What is typed stays until the code is another one: the field is a new one for another `key`.
  coder(label, source, index, key, allowed) {
    const use = ({ currentTarget }) =>
      this.edit({ change: "code", index, source: currentTarget.previousElementSibling.value });
    return html`<details class="code">
      <summary>${label}</summary>
      <textarea key=${key} rows="9" spellcheck=${false} aria-label=${label} disabled=${!allowed}
        defaultValue=${source} />
      <button class="studio-button" disabled=${!allowed} data-sends="learn.edit" onclick=${use}>
        ${t("Use this code")}</button>
    </details>`;
  }

  adder(change, label, options, allowed) {
    if (!options.length) return null;
    return html`<select class="adder" aria-label=${label} value="" disabled=${!allowed} data-sends="learn.edit"
      onchange=${({ target }) => this.edit({ change, row: options[Number(target.value)].row })}>
      <option value="">+ ${label} …</option>
      ${options.map(({ text }, index) => html`<option value=${index}>${text}</option>`)}
    </select>`;
  }
}
