// Asset packs: contents, download size, licences, and the button that installs one.
import { t } from "/static/studio/texts.js";
import { html, signal } from "/static/studio/view.js";

export class Packs {
  isOpen = signal(false);
  answer = signal(/** @type {any} */ (null));
  id = signal(""); // of an object of Objaverse, as typed
  problem = signal("");
  isLookingUp = signal(false);

  constructor({ ask, onStarted }) {
    this.ask = ask;
    this.onStarted = onStarted;
  }

  async show() {
    this.isOpen.value = true;
    this.answer.value = await this.ask({ kind: "packs" });
  }

  hide() {
    this.isOpen.value = false;
    this.id.value = this.problem.value = "";
  }

  async install(name) {
    const answer = await this.ask({ kind: "install", pack: name });
    this.hide();
    this.onStarted(answer);
  }

  // Looks up one object of Objaverse by its id; nothing is downloaded before its licence is accepted.
  async lookUp() {
    this.isLookingUp.value = true;
    const answer = await this.ask({ kind: "objaverse", id: this.id.value });
    this.isLookingUp.value = false;
    this.problem.value = answer.error ?? "";
    if (answer.error) return this.field.focus();
    this.hide();
    this.onStarted(answer);
  }

  template() {
    return html`<div class="packs" hidden=${!this.isOpen.value}>${this.answer.value && this.content()}</div>`;
  }

  content() {
    const { packs = [], error } = this.answer.value;
    return html`<div class="packs-head">
        <h3>${t("Packs")}</h3>
        <button class="studio-button plain" aria-label=${t("Close the packs")} onclick=${() => this.hide()}>✕</button>
      </div>
      ${error && html`<p class="fault">${error}</p>`}
      ${packs.map((pack) => this.pack(pack))}
      ${this.objaverse()}`;
  }

  pack({ name, about, count, installed, download, licences }) {
    const isComplete = installed >= count,
      isPartial = installed > 0 && !isComplete;
    return html`<section class="pack panel" key=${name} data-pack=${name}>
      <div>
        <strong>${name}</strong>
        <p>${about}</p>
        <p class="muted">
          ${t("{count} assets,", { count })} ${
            download
              ? t("{size} MB to download with pip", { size: Math.round(download / 1e6) })
              : t("already downloaded")
          }${t(". The import takes minutes and runs in the background.")}
        </p>
        <p class="muted">
          ${t("Licences (stored with each asset):")} ${licences.map((one) => html`<span class="tag">${one}</span>`)}
          ${` ${t("Read them before you share your results.")}`}
        </p>
      </div>
      <div class="install">
        ${
          isComplete
            ? html`<span class="tag good">${t("✓ All {installed} installed", { installed })}</span>`
            : html`<button class="studio-button primary" data-sends="library.install"
                onclick=${() => this.install(name)}>${isPartial ? t("Resume") : t("Install")}</button>`
        }
        ${isPartial && html`<span class="muted">${t("{installed} of {count} installed", { installed, count })}</span>`}
      </div>
    </section>`;
  }

  objaverse() {
    const onKeyDown = (event) => {
      if (event.key === "Enter") this.lookUp();
      if (event.key !== "Escape") event.stopPropagation();
    };
    const onInput = ({ target }) => {
      this.id.value = target.value;
      this.problem.value = "";
    };
    return html`<section class="pack panel" data-pack="objaverse">
      <div>
        <strong>${t("Objaverse object")}</strong>
        <p>
          ${t("800,000 objects, each with its own author and licence. Needs the network.")} ${t(
            "Nothing is downloaded before you accept the licence.",
          )}
        </p>
        <div class="objaverse-id">
          <input aria-label=${t("Objaverse id")} placeholder=${t("Objaverse id or URL")} spellcheck=${false}
            value=${this.id.value} ref=${(field) => (this.field = field)} onkeydown=${onKeyDown} oninput=${onInput} />
          <button class="studio-button primary" data-act="objaverse" disabled=${this.isLookingUp.value}
            onclick=${() => this.lookUp()}>${t("Look up")}</button>
        </div>
        <p class="fault" role="alert" hidden=${!this.problem.value}>${this.problem.value}</p>
      </div>
    </section>`;
  }
}
