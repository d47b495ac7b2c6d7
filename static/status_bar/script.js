// The bar below every page: what works and how far it is, the log, and where to go next. See components/page_frame.py.
import { openCalls } from "/static/studio/drawer.js";
import { onTab, openStep, showStep, tabsSay } from "/static/studio/gradio_tabs.js";
import { t } from "/static/studio/texts.js";
import { classes, html, mounts, signal, View } from "/static/studio/view.js";

const TABS_TIMEOUT_MS = 3000,
  TABS_POLL_MS = 30;
const PROTECTION = {
  confined: t("Programs confined"),
  refused: t("⚠ Programs not confined: refused"),
  agreed: t("⚠ Programs not confined"),
};

class StatusBar extends View {
  isOpen = signal(false); // whether the log is shown
  message = signal("");
  step = signal(openStep()); // the open one

  constructor(context) {
    super(context);
    onTab(() => (this.step.value = openStep()));
    this.onValue((value) => {
      this.step.value = openStep();
      this.showMessage(value);
    });
  }

  // Gradio draws the tabs a moment later; the message of how work ended waits for them, so that both say the same.
  showMessage(value, until = performance.now() + TABS_TIMEOUT_MS) {
    if (value !== this.value) return;
    const waits = !value.running && !tabsSay(value.states ?? {});
    if (waits && performance.now() < until) setTimeout(() => this.showMessage(value, until), TABS_POLL_MS);
    else this.message.value = value.stopping ? t("Stopping …") : (value.message ?? "");
  }

  template() {
    return html`${this.log()}
      <div class="now flow">
        ${this.value.running && this.work(this.value)}
        <span class="message clip" role="status">${this.message.value}</span>
        ${this.protection(this.value.protection ?? {})}
        <button class="studio-button plain calls" title=${t("Show model calls")} onclick=${() => openCalls()}>
          ${this.value.calls}</button>
        ${this.toggle()}
        ${this.guide()}
      </div>`;
  }

  work({ stopping, done = 0, of = 0 }) {
    const width = of ? `${Math.min(100, (done / of) * 100).toFixed(0)}%` : "30%";
    return html`<button class="studio-button stop" data-sends="status-bar.stop" disabled=${Boolean(stopping)}
        onclick=${() => this.send("stop")}>${t("■ Stop")}</button>
      <span class="spin" aria-hidden="true" />
      <span class="track"><span class="fill" style=${`width:${width}`} /></span>
      <span class="faint">${of > 0 && t("{done} of {of}", { done, of })}</span>`;
  }

  protection({ state, title = "", question = "" }) {
    const isMissing = state && state !== "confined";
    return html`<span class=${classes("protection", isMissing && "missing")} title=${title}>${PROTECTION[state]}</span>
      <button class="studio-button agree" data-sends="status-bar.agree" title=${question} hidden=${state !== "refused"}
        onclick=${() => this.send("agree")}>${t("Run unconfined")}</button>`;
  }

  toggle() {
    const isOpen = this.isOpen.value,
      { length: count } = this.value.log ?? [];
    return html`<button class="studio-button plain toggle" aria-expanded=${isOpen}
      onclick=${() => (this.isOpen.value = !isOpen)}>
      ${isOpen ? t("Hide log") : t("Log ({count})", { count })}</button>`;
  }

  // What to look at on the open step, and the button to the step after it.
  guide() {
    const { running, guide } = this.value,
      { note, next, title = "" } = (!running && guide?.[this.step.value]) || {};
    return html`<span class="note">${note}</span>
      <button class="studio-button primary next" data-step=${next} hidden=${!next} onclick=${() => showStep(next)}>
        ${t("Next: {step}", { step: title })}</button>`;
  }

  // preact calls a new function at each update, by which the newest line stays in sight.
  log() {
    const { log = [] } = this.value,
      isOpen = this.isOpen.value;
    return html`<div class="log" role="log" hidden=${!isOpen} ref=${(element) => showNewest(element)}>
      ${
        isOpen &&
        log.map(
          ({ at, text, kind, by }) => html`<div class=${`line ${kind}`}>
            <time>${at}</time><span>${by ? `${by}: ${text}` : text}</span>
          </div>`,
        )
      }
    </div>`;
  }
}

function showNewest(log) {
  if (log) log.scrollTop = log.scrollHeight;
}

export default mounts(StatusBar);
