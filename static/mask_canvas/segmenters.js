// Menu to choose the segmenter that answers clicks, with the state of each, and to segment the whole frame again.
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

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
  constructor(ask, handlers) {
    Object.assign(this, { ask, handlers, status: null, token: null });
    this.head = h("summary.studio-button", { title: t("Choose the segmenter") }, t("Segmenter"));
    this.list = h("div.list");
    this.inputs = new Map(
      SETTINGS.map(([name, title, range, note]) => [
        name,
        h("input", {
          type: "number",
          name,
          title: note,
          "aria-label": title,
          ...Object.fromEntries(Object.entries(range).map(([key, value]) => [key, String(value)])),
        }),
      ]),
    );
    for (const [name, title, note] of SWITCHES)
      this.inputs.set(name, h("input", { type: "checkbox", name, title: note, "aria-label": title }));
    this.settings = h(
      "details.settings",
      {},
      h("summary", {}, t("SAM 2's settings")),
      SETTINGS.map(([name, title, , note]) => h("label.setting", { title: note }, title, this.inputs.get(name))),
      SWITCHES.map(([name, title, note]) => h("label.setting", { title: note }, title, this.inputs.get(name))),
    );
    this.findButton = h("button.studio-button", {
      "data-act": "find",
      onclick: () => {
        this.element.open = false;
        handlers.find(this.chosen.name, this.chosen.name === "sam2" ? this.values : {});
      },
    });
    this.element = h(
      "details.menu",
      { "data-menu": "segmenters", ontoggle: () => this.element.open && this.request({ kind: "status" }) },
      this.head,
      h(
        "div.sheet",
        {},
        this.list,
        this.settings,
        this.findButton,
        h(
          "p.note",
          {},
          t("Replaces all masks of this frame. Objects found again keep their number and name. You can undo it."),
        ),
      ),
    );
  }

  get chosen() {
    return this.status?.segmenters.find((segmenter) => segmenter.name === this.status.chosen);
  }
  get values() {
    return Object.fromEntries(
      [...this.inputs].map(([name, input]) => [name, input.type === "checkbox" ? input.checked : input.valueAsNumber]),
    );
  }

  async open(token) {
    if (token === this.token) return;
    this.token = token;
    this.status = null;
    this.isPrepared = false;
    await this.request({ kind: "status" });
  }

  // Lets the segmenter open the frame, so that the first click is as quick as the others.
  prepare() {
    if (!this.token || this.isPrepared) return;
    this.isPrepared = true;
    this.request({ kind: "prepare" });
  }

  // Sends a request, shows the answer, and polls while a segmenter is busy.
  async request(question) {
    const token = this.token,
      status = await this.ask({ ...question, token });
    if (token !== this.token) return;
    clearTimeout(this.timer);
    this.problem = status.error ?? "";
    if (!status.error) this.status = status;
    if (this.status) this.draw();
    this.handlers.changed(this.problem);
    if (this.status?.segmenters.some((segmenter) => BUSY.includes(segmenter.state)) && this.element.isConnected)
      this.timer = setTimeout(() => this.request({ kind: "status" }), 600);
  }

  // Why a click has to wait; "" if it does not.
  get waitText() {
    const { title, state, progress } = this.chosen ?? {};
    const work = {
      encoding: t("encoding this frame ({percent} %)", { percent: Math.round(progress * 100) }),
      loading: t("loading its weights"),
      queued: t("waiting for other frames"),
    }[state];
    return work ? t("{title} is {work}; your click is answered afterwards.", { title, work }) : "";
  }

  draw() {
    const chosen = this.chosen;
    fill(
      this.head,
      `${t("Segmenter:")} `,
      h("strong", {}, chosen.title),
      " ",
      h(
        `span.state.${chosen.state}`,
        {},
        chosen.state === "encoding"
          ? `${STATE_TEXT.encoding} ${Math.round(chosen.progress * 100)} %`
          : STATE_TEXT[chosen.state],
      ),
    );
    fill(
      this.list,
      h("p.title", {}, t("Segmenter for clicks on this frame")),
      this.status.segmenters.map((segmenter) => this.segmenterRow(segmenter, chosen)),
      this.problem && h("p.problem", {}, this.problem),
      h("p.note", {}, t("Existing masks do not change.")),
      h(
        "button.studio-button",
        {
          "data-act": "compare",
          title: t("Masks of the selected object side by side (C)"),
          onclick: () => {
            this.element.open = false;
            this.handlers.compare();
          },
        },
        t("Compare on the selected object"),
      ),
      h("p.title", {}, t("Segment the frame again")),
    );
    this.settings.hidden = chosen.name !== "sam2";
    fill(this.findButton, t("Segment with {title}", { title: chosen.title }));
  }

  segmenterRow(segmenter, chosen) {
    const busy = BUSY.includes(segmenter.state),
      act = (kind, text) =>
        h(
          "button.studio-button",
          {
            "data-act": `${kind}:${segmenter.name}`,
            "data-sends": `mask-canvas.${kind}`,
            onclick: () => this.request({ kind, name: segmenter.name }),
          },
          text,
        );
    return h(
      "div.segmenter",
      {},
      h(
        `label.list-row.choice${segmenter.state === "missing" ? ".off" : ""}`,
        {},
        h("input", {
          type: "radio",
          "data-sends": "mask-canvas.choose",
          name: "segmenter",
          value: segmenter.name,
          checked: segmenter.name === chosen.name,
          disabled: segmenter.state === "missing",
          onchange: () => this.request({ kind: "choose", name: segmenter.name }),
        }),
        h(
          "span",
          {},
          h("strong", {}, segmenter.title),
          " ",
          h(`span.state.${segmenter.state}`, {}, STATE_TEXT[segmenter.state]),
          busy && h("progress", segmenter.state === "installing" ? {} : { max: 1, value: segmenter.progress }),
          segmenter.note && h("span.note", {}, segmenter.note),
        ),
      ),
      busy && act("stop", t("■ Stop")),
      ["failed", "stopped"].includes(segmenter.state) && act("choose", t("Retry")),
      segmenter.installable &&
        act("install", t("Install {title} (downloads up to 2.9 GB)", { title: segmenter.title })),
    );
  }
}
