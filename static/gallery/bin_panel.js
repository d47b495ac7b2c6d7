// The trash: deleted projects, to restore or to delete for good.
import { t } from "/static/studio/texts.js";
import { batch, classes, html, signal } from "/static/studio/view.js";

export class BinPanel {
  deleted = signal(/** @type {any[] | null} */ (null));
  message = signal(/** @type {string | null} */ (null));
  isAsking = signal(false); // whether the trash should be emptied

  /** `ask(request)` asks the server, `onRestored()` is called when projects came back. */
  constructor(ask, onRestored) {
    this.ask = ask;
    this.onRestored = onRestored;
    this.send("bin");
  }

  async send(kind, ids = []) {
    const { deleted, note = "", error } = await this.ask({ kind, ids });
    batch(() => {
      this.message.value = error ?? note;
      this.deleted.value = deleted ?? this.deleted.value;
      this.isAsking.value = false;
    });
    if (kind === "restore" && !error) this.onRestored();
  }

  /** Returns null until the server has answered. */
  template() {
    const { value: message } = this.message;
    if (message === null) return null;
    return html`<p class="muted" role="status" hidden=${!message}>${message}</p>
      <div>${this.deleted.value && this.list(this.deleted.value)}</div>`;
  }

  list(deleted) {
    if (!deleted.length) return html`<p class="muted">${t("The trash is empty.")}</p>`;
    return html`<p class="bin-actions flow">${this.actions(deleted.map((one) => one.id))}</p>
      <table>
        <thead><tr><th>${t("Project")}</th><th>${t("Deleted")}</th><td></td></tr></thead>
        <tbody>
          ${deleted.map(
            ({ id, title, at }) => html`<tr key=${id}>
              <td>${title}</td>
              <td>${at}</td>
              <td>${this.button(t("Restore"), () => this.send("restore", [id]))}</td>
            </tr>`,
          )}
        </tbody>
      </table>`;
  }

  actions(all) {
    const ask = (isAsking) => () => (this.isAsking.value = isAsking);
    if (!this.isAsking.value)
      return [
        this.button(t("Restore all"), () => this.send("restore", all)),
        this.button(t("Empty the trash …"), ask(true), "stop"),
      ];
    return [
      t("Delete {n} project for good? This cannot be undone.|Delete {n} projects for good? This cannot be undone.", {
        n: all.length,
      }),
      this.button(t("Delete for good"), () => this.send("empty_bin", all), "stop"),
      this.button(t("Cancel"), ask(false)),
    ];
  }

  button(label, onclick, kind = "") {
    return html`<button class=${classes("studio-button", kind)} data-sends="gallery.restore" onclick=${onclick}>
      ${label}</button>`;
  }
}
