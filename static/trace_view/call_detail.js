import { fact, h, plural } from "/static/studio/dom.js";
import { count, dollars, seconds } from "/static/trace_view/formatting.js";
import { STATE_TEXT, STATE_SIGNS } from "/static/trace_view/call_tree.js";

export const TABS = ["Prompt", "Pictures", "Response", "Parsed", "Raw"];
const TONES = { answered: "good", failed: "bad", running: "", interrupted: "warn" };

// A long text, cut, with a link to all of it. Always shown as text, never as markup.
export function text(part, empty) {
  if (!part?.text) return h("p.muted", {}, empty);
  return [
    part.of > part.text.length &&
      h(
        "p.cut",
        {},
        `First ${count(part.text.length)} of ${count(part.of)} characters. `,
        part.link && h("a", { href: part.link, download: "" }, "Download all"),
      ),
    h("pre", { tabIndex: 0 }, part.text),
  ];
}

export function facts(call, details) {
  const [tokensIn, tokensOut] = details.tokens;
  return h(
    "div.facts",
    {},
    fact("model", details.model),
    details.offline
      ? fact("tokens", "none")
      : fact(
          "tokens",
          tokensIn === null && tokensOut === null
            ? "unknown"
            : `${tokensIn === null ? "?" : count(tokensIn)} in, ${tokensOut === null ? "?" : count(tokensOut)} out`,
        ),
    details.offline ? null : fact("cost", details.cost === null ? "unknown" : dollars(details.cost)),
    fact("time", call.seconds === null ? "unknown" : seconds(call.seconds)),
    details.at && fact("started", details.at),
    details.version && fact("prompt", details.version),
  );
}

export function heading(call, details) {
  return h(
    "div.heading",
    {},
    h("strong", {}, [call.title, call.about].filter(Boolean).join(" · ")),
    h(`span.tag.${TONES[call.state]}`, {}, `${STATE_SIGNS[call.state]} ${STATE_TEXT[call.state]}`),
    details?.memo && h("span.tag", {}, "From record"),
  );
}

function exampleList(examples) {
  return (
    examples.length > 0 && [
      h("p.muted", {}, `${plural(examples.length, "example")} in the prompt, solved on other scenes:`),
      h(
        "ul.examples",
        {},
        examples.map((line) => h("li", {}, line)),
      ),
    ]
  );
}

function promptContent(details) {
  return details.messages.length
    ? details.messages.map((message) => [
        details.messages.length > 1 && h("h4", {}, message.role),
        text(message.text, ""),
      ])
    : [h("p.muted", {}, "No prompt; input data:"), text(details.input, "none")];
}

export function tabContent(tab, details, live) {
  if (tab === "Prompt") return [exampleList(details.examples ?? []), promptContent(details)];
  if (tab === "Pictures")
    return details.pictures.length
      ? h(
          "div.pictures",
          {},
          details.pictures.map((address, i) =>
            h(
              "figure",
              {},
              h("img", { src: address, alt: `Picture ${i + 1} of the prompt` }),
              h("figcaption.faint", {}, `Picture ${i + 1}`),
            ),
          ),
        )
      : h(
          "p.muted",
          {},
          details.pictured ? `${plural(details.pictured, "picture")} sent; not stored in the record.` : "No pictures.",
        );
  if (tab === "Response")
    return live
      ? h("pre.live", { "aria-live": "off" }, live)
      : [
          details.attempts.length
            ? details.attempts.map((attempt, i) =>
                h(
                  "details",
                  {},
                  h("summary", {}, `Reply ${i + 1} not usable: ${attempt.problem}`),
                  text(attempt.reply, "Empty."),
                ),
              )
            : null,
          text(details.reply, details.running ? "No response yet." : "No response."),
        ];
  if (tab === "Parsed")
    return text(details.parsed, details.running ? "Still running." : "The reply could not be parsed.");
  return text(details.raw, "");
}
