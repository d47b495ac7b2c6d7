// Badge with an object's confidence: glyph, word and colour, with the reason as a tooltip. For a reconstruction it is
// the confidence in its pose only; the badge then says so.
import { h } from "./dom.js";

const LEVELS = { sure: ["good", "✓", "High"], "fairly sure": ["fair", "≈", "Medium"], unsure: ["warn", "?", "Low"] };

export function confidenceBadge(confidence, withWord = true) {
  if (!confidence) return null;
  const [tone, glyph, level] = LEVELS[confidence.level] ?? ["", "", confidence.level];
  const text = confidence.about && level !== "Low" ? `${level} ${confidence.about} confidence` : `${level} confidence`;
  return h(
    `span.tag.${tone}`,
    { title: `${text}: ${confidence.reason}`, "aria-label": text },
    withWord ? `${glyph} ${text}` : glyph,
  );
}
