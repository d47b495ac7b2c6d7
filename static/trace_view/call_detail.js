import { fact, h } from "/static/studio/dom.js";
import { count, dollars, seconds } from "/static/trace_view/formatting.js";
import { STATE_TEXT, STATE_SIGNS } from "/static/trace_view/call_tree.js";
import { t } from "/static/studio/texts.js";

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
        `${t("First {shown} of {of} characters.", { shown: count(part.text.length), of: count(part.of) })} `,
        part.link && h("a", { href: part.link, download: "" }, t("Download all")),
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
      ? fact("tokens", t("none"))
      : fact(
          "tokens",
          tokensIn === null && tokensOut === null
            ? t("unknown")
            : t("{tokens_in} in, {tokens_out} out", {
                tokens_in: tokensIn === null ? "?" : count(tokensIn),
                tokens_out: tokensOut === null ? "?" : count(tokensOut),
              }),
        ),
    details.offline ? null : fact("cost", details.cost === null ? t("unknown") : dollars(details.cost)),
    fact("time", call.seconds === null ? t("unknown") : seconds(call.seconds)),
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
    details?.memo && h("span.tag", {}, t("From record")),
  );
}

function exampleList(examples) {
  return (
    examples.length > 0 && [
      h(
        "p.muted",
        {},
        t("{n} example in the prompt, solved on other scenes:|{n} examples in the prompt, solved on other scenes:", {
          n: examples.length,
        }),
      ),
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
        details.messages.length > 1 && h("h3", {}, message.role),
        text(message.text, ""),
      ])
    : [h("p.muted", {}, t("No prompt; input data:")), text(details.input, t("none"))];
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
              h("img", { src: address, alt: t("Picture {number} of the prompt", { number: i + 1 }) }),
              h("figcaption.faint", {}, t("Picture {number}", { number: i + 1 })),
            ),
          ),
        )
      : h(
          "p.muted",
          {},
          details.pictured
            ? t("{n} picture sent; not stored in the record.|{n} pictures sent; not stored in the record.", {
                n: details.pictured,
              })
            : t("No pictures."),
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
                  h(
                    "summary",
                    {},
                    t("Reply {number} not usable: {problem}", { number: i + 1, problem: attempt.problem }),
                  ),
                  text(attempt.reply, t("Empty.")),
                ),
              )
            : null,
          text(details.reply, details.running ? t("No response yet.") : t("No response.")),
        ];
  if (tab === "Parsed")
    return text(details.parsed, details.running ? t("Still running.") : t("The reply could not be parsed."));
  return text(details.raw, "");
}
