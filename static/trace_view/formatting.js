// Formats durations, costs and counts.
import { t } from "/static/studio/texts.js";

export const seconds = (value) =>
  value === null || value === undefined
    ? ""
    : value < 0.0995
      ? `${Math.max(1, Math.round(value * 1000))} ms`
      : value < 9.95
        ? `${value.toFixed(1)} s`
        : value < 99.5
          ? `${value.toFixed(0)} s`
          : `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
export const dollars = (value) =>
  value === 0 ? "$0" : value < 0.01 ? `$${value.toPrecision(2)}` : `$${value.toFixed(2)}`;
export const count = (value) => Math.round(value).toLocaleString("en");

// Sum over the calls that reported a value, such as "1,204 + 2 unknown"; null if there were no calls.
export function total({ sum, known, missing: unknown }, format) {
  if (!known) return unknown ? t("unknown") : null;
  return unknown ? t("{sum} + {unknown} unknown", { sum: format(sum), unknown }) : format(sum);
}
