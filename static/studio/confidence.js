// Badge with an object's confidence: glyph, word and colour, with the reason as a tooltip. For a reconstruction it is
// the confidence in its pose only; the badge then says so.
import { h } from "./dom.js";
import { t } from "./texts.js";

const LEVELS = {
  sure: ["good", "✓", t("High")],
  "fairly sure": ["fair", "≈", t("Medium")],
  unsure: ["warn", "?", t("Low")],
};

export function confidenceBadge(confidence, withWord = true) {
  if (!confidence) return null;
  const [tone, glyph, level] = LEVELS[confidence.level] ?? ["", "", confidence.level];
  const text =
    confidence.about && confidence.level !== "unsure"
      ? t("{level} confidence (pose only)", { level })
      : t("{level} confidence", { level });
  return h(
    `span.tag.${tone}`,
    { title: `${text}: ${confidence.reason}`, "aria-label": text },
    withWord ? `${glyph} ${text}` : glyph,
  );
}

// The calibrated confidence {score, level} of a match in its first candidate. Unlike the badge's, it is a probability.
export function matchConfidence({ score, level }, first) {
  const [tone, glyph] = LEVELS[level],
    percent = Math.min(Math.round(score * 100), 99);
  return h(
    `span.tag.${tone}.match-confidence`,
    {
      title: t(
        "Probability that {first}, or another asset of its kind that can stand for it, is right. Of 100 matches with this confidence, about {percent} were.",
        { first, percent },
      ),
    },
    `${glyph} ${t("{first} or its kind: {percent} %", { first, percent })}`,
  );
}
