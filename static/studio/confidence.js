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
