// The reward of each seed as a bar, and why seeds failed.
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";

const SHOWN_FAILURES = 4;

export function seedRewards({ seeds = [], waiting }) {
  return html`<div class="panel box">
    <h3>${t("Reward per seed")}</h3>
    ${seeds.length ? bars(seeds) : html`<p class="muted">${waiting}</p>`}
  </div>`;
}

function bars(seeds) {
  const said = seeds.map(({ seed, reward }) => t("seed {seed}: {reward}", { seed, reward: reward.toFixed(2) })),
    failed = seeds.filter((seed) => !seed.success).slice(0, SHOWN_FAILURES);
  const failure = ({ seed, why, crash }) =>
    html`<li><strong>${t("Seed {seed}:", { seed })} </strong>${why || crash}</li>`;
  return html`<div class="bars" role="img" aria-label=${said.join(", ")}>${seeds.map(bar)}</div>
    <p class="faint">${t("Each seed is one start layout; seed 0 is the photographed one. Full bar: reward 1.")}</p>
    ${failed.length > 0 && html`<ul class="failed">${failed.map(failure)}</ul>`}`;
}

function bar({ seed, reward, crash, success }) {
  const number = reward.toFixed(2);
  return html`<div class="seed" title=${crash || t("seed {seed}: reward {reward}", { seed, reward: number })}>
    <span class="number">${crash ? "✕" : number}</span>
    <span class="column">
      <span class=${classes("level", success && "good")} style="height:${Math.max(2, reward * 100)}%" />
    </span>
    <span class="faint">${success ? "✓" : "✕"} ${seed}</span>
  </div>`;
}
