// Numbers as people read them; what nobody told is unknown, never 0.
export const seconds = (value) => (value === null || value === undefined ? "" : value < 0.0995 ? `${Math.max(1, Math.round(value * 1000))} ms` : value < 9.95 ? `${value.toFixed(1)} s` : value < 99.5 ? `${value.toFixed(0)} s` : `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`);
export const dollars = (value) => (value === 0 ? "$0" : value < 0.01 ? `$${value.toPrecision(2)}` : `$${value.toFixed(2)}`);
export const count = (value) => Math.round(value).toLocaleString("en");

// A sum over those who told: "1,204 tokens, 2 calls did not say".
export function total({ sum, told, untold }, say) {
  if (!told) return untold ? "unknown" : null;
  return untold ? `${say(sum)} + ${untold} unknown` : say(sum);
}
