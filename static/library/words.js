// Numbers and sources as a person reads them.
export const mass = (kg) => (kg >= 1 ? `${kg.toFixed(kg < 10 ? 2 : 0)} kg` : `${(kg * 1000).toFixed(kg < 0.01 ? 1 : 0)} g`);
export const length = (m) => (m >= 1 ? `${m.toFixed(2)} m` : m >= 0.01 ? `${(m * 100).toFixed(1)} cm` : `${(m * 1000).toFixed(1)} mm`);
export const PLACES = { own: "my own", studio: "the studio's" };
export const place = (name) => PLACES[name] ?? name;

const SOURCES = { asset: "from its file", "category table": "usual for its kind", size: "guessed from its size", person: "said by a person" };
export const source = (said) => SOURCES[said] ?? said;

export function inertia(values) {
  const power = Math.floor(Math.log10(Math.max(...values, 1e-12)));
  const digits = [..."⁰¹²³⁴⁵⁶⁷⁸⁹"];
  const raised = [...String(power)].map((one) => (one === "-" ? "⁻" : digits[Number(one)])).join("");
  return `${values.map((one) => (one / 10 ** power).toFixed(2)).join(" · ")}${power ? ` × 10${raised}` : ""} kg m²`;
}

// How far a joint goes: degrees or centimetres.
export function travel({ kind, range: [low, high] }) {
  if (low === null || high === null) return "without limits";
  return kind === "hinge" ? `${Math.round((low * 180) / Math.PI)}° to ${Math.round((high * 180) / Math.PI)}°` : `${(low * 100).toFixed(1)} to ${(high * 100).toFixed(1)} cm`;
}
