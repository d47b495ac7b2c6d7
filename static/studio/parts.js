// Small parts that several components show, and how they write sizes.
import { filesOfInput } from "./dropped_files.js";
import { t } from "./texts.js";
import { classes, html } from "./view.js";

/** An object's number on its colour, "+" for one that a task brings in. */
export const Chip = ({ object }) =>
  html`<span class="chip" style=${`--colour:${object.colour}`}>${object.is_brought ? "+" : object.id}</span>`;

/** A button with an icon and "2 notices"; where the top bar is narrow, only the number shows. */
export function CountButton({ icon, text, ...attributes }) {
  const [count, ...words] = text.split(" ");
  return html`<button class="studio-button plain count" aria-label=${text} ...${attributes}>
    ${icon}${count}<span class="word"> ${words.join(" ")}</span></button>`;
}

/** One property of an object: its name, in English, and its value. */
export const Fact = ({ name, children }) =>
  html`<div class="fact"><span class="key">${t(name)}</span><span class="value">${children}</span></div>`;

/** A box to tick with its label. `onChange` gets whether it is ticked. */
export const TickBox = ({ label, checked, onChange }) =>
  html`<label class="tick">
    <input type="checkbox" checked=${checked} onchange=${({ target }) => onChange(target.checked)} />${label}
  </label>`;

/** A button that lets a person choose files; `onFiles` gets them as [{file, name}]. */
export function fileButton(label, onFiles, inputAttributes = {}, buttonAttributes = {}) {
  const choose = ({ target }) => {
    const files = filesOfInput(target.files);
    target.value = ""; // so that the same files can be chosen again
    if (files.length) onFiles(files);
  };
  return html`<button class="studio-button" type="button" ...${buttonAttributes}
      onclick=${({ currentTarget }) => currentTarget.nextElementSibling.click()}>${label}</button>
    <input type="file" hidden onchange=${choose} ...${inputAttributes} />`;
}

// Seconds as "45 s", "4 min" or "1 h 5 min".
export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/**
 * A text field that shows `value`, anew whenever that or `since` has changed, but not while a person types in it. Its
 * default value is what it showed last, without what was typed.
 */
export function TypedInput({ value, since = null, ...attributes }) {
  const show = (input) => {
    const isTyping = input === document.activeElement && input?.value !== input?.defaultValue,
      isShown = input?.defaultValue === String(value) && input?.since === since;
    if (input && !isTyping && !isShown) Object.assign(input, { since, defaultValue: value, value });
  };
  return html`<input ...${attributes} ref=${show} />`;
}

/** Text as a sentence begins; an identifier stays as it is. */
export const capitalised = (text) => (/^\w*_/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1));
export const centimetres = (metres, digits = 1) => `${(metres * 100).toFixed(digits)} cm`;
export const sizeText = (size) => `${size.map((x) => (x * 100).toFixed(1)).join(" × ")} cm`;

const LEVELS = {
  sure: ["good", "✓", t("High")],
  "fairly sure": ["fair", "≈", t("Medium")],
  unsure: ["warn", "?", t("Low")],
};

/**
 * Badge with an object's confidence: glyph, word and colour, with the reason as a tooltip. For a reconstruction it is the
 * confidence in its pose only; the badge then says so.
 */
export function ConfidenceBadge({ confidence, withWord = true }) {
  if (!confidence) return null;
  const [tone, glyph, level] = LEVELS[confidence.level] ?? ["", "", confidence.level],
    isPoseOnly = confidence.about && confidence.level !== "unsure",
    text = isPoseOnly ? t("{level} confidence (pose only)", { level }) : t("{level} confidence", { level });
  return html`<span class=${classes("tag", tone)} title=${`${text}: ${confidence.reason}`} aria-label=${text}>
    ${withWord ? `${glyph} ${text}` : glyph}</span>`;
}

const LIKELY_PERCENT = 10; // below it, what is closest is named in the title alone

/** The calibrated confidence {score, level} of a match in its first candidate. Unlike the badge's, a probability. */
export function MatchConfidence({ confidence: { score, level }, first }) {
  const [tone, glyph] = LEVELS[level],
    percent = Math.min(Math.round(score * 100), 99),
    title = t(
      "Probability that {first}, or another asset of its kind that can stand for it, is right. Of 100 matches with this confidence, about {percent} were.",
      { first, percent },
    );
  return html`<span class=${classes("tag match-confidence", tone)} title=${title}>
    ${glyph} ${percent < LIKELY_PERCENT ? t("No asset matches") : t("{first} or its kind: {percent} %", { first, percent })}
  </span>`;
}
