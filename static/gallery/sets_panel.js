// Sets of accepted projects: made with a split, exported together with their card.
import { listedJobs } from "/static/studio/channel.js";
import { isActive, stopJob } from "/static/studio/jobs.js";
import { TickBox } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { batch, html, signal } from "/static/studio/view.js";

export class SetsPanel {
  sets = signal(/** @type {any[] | null} */ (null));
  message = signal(/** @type {any} */ (null)); // null until the server has answered

  formats = [];
  bySource = signal(false);

  exported = ""; // the job of an export that runs

  /** `ask(request)` asks the server, `selected` are the names of the selected projects. */
  constructor(ask, selected) {
    this.ask = ask;
    this.selected = selected;
    this.send({ kind: "sets" });
    this.exported = listedJobs().findLast((job) => job.kind === "export" && isActive(job))?.id ?? "";
    this.look();
  }

  async look() {
    if (this.exported) await this.export({ kind: "set_export", job: this.exported });
  }

  async send(request) {
    const { error, note = "", formats, sets } = await this.ask(request);
    batch(() => {
      this.message.value = error ?? note;
      if (error) return;
      this.formats = formats;
      this.sets.value = sets;
    });
  }

  async export(request) {
    const { error, job, done, of, running, address, left_out = [], more } = await this.ask(request);
    this.exported = running ? job : "";
    if (error) this.message.value = error;
    else if (running) {
      const stop = () => stopJob(job);
      this.message.value = html`${t("Exporting: {done} of {of} projects", { done, of })}${" "}
        <button class="studio-button stop" onclick=${stop}>${t("■ Stop")}</button>`;
      if (request.kind !== "set_export") this.look();
    } else if (address) {
      const leftOut = left_out.length > 0 && ` ${t("Left out:")} ${left_out.join("; ")}${more ? " …" : ""}`;
      this.message.value = html`<a class="studio-button primary" href=${address} download="">
        ${t("Download the set")}</a>${leftOut}`;
    } else this.message.value = t("Stopped.");
  }

  /** Returns null until the server has answered. */
  template() {
    const message = this.message.value;
    if (message === null) return null;
    return html`${this.form()}
      <p class="set-message" role="status" hidden=${!message}>${message}</p>
      <div class="sets">${this.sets.value && this.table(this.sets.value)}</div>`;
  }

  table(sets) {
    if (!sets.length)
      return html`<p class="muted">
        ${t("No set yet. One holds accepted projects, split for training and testing.")}</p>`;
    const heads = [t("Set"), t("Split"), t("Licence"), t("Export")];
    return html`<table>
      <thead><tr>${heads.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${sets.map((one) => this.row(one))}</tbody>
    </table>`;
  }

  row(one) {
    const { name, about, licence } = one;
    const send = ({ currentTarget }) =>
      this.export({ kind: "export_set", name, format: currentTarget.previousElementSibling.value });
    return html`<tr key=${name}>
      <td><strong>${name}</strong>${about && html`<div class="muted">${about}</div>`}</td>
      <td class="number">${t("{train} train, {test} test", one)}</td>
      <td>${licence || "–"}</td>
      <td>
        <span class="set-actions flow">
          <select aria-label=${t("Format of {name}", { name })}>
            ${this.formats.map((one) => html`<option value=${one} selected=${one === "zip"}>${one}</option>`)}
          </select>
          <button class="studio-button" data-sends="gallery.export_set" onclick=${send}>${t("Export")}</button>
          <button class="studio-button plain" data-sends="gallery.remove_set"
            onclick=${() => this.send({ kind: "remove_set", name })}>${t("Remove")}</button>
        </span>
      </td>
    </tr>`;
  }

  make(event) {
    event.preventDefault();
    const { name, about, licence, test, seed } = event.currentTarget.elements;
    this.send({
      kind: "make_set",
      names: this.selected,
      name: name.value,
      test: Number(test.value) / 100,
      seed: Number(seed.value),
      by_source: this.bySource.value,
      licence: licence.value,
      about: about.value,
    });
  }

  // The texts stay in the fields themselves.
  form() {
    const { length: n } = this.selected;
    return html`<form class="set-form" onsubmit=${(event) => this.make(event)}>
      ${textField("name", t("Name of the set"), "60", true)}
      ${textField("about", t("What it is"))}
      ${textField("licence", t("Licence"))}
      ${numberField("test", t("Test, %"), 20, 99)}
      ${numberField("seed", t("Seed"), 0, 999999)}
      <${TickBox} label=${t("Split by source")} checked=${this.bySource.value}
        onChange=${(isTicked) => (this.bySource.value = isTicked)} />
      <button class="studio-button primary" type="submit">
        ${n ? t("Make set of the {n} selected", { n }) : t("Make set of all accepted")}</button>
    </form>`;
  }
}

const textField = (name, label, maxlength = "400", isRequired = false) =>
  html`<input name=${name} aria-label=${label} placeholder=${label} type="text" maxlength=${maxlength}
    required=${isRequired} />`;
const numberField = (name, label, value, max) =>
  html`<label>${label}<input name=${name} aria-label=${label} placeholder=${label} type="number" min="0" max=${max}
    defaultValue=${value} /></label>`;
