import { h, tickBox } from "/static/studio/dom.js";
import { diff } from "/static/studio/diff.js";
import { t } from "/static/studio/texts.js";

const STORED = "grs.playRounds";

// Whether rounds play as they are judged: as chosen in this browser, else unless it asks for less motion.
export function wantsPlayback() {
  const stored = localStorage.getItem(STORED);
  return stored === null ? !matchMedia("(prefers-reduced-motion: reduce)").matches : stored === "on";
}

// Switch for playing rounds as they are judged.
export function playbackSwitch(on, onChange) {
  const label = tickBox(t("Play rounds"), on, (ticked) => {
    localStorage.setItem(STORED, ticked ? "on" : "off");
    onChange(ticked);
  });
  label.title = t("Play each round as it is judged; if not, its moment of failure is shown still");
  label.classList.add("playback");
  return label;
}

// The repair that is being judged: what was changed, and the differences of its code.
export function judgingPanel({ number, parent, change, changes }) {
  const files = Object.entries(changes);
  if (!files.length) return null;
  return h(
    "div.detail.panel.judging",
    { role: "status" },
    h(
      "div.top",
      {},
      h("strong", {}, t("Round {number}", { number })),
      h(
        "span.faint",
        {},
        change
          ? t("repairs round {parent}, being judged", { parent })
          : t("edit of round {parent}, being judged", { parent }),
      ),
    ),
    change && h("p.route", {}, change),
    files.map(([file, rows]) =>
      h("details", { open: true }, h("summary", {}, t("Changes in {file}", { file })), diff(rows)),
    ),
  );
}
