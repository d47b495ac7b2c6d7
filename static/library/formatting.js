// Formats masses, lengths, inertias and joint limits, and names sources.
import { t } from "/static/studio/texts.js";

export const mass = (kg) =>
  kg >= 1 ? `${kg.toFixed(kg < 10 ? 2 : 0)} kg` : `${(kg * 1000).toFixed(kg < 0.01 ? 1 : 0)} g`;
export const length = (m) =>
  m >= 1 ? `${m.toFixed(2)} m` : m >= 0.01 ? `${(m * 100).toFixed(1)} cm` : `${(m * 1000).toFixed(1)} mm`;
export const COLLECTIONS = { own: t("My assets"), studio: t("Built-in") };
export const collectionName = (name) => COLLECTIONS[name] ?? name;

const SOURCES = {
  asset: t("from its file"),
  "category table": t("typical of its category"),
  size: t("estimated from its size"),
  person: t("set by you"),
};
export const sourceName = (source) => SOURCES[source] ?? source;

const DESCRIBERS = { human: t("by hand"), measured: t("measured words") };
export const describerName = (source) => DESCRIBERS[source] ?? (source ? t("by {source}", { source }) : "");

export function inertia(values) {
  const power = Math.floor(Math.log10(Math.max(...values, 1e-12)));
  const digits = [..."⁰¹²³⁴⁵⁶⁷⁸⁹"];
  const exponent = [...String(power)]
    .map((character) => (character === "-" ? "⁻" : digits[Number(character)]))
    .join("");
  const mantissas = values.map((value) => (value / 10 ** power).toFixed(2));
  return `${mantissas.join(" · ")}${power ? ` × 10${exponent}` : ""} kg m²`;
}

// A joint's range, in degrees or centimetres.
export function travel({ kind, range: [low, high] }) {
  if (low === null || high === null) return t("no limits");
  return kind === "hinge"
    ? t("{low}° to {high}°", { low: Math.round((low * 180) / Math.PI), high: Math.round((high * 180) / Math.PI) })
    : t("{low} to {high} cm", { low: (low * 100).toFixed(1), high: (high * 100).toFixed(1) });
}
