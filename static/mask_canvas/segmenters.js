// Menu to choose the segmenter that answers clicks, with the state of each, and to segment the whole frame again.
import { t } from "/static/studio/texts.js";
import { classes, html, signal } from "/static/studio/view.js";

const BUSY = ["installing", "queued", "loading", "encoding"];
const STATE_TEXT = {
  ready: t("● ready"),
  idle: t("○ not started"),
  queued: t("◐ waiting"),
  loading: t("◐ loading"),
  encoding: t("◐ encoding"),
  missing: t("! not available"),
  installing: t("◐ installing"),
  failed: t("! failed, using depth"),
  stopped: t("○ stopped"),
};
// Settings of SAM 2's automatic mask generator, under its names.
const SETTINGS = [
  [
    "points_per_side",
    t("Points per side"),
    { min: 2, max: 64, step: 1, value: 24 },
    t("Size of the prompt grid. More points find smaller objects; time grows with the square."),
  ],
  [
    "pred_iou_thresh",
    t("Minimum quality"),
    { min: 0, max: 1, step: 0.05, value: 0.7 },
    t("Masks of lower predicted quality are dropped."),
  ],
  [
    "stability_score_thresh",
    t("Minimum stability"),
    { min: 0, max: 1, step: 0.05, value: 0.9 },
    t("Masks that change more when their threshold moves are dropped."),
  ],
  [
    "box_nms_thresh",
    t("Duplicate overlap"),
    { min: 0, max: 1, step: 0.05, value: 0.7 },
    t("Box IoU above which the lower-rated of two masks is dropped."),
  ],
];
const SWITCHES = [
  [
    "keep_all",
    t("Keep all masks, as GRS does"),
    t("A later step removes non-objects. If off, parts of one object are merged by depth."),
  ],
  ["use_m2m", t("Refine edges"), t("Better edges, takes 1.5 times as long.")],
];

export class Segmenters {
  #status = signal(/** @type {any} */ (null));
  #problem = signal("");
  token = null;
  isPrepared = false;
  /** @type {HTMLDetailsElement} */
  menu = null;
  timer = 0;

  /**
   * @param {(request: object) => Promise<any>} ask
   * @param {{compare: () => void, find: (name: string, settings: object) => void, changed: (problem: string) => void}} handlers
   */
  constructor(ask, handlers) {
    this.ask = ask;
    this.handlers = handlers;
  }

  get chosen() {
    const status = this.#status.value;
    return status?.segmenters.find((segmenter) => segmenter.name === status.chosen);
  }

  async open(token) {
    if (token === this.token) return;
    this.token = token;
    this.#status.value = null;
    this.isPrepared = false;
    await this.request({ kind: "status" });
  }

  /** Lets the segmenter open the frame, so that the first click is as quick as the others. */
  prepare() {
    if (!this.token || this.isPrepared) return;
    this.isPrepared = true;
    this.request({ kind: "prepare" });
  }

  /** Sends a request, shows the answer, and asks again while a segmenter is busy. */
  async request(question) {
    const token = this.token,
      status = await this.ask({ ...question, token });
    if (token !== this.token) return;
    clearTimeout(this.timer);
    this.#problem.value = status.error ?? "";
    if (!status.error) this.#status.value = status;
    this.handlers.changed(this.#problem.value);
    const isBusy = this.#status.value?.segmenters.some(({ state }) => BUSY.includes(state));
    if (isBusy && this.menu?.isConnected) this.timer = setTimeout(() => this.request({ kind: "status" }), 600);
  }

  /** Why a click has to wait; "" if it does not. */
  get waitText() {
    const { title, state, progress } = this.chosen ?? {};
    const work = {
      encoding: t("encoding this frame ({percent} %)", { percent: Math.round(progress * 100) }),
      loading: t("loading its weights"),
      queued: t("waiting for other frames"),
    }[state];
    return work ? t("{title} is {work}; your click is answered afterwards.", { title, work }) : "";
  }

  #find() {
    const inputs = /** @type {HTMLInputElement[]} */ ([...this.menu.querySelectorAll(".settings input")]),
      settings = inputs.map((input) => [input.name, input.type === "checkbox" ? input.checked : input.valueAsNumber]);
    this.menu.open = false;
    this.handlers.find(this.chosen.name, this.chosen.name === "sam2" ? Object.fromEntries(settings) : {});
  }

