// Aligns the camera by pairs of clicks: a point in the photograph, the same point in the twin. The result is looked at
// before it is taken. See components/camera_aligner.py.
import { ClickPicture } from "/static/camera_aligner/click_picture.js";
import { COVER, shortcuts } from "/static/studio/keyboard.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";
import { batch, html, mounts, signal, View } from "/static/studio/view.js";

const MIN_PAIRS = 4,
  GOOD_PAIRS = 6,
  OVERLAY_TITLES = [t("Before: the twin's outlines by its own camera"), t("After: by the aligned camera")];
const largest = (values) => Math.max(...values);

class CameraAligner extends View {
  isOpen = signal(false);
  pairs = signal(/** @type {any[]} */ ([])); // of clicks: {pixel, world, seen, object}
  pixel = signal(/** @type {number[] | null} */ (null)); // clicked in the photograph, its point is still to come
  point = signal(/** @type {any} */ (null)); // clicked in the twin, its pixel is still to come
  outcome = signal(/** @type {any} */ (null)); // of the alignment by these pairs: computing, stopped or the camera
  error = signal("");
  token = "";
  ask = asker(this.server, () => ({ token: this.value.token }));
  photo = new ClickPicture(t("Photograph"), (at) => {
    this.pixel.value = at;
    this.pairUp();
  });
  twin = new ClickPicture(t("Twin"), async (at) => {
    const answer = await this.ask({ kind: "point", pixel: at });
    this.error.value = answer.error ?? "";
    if (answer.error) return;
    this.point.value = answer;
    this.pairUp();
  });

  constructor(context) {
    super(context);
    this.onValue((value) => this.takeValue(value));
    const keys = { Escape: { help: t("close"), act: () => this.close() }, "mod+z": { act: () => {} } }; // not the page's undo
    const isOn = () => this.isOpen.value;
    shortcuts(this.root, { title: t("Align the camera"), keys: () => keys, isOn, rank: COVER, holdsKeys: true });
  }

  takeValue({ token }) {
    if (token !== this.token)
      batch(() => {
        this.setPairs([]);
        this.pixel.value = this.point.value = null;
        this.isOpen.value = false;
      });
    this.token = token;
  }

  // The outcome belongs to the pairs that it was computed from.
  setPairs(pairs) {
    this.pairs.value = pairs;
    this.outcome.value = null;
  }

  /** Makes a pair of the two clicks once both are there. */
  pairUp() {
    const [pixel, point] = [this.pixel.value, this.point.value];
    if (!pixel || !point) return;
    const { world, seen, object } = point;
    batch(() => {
      this.pixel.value = this.point.value = null;
      this.setPairs([...this.pairs.value, { pixel, world, seen, object }]);
    });
  }

  async align() {
    const outcome = { isComputing: true },
      pairs = this.pairs.value.map(({ pixel, world }) => ({ pixel, world }));
    this.error.value = "";
    this.outcome.value = outcome;
    const answer = await this.ask({ kind: "align", pairs });
    if (this.outcome.value !== outcome) return;
    this.error.value = answer.error ?? "";
    this.outcome.value = answer.error ? null : answer;
  }

  take() {
    this.send("take", { id: this.outcome.value.id });
    this.setPairs([]);
    this.close();
  }

  async open() {
    this.isOpen.value = true;
    this.photo.address.value = this.value.photo;
    const answer = await this.ask({ kind: "open" });
    this.error.value = answer.error ?? "";
    if (!answer.error) this.twin.address.value = answer.twin;
  }

  close() {
    this.isOpen.value = false;
    /** @type {HTMLElement} */ (this.root.querySelector("[data-act=open-alignment]")).focus();
  }

