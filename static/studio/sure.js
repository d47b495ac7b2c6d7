// How sure the studio is of an object: a glyph, a word and a colour, the reason when the pointer rests on it. Of what was
// made from the view nobody is sure what it is: then the word says of what.
import { h } from "./dom.js";

const SHOWN = { sure: ["good", "✓"], "fairly sure": ["fair", "≈"], unsure: ["warn", "?"] };

export function badge(sure, withWord = true) {
  if (!sure) return null;
  const [tone, glyph] = SHOWN[sure.word] ?? ["", ""];
  const word = sure.of && sure.word !== "unsure" ? `${sure.word} of ${sure.of}` : sure.word;
  return h(`span.tag.${tone}`, { title: `${sure.word}: ${sure.reason}`, "aria-label": sure.word }, withWord ? `${glyph} ${word}` : glyph);
}
