// One call: its prompt, pictures, response, what was read from it, and what it cost.
import { Fact } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";
import { STATE_SIGNS, STATE_TEXT } from "/static/trace_view/call_tree.js";
import { count, dollars, seconds } from "/static/trace_view/formatting.js";

export const TABS = ["Prompt", "Pictures", "Response", "Parsed", "Raw"];
const TONES = { answered: "good", failed: "bad", running: "", interrupted: "warn" };

// A long text, cut, with a link to all of it.
function text(part, empty) {
  if (!part?.text) return html`<p class="muted">${empty}</p>`;
  const cut = { shown: count(part.text.length), of: count(part.of) };
  return html`${
    part.of > part.text.length &&
    html`<p class="cut">${t("First {shown} of {of} characters.", cut)} ${
      part.link && html`<a href=${part.link} download="">${t("Download all")}</a>`
    }</p>`
  }
    <pre tabindex="0">${part.text}</pre>`;
}

function tokensText([tokensIn, tokensOut]) {
  const number = (tokens) => (tokens === null ? "?" : count(tokens));
  if (tokensIn === null && tokensOut === null) return t("unknown");
  return t("{tokens_in} in, {tokens_out} out", { tokens_in: number(tokensIn), tokens_out: number(tokensOut) });
}

export const facts = (call, { model, offline, tokens, cost, at, version }) => html`<div class="facts">
  <${Fact} name="model">${model}<//>
  <${Fact} name="tokens">${offline ? t("none") : tokensText(tokens)}<//>
  ${!offline && html`<${Fact} name="cost">${cost === null ? t("unknown") : dollars(cost)}<//>`}
  <${Fact} name="time">${call.seconds === null ? t("unknown") : seconds(call.seconds)}<//>
  ${at && html`<${Fact} name="started">${at}<//>`}
  ${version && html`<${Fact} name="prompt">${version}<//>`}
</div>`;

export const heading = (call, details) => html`<div class="heading flow">
  <strong>${[call.title, call.about].filter(Boolean).join(" · ")}</strong>
  <span class=${classes("tag", TONES[call.state])}>${STATE_SIGNS[call.state]} ${STATE_TEXT[call.state]}</span>
  ${details?.memo && html`<span class="tag">${t("From record")}</span>`}
</div>`;

function prompt({ examples = [], messages, input }) {
  const note = t(
    "{n} example in the prompt, solved on other scenes:|{n} examples in the prompt, solved on other scenes:",
    { n: examples.length },
  );
  return html`${
    examples.length > 0 &&
    html`<p class="muted">${note}</p><ul class="examples">${examples.map((line) => html`<li>${line}</li>`)}</ul>`
  }
    ${messages.map((message) => [messages.length > 1 && html`<h3>${message.role}</h3>`, text(message.text, "")])}
    ${!messages.length && html`<p class="muted">${t("No prompt; input data:")}</p>${text(input, t("none"))}`}`;
}

function pictures({ pictures, pictured }) {
  const missing = pictured
    ? t("{n} picture sent; not stored in the record.|{n} pictures sent; not stored in the record.", { n: pictured })
    : t("No pictures.");
  if (!pictures.length) return html`<p class="muted">${missing}</p>`;
  return html`<div class="pictures">
    ${pictures.map(
      (address, i) => html`<figure>
        <img src=${address} alt=${t("Picture {number} of the prompt", { number: i + 1 })} />
        <figcaption class="faint">${t("Picture {number}", { number: i + 1 })}</figcaption>
      </figure>`,
    )}
  </div>`;
}

const response = ({ attempts, reply, running }) => html`
  ${attempts.map(
    (attempt, i) => html`<details>
      <summary>${t("Reply {number} not usable: {problem}", { number: i + 1, problem: attempt.problem })}</summary>
      ${text(attempt.reply, t("Empty."))}
    </details>`,
  )}
  ${text(reply, running ? t("No response yet.") : t("No response."))}`;

/** What a tab shows of a call. `live` is the part of its response that has arrived. */
export function tabContent(tab, details, live) {
  if (tab === "Snippet") return html`<pre>${details.snippet}</pre>`;
  if (tab === "Prompt") return prompt(details);
  if (tab === "Pictures") return pictures(details);
  if (tab === "Response" && live) return html`<pre class="live" aria-live="off">${live}</pre>`;
  if (tab === "Response") return response(details);
  if (tab === "Raw") return text(details.raw, "");
  return text(details.parsed, details.running ? t("Still running.") : t("The reply could not be parsed."));
}
