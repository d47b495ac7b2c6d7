// The Review page: whether the task was solved, by which robot, and what comes out of it. See components/steps.py.
import { Downloads } from "/static/results/downloads.js";
import { exportBox } from "/static/results/exports.js";
import { RobotReach } from "/static/results/robot_reach.js";
import { seedRewards } from "/static/results/seed_rewards.js";
import { ShareLinks } from "/static/results/share_links.js";
import { mayWork } from "/static/studio/account.js";
import { capitalised } from "/static/studio/parts.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";
import { classes, follow, html, mounts, signal, View } from "/static/studio/view.js";

class Results extends View {
  format = signal(""); // of the export that a person chose
  downloads = new Downloads();

  constructor(context) {
    super(context);
    const ask = asker(this.server, () => ({ token: this.value.token }));
    this.share = new ShareLinks(ask);
    this.reach = new RobotReach(ask);
    follow(this.root, () => {
      const { stages, token } = this.value;
      if (!stages) return;
      this.reach.show(token);
      if (this.offersLinks) this.share.read(token);
    });
  }

  get offersLinks() {
    return this.value.shares && mayWork;
  }

  template() {
    const { value } = this;
    if (!value.stages) return null;
    return html`${value.sentence && verdict(value)}
      <div class="panel box robots flow">
        <h3>${t("Robot")}</h3>
        ${this.robots.map((robot) => this.robotButton(robot))}
        ${this.reach.template(this.robots, value.exports.length > 0)}
      </div>
      <div class="grid">${seedRewards(value)}${exportBox(value, this.format, this.downloads)}</div>
      ${stageTable(value.stages)}
      ${value.decisions?.length > 0 && provenance(value.decisions)}
      ${this.offersLinks && this.share.template()}`;
  }

  get robots() {
    return this.value.robots ?? [];
  }

  robotButton({ name, title, note, chosen }) {
    const { busy, ready } = this.value;
    return html`<button class=${classes("robot", chosen && "chosen")} disabled=${busy || !ready}
      data-sends="results.solve" aria-pressed=${chosen}
      title=${ready ? t("Solve every seed with it: {note}", { note }) : t("Generate a task first")}
      onclick=${() => this.send("solve", { robot: name })}>
      <strong>${chosen ? "● " : "○ "}${title}</strong><span class="faint">${note}</span>
    </button>`;
  }
}

function verdict({ solved, doubts = [], sentence, earlier }) {
  const isSure = solved && !doubts.length,
    word = isSure ? t("✓ Solved.") : solved ? t("? Doubtful.") : t("! Not solved.");
  return html`<div class=${classes("verdict", isSure ? "good" : "warn")}>
    <strong>${word} </strong>${sentence}
    ${earlier && html`<p class="earlier">${earlier}</p>`}
    ${doubts.map((doubt) => html`<p>${capitalised(doubt)}.</p>`)}
  </div>`;
}

function stageTable(stages) {
  const row = ({ stage, tone, state, source, note }) => html`<tr>
    <td>${stage}</td><td><span class="tag ${tone}">${state}</span></td><td>${source}</td><td class="faint">${note}</td>
  </tr>`;
  return html`<div class="panel box wide">
    <h3>${t("Stages")}</h3>
    <table><tbody>${stages.map(row)}</tbody></table>
  </div>`;
}

function provenance(decisions) {
  const row = ({ at, by, text }) => html`<tr><td class="faint">${at}</td><td>${by}</td><td>${text}</td></tr>`;
  return html`<details class="panel box wide provenance">
    <summary>
      <h3>${t("Provenance: {n} decision|Provenance: {n} decisions", { n: decisions.length })}</h3>
    </summary>
    <table>
      <thead><tr><th>${t("When")}</th><th>${t("Who")}</th><th>${t("Decision")}</th></tr></thead>
      <tbody>${decisions.map(row)}</tbody>
    </table>
  </details>`;
}

export default mounts(Results);