  template() {
    const pairs = this.pairs.value,
      isShort = pairs.length < MIN_PAIRS,
      error = this.error.value,
      pixelsOf = (name) => pairs.map((pair) => pair[name]);
    return html`<button class="studio-button" data-act="open-alignment" data-sends="camera-aligner.open"
        hidden=${!this.value.token} onclick=${() => this.open()}>${t("Align the camera by clicks …")}</button>
      <section class="full-page" hidden=${!this.isOpen.value} role="dialog" aria-label=${t("Align the camera")}>
        <div class="full-page-head">
          <h2>${t("Align the camera")}</h2>
          <p class="hint" role="status">${this.hint()}</p>
          <button class="studio-button primary" data-act="align" onclick=${() => this.align()}
            disabled=${isShort || Boolean(this.outcome.value?.isComputing)}>${t("Align")}</button>
          <button class="studio-button plain" title=${t("Close (Esc)")} aria-label=${t("Close the alignment")}
            onclick=${() => this.close()}>✕</button>
        </div>
        <div class="full-page-body">
          <div class="pictures">
            ${this.photo.template(pixelsOf("pixel"), this.pixel.value)}
            ${this.twin.template(pixelsOf("seen"), this.point.value?.seen)}
            <div class="overlays">${this.outcome.value?.overlays?.map(overlay)}</div>
          </div>
          <aside class="full-page-side">
            <p class="fault" role="alert" hidden=${!error}>${error}</p>
            <ol class="pairs">${pairs.map((pair, i) => this.pairRow(pair, i))}</ol>
            <div class="result">${this.result()}</div>
          </aside>
        </div>
      </section>`;
  }

  hint() {
    const n = this.pairs.value.length,
      lacking = MIN_PAIRS - n;
    if (this.pixel.value) return t("Now click the same point in the twin.");
    if (this.point.value) return t("Now click the same point in the photograph.");
    if (lacking > 0)
      return t("Click a point in the photograph, then the same point in the twin: {n} more.", { n: lacking });
    if (n < GOOD_PAIRS) return t("{n} pairs. Six, spread over the picture and not on one line, are better.", { n });
    return t("{n} pairs. Align, or click more.", { n });
  }

  pairRow({ object }, i) {
    const px = this.outcome.value?.residuals_px?.[i].toFixed(1),
      remove = () => this.setPairs(this.pairs.value.filter((_, at) => at !== i));
    return html`<li><span>${object || t("table")}</span>
      ${px && html`<span class="number">${t("{px} px off", { px })}</span>`}
      <button class="studio-button plain" aria-label=${t("Remove pair {n}", { n: i + 1 })}
        onclick=${remove}>✕</button></li>`;
  }

  result() {
    const { isComputing, stopped, turned_deg, ...one } = this.outcome.value ?? {};
    if (isComputing)
      return html`<p role="status"><i class="spin" /> ${t("Computing the camera")} </p>
        <button class="studio-button" key="stop" data-act="stop" onclick=${() => this.ask({ kind: "stop" })}>
          ${t("■ Stop")}</button>`;
    if (stopped) return html`<p role="status">${t("Stopped.")}</p>`;
    if (turned_deg === undefined) return null;
    const moves = { deg: turned_deg.toFixed(2), mm: (1000 * one.moved_m).toFixed(1) },
      uncertainty = t("Standard deviation up to {deg}° and {mm} mm, from {evidence}.", {
        deg: largest(one.rotation_std_deg).toFixed(2),
        mm: (1000 * largest(one.position_std_m)).toFixed(1),
        evidence: one.evidence.join(", "),
      });
    return html`<p>${t("The camera turns by {deg}° and moves by {mm} mm.", moves)}</p>
      <p data-result="uncertainty">${uncertainty}</p>
      <button class="studio-button primary" key="take" data-act="take" onclick=${() => this.take()}>
        ${t("Use this camera")}</button>
      <p class="muted">${t("The twin is built again. Undo takes it back.")}</p>`;
  }
}

const overlay = (picture, i) => html`<figure>
  <figcaption>${OVERLAY_TITLES[i]}</figcaption>
  <a href=${picture} target="_blank" title=${t("Open the picture")}>
    <img class="overlay" src=${picture} alt=${OVERLAY_TITLES[i]} /></a>
</figure>`;

export default mounts(CameraAligner);
