// Read-only links to the project: make one, copy it, revoke it. A link's address is shown once, when it is made.
import { t } from "/static/studio/texts.js";
import { html, signal } from "/static/studio/view.js";

const DAYS = [1, 7, 30];

export class ShareLinks {
  links = signal(/** @type {any[]} */ ([]));
  made = signal("");
  error = signal("");
  days = 7;
  token = "";

  // `ask` sends requests about the project that is shown.
  constructor(ask) {
    this.ask = ask;
  }

  // Reads the links of another project.
  read(token) {
    if (token === this.token) return;
    this.token = token;
    this.links.value = [];
    this.made.value = "";
    this.send({ kind: "links" });
  }

  async send(request) {
    const { token } = this,
      answer = await this.ask(request);
    if (token !== this.token) return;
    this.error.value = answer.error ?? "";
    if (answer.links) this.links.value = answer.links;
    if (answer.token) this.made.value = new URL(`link/${answer.token}`, document.baseURI).href;
  }

  template() {
    const error = this.error.value,
      option = (n) => html`<option value=${n} selected=${n === this.days}>${t("{n} day|{n} days", { n })}</option>`;
    return html`<div class="panel box wide share">
      <h3>${t("Read-only links")}</h3>
      <p class="faint">${t("Whoever has a link sees this project and nothing else, without a login.")}</p>
      <div class="links">
        <select aria-label=${t("Lasts")} onchange=${({ target }) => (this.days = Number(target.value))}>
          ${DAYS.map(option)}
        </select>
        <button class="studio-button make-link" data-sends="results.share"
          onclick=${() => this.send({ kind: "share", days: this.days })}>${t("Create link")}</button>
      </div>
      ${this.madeLink()}
      ${error && html`<p class="bad" role="alert">${error}</p>`}
      ${this.links.value.map((link) => this.keptLink(link))}
    </div>`;
  }

  madeLink() {
    const made = this.made.value;
    if (!made) return null;
    return html`<input class="made-link" value=${made} readonly aria-label=${t("New link")}
        onfocus=${({ target }) => target.select()} />
      <p class="faint">${t("Copy it now: it is not shown again.")}</p>`;
  }

  keptLink({ id, expires, by: name }) {
    const time = new Date(expires * 1000).toLocaleString();
    return html`<div class="kept-link flow" key=${id}>
      <span>${t("Until {time}, by {name}", { time, name })}</span>
      <button class="studio-button revoke" data-sends="results.revoke"
        onclick=${() => this.send({ kind: "revoke", id })}>${t("Revoke")}</button>
    </div>`;
  }
}
