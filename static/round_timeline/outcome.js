// How a round ended, in a word and in its colour.
import { t } from "/static/studio/texts.js";

export const ROUTES = {
  fix_simulation: t("repair the simulation"),
  fix_checks: t("repair the checks"),
  done: t("done"),
  give_up: t("stopped"),
  ask: t("ask you"),
};

export const tone = ({ clean, crash, violation, timed_out }) =>
  clean ? "good" : crash || violation || timed_out ? "bad" : "warn";

export function outcome({ violation, crash, timed_out, clean, passed, checks }) {
  if (violation) return t("✕ Refused");
  if (crash) return t("✕ Crashed");
  if (timed_out) return t("✕ Timed out");
  return `${clean ? "✓" : "!"} ${t("{passed} of {n} check|{passed} of {n} checks", { passed, n: checks.length })}`;
}

/** Null for a round without a reward. */
export const meanReward = ({ reward }) =>
  reward.length ? reward.reduce((sum, other) => sum + other, 0) / reward.length : null;