  #compare() {
    this.menu.open = false;
    this.handlers.compare();
  }

  template() {
    const { chosen } = this;
    return html`<details class="menu" data-menu="segmenters" ref=${(menu) => (this.menu = menu)}
      ontoggle=${() => this.menu.open && this.request({ kind: "status" })}>
      <summary class="studio-button" title=${t("Choose the segmenter")}>${chosen ? title(chosen) : t("Segmenter")}</summary>
      <div class="sheet">
        <div class="list">${chosen && this.#list(chosen)}</div>
        <details class="settings" hidden=${chosen?.name !== "sam2"}>
          <summary>${t("SAM 2's settings")}</summary>
          ${SETTINGS.map(
            ([name, words, range, note]) => html`<label class="setting flow" title=${note}>${words}<input
            type="number" name=${name} title=${note} aria-label=${words} min=${range.min} max=${range.max}
            step=${range.step} defaultValue=${range.value} /></label>`,
          )}
          ${SWITCHES.map(
            ([name, words, note]) => html`<label class="setting flow" title=${note}>${words}<input
            type="checkbox" name=${name} title=${note} aria-label=${words} /></label>`,
          )}
        </details>
        <button class="studio-button" data-act="find" onclick=${() => this.#find()}>
          ${chosen && t("Segment with {title}", { title: chosen.title })}</button>
        <p class="note">
          ${t("Replaces all masks of this frame. Objects found again keep their number and name. You can undo it.")}</p>
      </div>
    </details>`;
  }

  #list(chosen) {
    return html`<p class="title">${t("Segmenter for clicks on this frame")}</p>
      ${this.#status.value.segmenters.map((segmenter) => this.#row(segmenter, chosen))}
      ${this.#problem.value && html`<p class="problem">${this.#problem.value}</p>`}
      <p class="note">${t("Existing masks do not change.")}</p>
      <button class="studio-button" data-act="compare" title=${t("Masks of the selected object side by side (C)")}
        onclick=${() => this.#compare()}>${t("Compare on the selected object")}</button>
      <p class="title">${t("Segment the frame again")}</p>`;
  }

  #row({ name, title, state, progress, note, installable }, chosen) {
    const isBusy = BUSY.includes(state),
      choose = () => this.request({ kind: "choose", name }),
      button = (kind, text) => html`<button class="studio-button" data-act=${`${kind}:${name}`}
        data-sends=${`mask-canvas.${kind}`} onclick=${() => this.request({ kind, name })}>${text}</button>`;
    return html`<div class="segmenter" key=${name}>
      <label class=${classes("list-row choice", state === "missing" && "off")}>
        <input type="radio" data-sends="mask-canvas.choose" name="segmenter" value=${name}
          checked=${name === chosen.name} disabled=${state === "missing"} onchange=${choose} />
        <span><strong>${title}</strong> <span class=${`state ${state}`}>${STATE_TEXT[state]}</span>
          ${isBusy && html`<progress max="1" value=${state === "installing" ? undefined : progress} />`}
          ${note && html`<span class="note">${note}</span>`}
        </span>
      </label>
      ${isBusy && button("stop", t("■ Stop"))}
      ${["failed", "stopped"].includes(state) && button("choose", t("Retry"))}
      ${installable && button("install", t("Install {title} (downloads up to 2.9 GB)", { title }))}
    </div>`;
  }
}

const title = ({ title: name, state, progress }) =>
  html`${t("Segmenter:")} <strong>${name}</strong> <span class=${`state ${state}`}>
    ${state === "encoding" ? `${STATE_TEXT.encoding} ${Math.round(progress * 100)} %` : STATE_TEXT[state]}</span>`;
