import { fill, h } from "/static/studio/dom.js";
import { openCalls } from "/static/studio/drawer.js";
import { onTab, openStep, showStep, tabsSay } from "/static/studio/gradio_tabs.js";
import { t } from "/static/studio/texts.js";

const TABS_TIMEOUT_MS = 3000;
const PROTECTION = {
  confined: t("Programs confined"),
  refused: t("⚠ Programs not confined: refused"),
  agreed: t("⚠ Programs not confined"),
};

export default function mount({ element, trigger }) {
  let isOpen = false,
    last = {};
  // Created once and then changed: a button that is redrawn cannot be clicked while work goes on.
  const stop = h(
    "button.studio-button.stop",
    { "data-sends": "status-bar.stop", onclick: () => trigger("stop") },
    t("■ Stop"),
  );
  const spin = h("span.spin", { "aria-hidden": "true" }),
    message = h("span.message", { role: "status" });
  const fillElement = h("span.fill"),
    track = h("span.track", {}, fillElement),
    count = h("span.faint");
  const toggle = h("button.studio-button.plain.toggle", {
    onclick: () => {
      isOpen = !isOpen;
      draw(last);
    },
  });
  const calls = h("button.studio-button.plain.calls", {
    title: t("Show model calls"),
    onclick: () => openCalls(),
  });
  const protection = h("span.protection"),
    agree = h(
      "button.studio-button.agree",
      { "data-sends": "status-bar.agree", onclick: () => trigger("agree") },
      t("Run unconfined"),
    );
  const note = h("span.note"),
    next = h("button.studio-button.primary.next", { onclick: () => showStep(next.dataset.step) });
  const logElement = h("div.log", { role: "log" }),
    line = h("div.now");
  fill(element.querySelector(".status-bar"), logElement, line);

  // What to look at on the open step, and the button to the step after it.
  const guide = () => {
    const { note: text = "", next: step = "", title = "" } = (!last.running && last.guide?.[openStep()]) || {};
    note.textContent = text;
    next.dataset.step = step;
    next.textContent = t("Next: {step}", { step: title });
    next.hidden = !step;
  };
  onTab(guide);

  // Gradio draws the tabs a moment later; the message of how work ended waits for them, so that both say the same.
  const showMessage = (value, until = performance.now() + TABS_TIMEOUT_MS) => {
    if (value !== last) return;
    const waits = !value.running && !tabsSay(value.states ?? {});
    if (waits && performance.now() < until) setTimeout(() => showMessage(value, until), 30);
    else message.textContent = value.stopping ? t("Stopping …") : (value.message ?? "");
  };

  const draw = (value) => {
    last = value ?? {};
    const { running, stopping, done = 0, of = 0, log = [] } = last;
    showMessage(last);
    fillElement.style.width = of ? `${Math.min(100, (done / of) * 100).toFixed(0)}%` : "30%";
    count.textContent = of ? t("{done} of {of}", { done, of }) : "";
    stop.disabled = Boolean(stopping);
    toggle.textContent = isOpen ? t("Hide log") : t("Log ({count})", { count: log.length });
    calls.textContent = last.calls ?? "";
    const { state, title = "", question = "" } = last.protection ?? {};
    protection.textContent = PROTECTION[state] ?? "";
    protection.title = title;
    protection.classList.toggle("missing", Boolean(state) && state !== "confined");
    agree.title = question;
    agree.hidden = state !== "refused";
    guide();
    toggle.setAttribute("aria-expanded", String(isOpen));
    logElement.hidden = !isOpen;
    if (Boolean(running) !== line.contains(stop) || !line.childElementCount)
      fill(line, running ? [stop, spin, track, count] : null, message, protection, agree, calls, toggle, note, next);
    if (!isOpen) return;
    fill(
      logElement,
      log.map((line) =>
        h(
          `div.line.${line.kind}`,
          {},
          h("time", {}, line.at),
          h("span", {}, line.by ? `${line.by}: ${line.text}` : line.text),
        ),
      ),
    );
    logElement.scrollTop = logElement.scrollHeight;
  };
  return draw;
}
