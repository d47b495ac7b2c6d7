import { h, plural } from "/static/studio/dom.js";
import { count, dollars, seconds } from "/static/trace_view/numbers.js";
import { SAYS, SIGNS } from "/static/trace_view/tree.js";

export const TABS = ["Prompt", "Pictures", "Response", "Parsed", "Raw"];
const TONES = { answered: "good", failed: "bad", running: "", lost: "warn" };

// A long text as far as it is shown, and where the rest is. Always text, never markup.
export function text(one, empty) {
  if (!one?.text) return h("p.muted", {}, empty);
  return [one.of > one.text.length && h("p.cut", {}, `The first ${count(one.text.length)} of ${count(one.of)} characters. `, one.link && h("a", { href: one.link, download: "" }, "Download all of it")),
    h("pre", { tabIndex: 0 }, one.text)];
}

export function facts(call, told) {
  const [asked, said] = told.tokens;
  const cell = (name, value) => h("div.fact", {}, h("span.key", {}, name), h("span.value", {}, value));
  return h("div.facts", {},
    cell("model", told.model), told.offline ? cell("tokens", "none needed") : cell("tokens", asked === null && said === null ? "unknown" : `${asked === null ? "?" : count(asked)} in, ${said === null ? "?" : count(said)} out`),
    told.offline ? null : cell("cost", told.cost === null ? "unknown" : dollars(told.cost)), cell("time", call.seconds === null ? "unknown" : seconds(call.seconds)),
    told.at && cell("asked at", told.at), told.version && cell("prompt", told.version));
}

export function heading(call, told) {
  return h("div.heading", {}, h("strong", {}, [call.title, call.about].filter(Boolean).join(" · ")), h(`span.tag.${TONES[call.state]}`, {}, `${SIGNS[call.state]} ${SAYS[call.state]}`), told?.memo && h("span.tag", {}, "from the record"));
}

export function page(tab, told, live) {
  if (tab === "Prompt") return told.messages.length ? told.messages.map((one) => [told.messages.length > 1 && h("h4", {}, one.role), text(one.text, "")]) : [h("p.muted", {}, "Asked with data, not in words:"), text(told.asked, "nothing")];
  if (tab === "Pictures") return told.pictures.length ? h("div.pictures", {}, told.pictures.map((address, i) => h("figure", {}, h("img", { src: address, alt: `Picture ${i + 1} of the prompt` }), h("figcaption.faint", {}, `Picture ${i + 1}`)))) : h("p.muted", {}, told.pictured ? `${plural(told.pictured, "picture")} went with it; the record does not hold them.` : "No picture went with this question.");
  if (tab === "Response") return live ? h("pre.live", { "aria-live": "off" }, live) : [told.attempts.length ? told.attempts.map((one, i) => h("details", {}, h("summary", {}, `Reply ${i + 1} could not be used: ${one.problem}`), text(one.reply, "It was empty."))) : null, text(told.reply, told.running ? "Nothing has arrived yet." : "Nothing came back.")];
  if (tab === "Parsed") return text(told.parsed, told.running ? "It has not ended yet." : "Nothing that fits the question could be read from the reply.");
  return text(told.raw, "");
}
