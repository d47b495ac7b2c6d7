import { h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

// Why a round failed: facts that show their moment, and buttons for what to try. Null for a round that passed.
export function failureCauses(round, { play, tryRemedy, busy }) {
  if (!round.causes?.facts.length) return null;
  return h(
    "section.causes",
    { "aria-label": t("Why it failed") },
    h("b", {}, t("Why it failed")),
    h(
      "ol",
      {},
      round.causes.facts.map(({ text, instant }) =>
        h(
          "li",
          {},
          text,
          instant !== null &&
            h(
              "button.studio-button.plain",
              { title: t("Show this moment"), onclick: () => play(round.number, { instant }) },
              `▶ ${instant.toFixed(1)} s`,
            ),
        ),
      ),
    ),
    round.causes.remedies.length > 0 &&
      h(
        "div.remedies",
        { "data-sends": "round-timeline.remedy" },
        round.causes.remedies.map(({ kind, title, instruction }) =>
          h(
            "button.studio-button",
            {
              title: instruction || t("Double tolerances and zones, and continue as a new branch"),
              disabled: busy,
              onclick: () => tryRemedy({ number: round.number, kind, instruction }),
            },
            title,
            instruction && h("span.faint", {}, ` ${instruction}`),
          ),
        ),
      ),
  );
}
