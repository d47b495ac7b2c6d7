// Formats masses, lengths, inertias and joint limits, and names sources.
export const mass = (kg) =>
  kg >= 1 ? `${kg.toFixed(kg < 10 ? 2 : 0)} kg` : `${(kg * 1000).toFixed(kg < 0.01 ? 1 : 0)} g`;
export const length = (m) =>
  m >= 1 ? `${m.toFixed(2)} m` : m >= 0.01 ? `${(m * 100).toFixed(1)} cm` : `${(m * 1000).toFixed(1)} mm`;
export const COLLECTIONS = { own: "My assets", studio: "Built-in" };
export const collectionName = (name) => COLLECTIONS[name] ?? name;

const SOURCES = {
  asset: "from its file",
  "category table": "typical of its category",
  size: "estimated from its size",
  person: "set by you",
};
export const sourceName = (source) => SOURCES[source] ?? source;

const DESCRIBERS = { human: "by hand", measured: "measured words" };
export const describerName = (source) => DESCRIBERS[source] ?? (source ? `by ${source}` : "");

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
  if (low === null || high === null) return "no limits";
  return kind === "hinge"
    ? `${Math.round((low * 180) / Math.PI)}° to ${Math.round((high * 180) / Math.PI)}°`
    : `${(low * 100).toFixed(1)} to ${(high * 100).toFixed(1)} cm`;
}
