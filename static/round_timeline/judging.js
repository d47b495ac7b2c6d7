import { Diff } from "/static/studio/diff.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

const STORED = "grs.playRounds";

// Whether rounds play as they are judged: as chosen in this browser, else unless it asks for less motion.
export function wantsPlayback() {
  const stored = localStorage.getItem(STORED);
  return stored === null ? !matchMedia("(prefers-reduced-motion: reduce)").matches : stored === "on";
}

// Switch for playing rounds as they are judged.
export function playbackSwitch(timeline) {
  const choose = ({ target: { checked: on } }) => {
    localStorage.setItem(STORED, on ? "on" : "off");
    timeline.send("autoplay", { on });
  };
  return html`<label class="tick playback"
    title=${t("Play each round as it is judged; if not, its moment of failure is shown still")}>
    <input type="checkbox" checked=${timeline.value.plays} onchange=${choose} />${t("Play rounds")}
  </label>`;
}

// The repair that is being judged: what was changed, and the differences of its code.
export function judgingPanel({ number, parent, change, changes }) {
  const files = Object.entries(changes);
  if (!files.length) return null;
  const doing = change
    ? t("repairs round {parent}, being judged", { parent })
    : t("edit of round {parent}, being judged", { parent });
  const differences = ([file, rows]) => html`<details open key="${number} ${file}">
    <summary>${t("Changes in {file}", { file })}</summary><${Diff} rows=${rows} />
  </details>`;
  return html`<div class="detail panel judging" role="status">
    <div class="top flow"><strong>${t("Round {number}", { number })}</strong><span class="faint">${doing}</span></div>
    ${change && html`<p class="route">${change}</p>`}
    ${files.map(differences)}
  </div>`;
}
