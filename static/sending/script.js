// A line that asks whether the project may be sent to the model's server, and a dialog with exactly what would be sent.
import { onSendDialog } from "/static/sending/open_dialog.js";
import { showDialog } from "/static/studio/covering.js";
import { drawer, onDrawer, openDrawer } from "/static/studio/drawer.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";
import { follow, html, mounts, show, signal, View } from "/static/studio/view.js";

const TEXTS = [
  t("Names, colours, sizes and places of the objects"),
  t("Names and descriptions of library assets"),
  t("The task, the programs and their reports"),
];
const ROW_LENGTH = 12;

class Sending extends View {
  preview = signal(/** @type {any} */ ({}));
  dialog = document.createElement("dialog");
  offered = ""; // project and server of the last dialog that opened without a click

  constructor(context) {
    super(context);
    const { root, dialog } = this;
    this.ask = asker(this.server, () => ({ token: this.value.token }));
    dialog.setAttribute("aria-labelledby", "sending-title");
    root.after(dialog);
    show(dialog, () => this.content());
    follow(root, () => (root.hidden = this.value.state !== "undecided"));
    onSendDialog(root, () => this.open());
    onDrawer(root, () => this.offer());
    this.onValue(({ address }) => {
      if (!address && dialog.open) dialog.close();
      this.offer();
    });
  }

  // Opens once by itself for each project and server, when a person is not busy with something else that is open.
  offer() {
    const { state, token, address } = this.value,
      subject = state === "undecided" ? `${token} ${address}` : "";
    if (!subject || subject === this.offered || drawer() || document.querySelector("dialog[open]")) return;
    this.offered = subject;
    this.open();
  }

  async open() {
    if (!this.value.address || this.dialog.open) return;
    this.preview.value = { isLoading: true };
    showDialog(this.dialog);
    /** @type {HTMLElement} */ (this.dialog.querySelector(".body")).focus();
    this.preview.value = await this.ask({ kind: "preview" });
  }

  decide(allow) {
    this.dialog.close();
    this.send("decide", { address: this.value.address, allow });
  }

  // ---------------------------------------------------------------- what is shown

  template() {
    const { model, address } = this.value;
    return html`<div class="line flow" role="status">
      <span class="text"><b>${model}</b> ${t("on {address} gets nothing until you decide. Offline rules answer.", {
        address,
      })}</span>
      <button class="studio-button primary" data-sends="sending.preview" onclick=${() => this.open()}>
        ${t("Review and decide")}</button>
    </div>`;
  }

  content() {
    const close = () => this.dialog.close();
    return html`<div class="head flow">
        <strong id="sending-title">${t("Send this project to a model?")}</strong>
        <button class="studio-button plain" title=${t("Decide later (Esc)")} aria-label=${t("Decide later")}
          onclick=${close}>✕</button>
      </div>
      <div class="body" tabindex="-1">${this.body()}</div>
      <div class="foot flow">${this.foot()}</div>`;
  }

  body() {
    const { error, text, isLoading, pictures = [] } = this.preview.value;
    return html`${this.facts()}
      ${error && html`<p class="fault" role="alert">${error}</p>`}
      <h3>${t("Pictures")}</h3>
      ${pictures.map(pictureRow)}
      ${!pictures.length && html`<p class="hint">${isLoading ? t("Preparing the pictures …") : noPictures()}</p>`}
      <h3>${t("Texts")}</h3>
      <ul>${TEXTS.map((one) => html`<li>${one}</li>`)}</ul>
      ${
        text &&
        html`<details><summary>${t("Show the first request")}</summary><pre tabindex="0">${text}</pre></details>`
      }
      <p class="hint">${t("Depth, file names and the project's name are not sent. Undo takes the decision back.")}</p>`;
  }

  facts() {
    const { address, place, model } = this.value,
      { cost = [] } = this.preview.value;
    const setBudget = () => {
      this.dialog.close();
      openDrawer("model");
    };
    return html`<dl>
      <dt>${t("Server")}</dt><dd><code>${address}</code> ${place}</dd>
      <dt>${t("Model")}</dt><dd>${model}</dd>
      <dt>${t("Cost")}</dt>
      <dd>
        ${cost.filter(Boolean).map((one) => html`<span class="sentence">${one.replace(/[.]?$/, ".")}</span>`)}
        <button class="studio-button plain" onclick=${setBudget}>${t("Set a budget")}</button>
      </dd>
    </dl>`;
  }

  foot() {
    const { state } = this.value;
    return html`<span class="hint">
        ${state === "allowed" && t("Now: sent.")}
        ${state === "declined" && t("Now: not sent, offline rules answer.")}
      </span>
      <button class="studio-button" data-sends="sending.decide" onclick=${() => this.decide(false)}>
        ${t("Do not send (use offline rules)")}</button>
      <button class="studio-button primary" data-sends="sending.decide" onclick=${() => this.decide(true)}>
        ${t("Send")}</button>`;
  }
}

const noPictures = () => t("No pictures. They are switched off, or the objects are not described yet.");

const pictureRow = ({ title, thumbnails }) =>
  html`<section>
    <h5>${title}<span class="count">${thumbnails.length}</span></h5>
    <div class="thumbnails">
      ${thumbnails.slice(0, ROW_LENGTH).map((src, k) => html`<img src=${src} alt=${`${title}, ${k + 1}`} />`)}
      ${
        thumbnails.length > ROW_LENGTH &&
        html`<span class="hint">${t("and {count} more", { count: thumbnails.length - ROW_LENGTH })}</span>`
      }
    </div>
  </section>`;

export default mounts(Sending);
