// The form that starts a batch of frames.
import { fileButton } from "/static/studio/parts.js";
import { filesOfDrop, uploadFiles } from "/static/studio/dropped_files.js";
import { t } from "/static/studio/texts.js";
import { html, signal } from "/static/studio/view.js";

export class BatchForm {
  message = signal("");
  task = signal("");
  isUploading = false;

  /** @param {import("./batches.js").Batches} batches */
  constructor(batches) {
    const { stages } = batches.answer.value;
    this.batches = batches;
    this.until = signal((stages.find(({ name }) => name === "solution") ?? stages[0])?.name);
  }

  tell(text) {
    this.message.value = text;
  }

  async drop(transfer) {
    await this.start(await filesOfDrop(transfer)); // at once: the browser forgets the files after the event
  }

  async start(files) {
    if (!files.length || this.isUploading) return;
    this.isUploading = true;
    try {
      const uploaded = await uploadFiles(
        files,
        this.batches.upload,
        (done, of) => this.tell(t("Uploading {done} of {of} files …", { done, of })),
        "grs-studio batch",
      );
      const [until, task] = [this.until.value, this.task.value],
        answer = await this.batches.ask({ kind: "start_batch", files: uploaded, until, task });
      this.tell("");
      this.batches.take(answer);
      if (!answer.error) this.batches.onStarted();
    } catch (/** @type {any} */ error) {
      this.tell(error.message);
    } finally {
      this.isUploading = false;
    }
  }

  template() {
    const folder = { webkitdirectory: true, "aria-label": t("Folder of frames") };
    return html`<div class="batch-form">
      <div class="batch-drop">
        <strong>${t("Drop a folder of frames here, or several frames or zips")}</strong>
        <span class="choosers">
          ${this.chooser(t("Choose a folder …"), folder)}
          ${this.chooser(t("Choose files …"), { "aria-label": t("Files of frames") })}
        </span>
      </div>
      ${this.options()}
      <p class="muted">
        ${t("Each frame runs in a process of its own and becomes a project. A broken frame does not stop the others.")}
        ${
          this.batches.answer.value.offline &&
          ` ${t("Offline rules describe and solve: these frames are not sent to the model.")}`
        }
      </p>
      <p class="batch-message" role="status" hidden=${!this.message.value}>${this.message.value}</p>
    </div>`;
  }

  chooser(label, attributes) {
    return fileButton(label, (files) => this.start(files), { multiple: true, ...attributes });
  }

  options() {
    const { stages } = this.batches.answer.value;
    return html`<div class="batch-options">
      <select aria-label=${t("Run until")} value=${this.until.value}
        onchange=${({ target }) => (this.until.value = target.value)}>
        ${stages.map(
          ({ name, title: stage }) => html`<option value=${name}>${t("Until: {stage}", { stage })}</option>`,
        )}
      </select>
      <input type="text" maxlength="400" aria-label=${t("Task for every frame")} value=${this.task.value}
        placeholder=${t("Task for every frame (else the first proposed one)")}
        oninput=${({ target }) => (this.task.value = target.value)} />
    </div>`;
  }
}
