import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";
import { measuredCheck } from "/static/viewer/frame/linked_viewers.js";

// Shows the quantity of a check on the viewer's timeline while the pointer is over an element.
export const measuring = (name) => ({
  onpointerenter: () => (measuredCheck.value = name),
  onpointerleave: () => (measuredCheck.value = ""),
});

// The code of checks.py; a line of a check plays the round at the moment that the line is about.
export function checkCode(round, timeline) {
  let check = null;
  const line = (text, index) => {
    const name = text.match(/^def (check_\w+)/)?.[1];
    if (name) check = round.checks.find((other) => other.name === name) ?? null;
    else if (/^\S/.test(text)) check = null;
    if (!check || !text.trim()) return html`<span>${`${text}\n`}</span>`;
    const shown = check,
      atStart = /start/.test(text);
    return html`<button class=${classes("line", shown.line === index + 1 && "failing")}
      title=${atStart ? t("Show the start") : t("Show the moment of this check")}
      onclick=${() => timeline.play(round.number, atStart ? { instant: 0 } : shown)} ...${measuring(shown.name)}>
      ${`${text}\n`}</button>`;
  };
  return html`<pre class="lines">${round.code["checks.py"].split("\n").map(line)}</pre>`;
}
