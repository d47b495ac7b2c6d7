// Failed model calls that wait for a decision, one line each.
import { openCalls } from "/static/studio/drawer.js";
import { t } from "/static/studio/texts.js";
import { follow, html, mounts, signal, View } from "/static/studio/view.js";

class Failures extends View {
  isOpen = signal(false);

  constructor(context) {
    super(context);
    follow(this.root, () => {
      this.root.hidden = !this.failures.length;
    });
  }

  get failures() {
    return this.value.failures ?? [];
  }

  template() {
    const { failures } = this,
      isList = failures.length > 1;
    return html`${isList && this.head(failures.length)}
      ${
        (!isList || this.isOpen.value) &&
        html`<div class="rows" role="list">${failures.map((failure) => this.row(failure))}</div>`
      }`;
  }

  head(n) {
    const isOpen = this.isOpen.value;
    return html`<button class="head flow" aria-expanded=${isOpen} onclick=${() => (this.isOpen.value = !isOpen)}>
      <i>!</i><b>${t("{n} model call failed|{n} model calls failed", { n })}</b>
      <span class="muted">${t("Other objects are not affected.")}</span>
      <span class="more">${isOpen ? t("Hide") : t("Show")}</span>
    </button>`;
  }

  row({ id, title, about, error, remedies }) {
    return html`<div class="row flow" data-call=${id} key=${id}>
      <span class="about clip" title=${title}>${about || title}</span>
      <span class="error clip" title=${error}>${error}</span>
      <span class="actions">
        <button class="studio-button plain" title=${t("Show the unparsed response")}
          onclick=${() => openCalls({ id, tab: t("Response") })}>${t("Show response")}</button>
        ${remedies.map((remedy) => this.remedy(id, remedy))}
      </span>
    </div>`;
  }

  remedy(id, { kind, title, label }) {
    const act = () => (kind === "edit" ? openCalls({ id, edit: true }) : this.send("act", { kind, id }));
    return html`<button class="studio-button" title=${title} data-sends="failures.act" onclick=${act}>
      ${label}</button>`;
  }
}

export default mounts(Failures);
