// Browses a recording's frames to open one of them. A recording with one frame opens at once.
import { LatestRequest } from "/static/studio/latest_request.js";
import { t } from "/static/studio/texts.js";
import { batch, follow, html, mounts, signal, View } from "/static/studio/view.js";

class FramePicker extends View {
  recording = signal(/** @type {any} */ (null)); // the one that is browsed
  index = signal(0);
  preview = signal(/** @type {any} */ ({})); // {image, facts, error} of the frame

  constructor(context) {
    super(context);
    this.request = new LatestRequest(this.server.ask, (answer) => (this.preview.value = answer));
    this.onValue((value) => this.takeValue(value));
    follow(this.root, () => {
      this.root.hidden = !this.recording.value;
    });
  }

  takeValue(value) {
    const { token, names } = value;
    if (!token) return this.close();
    if (token === this.recording.value?.token) return;
    if (names.length === 1) {
      this.send("open", { token, index: 0 });
      return this.close();
    }
    this.recording.value = value;
    this.preview.value = {};
    this.show(0);
    queueMicrotask(() => this.root.querySelector("input")?.focus());
  }

  show(wanted) {
    const { names, token } = this.recording.value,
      index = Math.min(names.length - 1, Math.max(0, wanted));
    batch(() => {
      this.index.value = index;
      this.preview.value = { image: this.preview.value.image, facts: t("Reading …") };
    });
    this.request.send({ token, index });
  }

  open() {
    this.send("open", { token: this.recording.value.token, index: this.index.value });
    this.close();
  }

  close() {
    this.recording.value = null;
    this.request.cancel();
  }

  template() {
    if (!this.recording.value) return null;
    const { name, kind, names, times } = this.recording.value,
      { image, facts, error } = this.preview.value,
      index = this.index.value,
      count = names.length,
      seconds = times[index] === undefined ? "" : `, ${times[index].toFixed(2)} s`,
      position = t("Frame {index} of 0–{last}: {file}{seconds}", {
        index,
        last: count - 1,
        file: names[index],
        seconds,
      }),
      title = t("{name}: {kind}, {count} frames. Choose one to open.", {
        name: name.replaceAll("_", " "),
        kind,
        count,
      }),
      step = (offset, text, label) => html`<button class="studio-button" aria-label=${label} title=${label}
        onclick=${() => this.show(index + offset)}>${text}</button>`;
    return html`<div class="head"><strong>${title}</strong>
        <button class="studio-button" data-act="close" onclick=${() => this.close()}>${t("Close")}</button></div>
      <div class="preview"><img src=${image} alt=${t("Frame preview")} hidden=${!image || Boolean(error)} /></div>
      <div class="row">
        ${step(-1, "‹", t("Previous frame"))}
        <input type="range" min="0" max=${count - 1} step="1" aria-label=${t("Frame")} value=${index}
          oninput=${({ target }) => this.show(Number(target.value))} />
        ${step(1, "›", t("Next frame"))}
      </div>
      <div class="row">
        <span>${position}</span>
        <span class="faint" role="status">${error ?? facts}</span>
        <button class="studio-button primary" data-act="open" onclick=${() => this.open()}>
          ${t("Open this frame")}</button>
      </div>`;
  }
}

export default mounts(FramePicker);
