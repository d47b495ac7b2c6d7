import { h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

// Shows the quantity of a check on the viewer's timeline while the pointer is over an element.
export const measuring = (name) => ({
  onpointerenter: () => dispatchEvent(new CustomEvent("grs-check", { detail: name })),
  onpointerleave: () => dispatchEvent(new CustomEvent("grs-check", { detail: "" })),
});

// The code of checks.py; a line of a check plays the round at the moment that the line is about.
export function checkCode(round, play) {
  let check = null;
  const lines = round.code["checks.py"].split("\n").map((text, index) => {
    const name = text.match(/^def (check_\w+)/)?.[1];
    if (name) check = round.checks.find((other) => other.name === name) ?? null;
    else if (/^\S/.test(text)) check = null;
    if (!check || !text.trim()) return h("span", {}, `${text}\n`);
    const shown = check;
    const atStart = /start/.test(text);
    const failing = shown.line === index + 1;
    return h(
      `button.line${failing ? ".failing" : ""}`,
      {
        title: atStart ? t("Show the start") : t("Show the moment of this check"),
        onclick: () => play(round.number, atStart ? { instant: 0 } : shown),
        ...measuring(shown.name),
      },
      `${text}\n`,
    );
  });
  return h("pre.lines", {}, lines);
}
