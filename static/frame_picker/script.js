// Browses a recording's frames to open one of them. A recording with one frame opens at once.
//
// Small pictures of all frames arrive in order while the first is looked at, so that scrubbing asks for nothing; where
// it rests, the frame itself is read.
import { LatestRequest } from "/static/studio/latest_request.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";
import { batch, follow, html, mounts, signal, View } from "/static/studio/view.js";

const EMPTY = { every: 1, pictures: [], ended: false, failure: "" },
  THUMBNAILS = 12, // along the strip
  MOST_VIEWS = 8; // as Python's MAX_VIEWS

class FramePicker extends View {
  recording = signal(/** @type {any} */ (null)); // the one that is browsed
  index = signal(0);
  views = signal(/** @type {number[]} */ ([])); // frames that show the same table from elsewhere
  preview = signal(/** @type {any} */ ({})); // {image, facts, error} of the frame
  strip = signal(/** @type {{every: number, pictures: string[], ended: boolean, failure: string}} */ (EMPTY));

  constructor(context) {
    super(context);
    this.ask = asker(this.server);
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
    this.strip.value = EMPTY;
    this.views.value = [];
    this.readStrip(token);
    this.show(0);
    queueMicrotask(() => this.root.querySelector("input")?.focus());
  }

  async readStrip(token) {
    const have = this.strip.value.pictures,
      answer = await this.ask({ kind: "strip", token, have: have.length });
    if (token !== this.recording.value?.token) return;
    if (answer.error) return this.endStrip(answer.error);
    const { every, pictures, ended, failure } = answer;
    this.strip.value = { every, pictures: pictures.length ? [...have, ...pictures] : have, ended, failure };
    if (!ended || pictures.length) this.readStrip(token);
  }

  endStrip(failure) {
    this.strip.value = { ...this.strip.value, ended: true, failure };
  }

  // The small picture of a frame; undefined until it has come.
  picture(index) {
    const { every, pictures } = this.strip.value;
    return index % every === 0 ? pictures[index / every] : undefined;
  }

  show(wanted) {
    const { names, token } = this.recording.value,
      index = Math.min(names.length - 1, Math.max(0, wanted));
    batch(() => {
      this.index.value = index;
      this.preview.value = { image: this.picture(index) ?? this.preview.value.image, facts: t("Reading …") };
    });
    this.request.send({ token, index });
  }

  open() {
    const index = this.index.value;
    this.send("open", {
      token: this.recording.value.token,
      index,
      views: this.views.value.filter((view) => view !== index),
    });
    this.close();
  }

  toggleView(index) {
    const views = this.views.value.filter((view) => view !== index);
    this.views.value = views.length === this.views.value.length ? [...views, index].sort((a, b) => a - b) : views;
  }

  close() {
    this.recording.value = null;
    this.request.cancel();
  }

  thumbnails() {
    const count = this.recording.value.names.length,
      shown = Math.min(THUMBNAILS, count),
      { every, pictures, failure, ended } = this.strip.value,
      at = [...Array(shown).keys()].map((i) => Math.round((i * (count - 1)) / Math.max(1, shown - 1) / every) * every),
      read = Math.min(count, pictures.length * every),
      state = failure || (ended ? "" : t("{read} of {count} frames read", { read, count }));
    return html`<div class="strip">${at.map(
      (index) => html`<button tabindex="-1" aria-label=${t("Frame {index}", { index })}
        aria-current=${index === this.index.value} data-view=${this.views.value.includes(index)}
        onclick=${({ shiftKey }) => (shiftKey ? this.toggleView(index) : this.show(index))}>
        <img src=${this.picture(index)} alt="" hidden=${!this.picture(index)} /></button>`,
    )}</div>
      <span class="faint" data-role="read" hidden=${!state}>${state}</span>`;
  }

  furtherViews(index) {
    const views = this.views.value,
      isChosen = views.includes(index);
    return html`<span class="faint">${views.length > 0 && t("Further views: {numbers}", { numbers: views.join(", ") })}</span>
      <button class="studio-button" data-act="view" aria-pressed=${isChosen}
        disabled=${!isChosen && views.length >= MOST_VIEWS} onclick=${() => this.toggleView(index)}
        title=${t("Another view of the same table: its sizes and hidden sides become known (Shift-click a picture)")}>
        ${t("Also this view")}</button>`;
  }

  template() {
    if (!this.recording.value) return null;
    const { name, kind, names, times } = this.recording.value,
      { image, facts, error } = this.preview.value,
      index = this.index.value,
      shown = image ?? this.picture(index),
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
    return html`<div class="head flow"><strong>${title}</strong>
        <button class="studio-button" data-act="close" onclick=${() => this.close()}>${t("Close")}</button></div>
      <div class="preview"><img src=${shown} alt=${t("Frame preview")} hidden=${!shown || Boolean(error)} /></div>
      ${this.thumbnails()}
      <div class="row flow">
        ${step(-1, "‹", t("Previous frame"))}
        <input type="range" min="0" max=${count - 1} step="1" aria-label=${t("Frame")} value=${index}
          oninput=${({ target }) => this.show(Number(target.value))} />
        ${step(1, "›", t("Next frame"))}
      </div>
      <div class="row flow">
        <span>${position}</span>
        <span class="faint" role="status">${error ?? facts}</span>
        ${this.furtherViews(index)}
        <button class="studio-button primary" data-act="open" onclick=${() => this.open()}>
          ${t("Open this frame")}</button>
      </div>`;
  }
}

export default mounts(FramePicker);
