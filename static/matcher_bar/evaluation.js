// Dialog that evaluates the matchers on labelled frames and shows a table of their scores.
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const POLL_MS = 500,
  PLAN_DELAY_MS = 400;
const DEFAULTS = { frames: "", truth: "", libraries: "", masks: "own" };

export class MatcherEvaluation {
  constructor(ask) {
    Object.assign(this, {
      ask,
      value: {},
      input: { ...DEFAULTS },
      off: new Set(),
      plan: "",
      problem: "",
      state: { running: false, table: null },
    });
    this.foot = h("div.actions");
    this.result = h("div");
    this.form = h("div.fields");
    this.element = h(
      "dialog",
      { "aria-label": t("Evaluate matchers") },
      h(
        "div.head",
        {},
        h("strong", {}, t("Evaluate matchers")),
        h(
          "button.studio-button.plain",
          { title: t("Close (Esc)"), "aria-label": t("Close"), onclick: () => this.element.close() },
          "✕",
        ),
      ),
      h(
        "div.body",
        {},
        h(
          "p.lead",
          {},
          `${t("Measures each matcher on frames with labelled objects, as in table 1 of the GRS paper.")} `,
          t("Runs in the background; you can close this dialog."),
        ),
        this.form,
        this.foot,
        this.result,
      ),
    );
  }

  show(value) {
    const isChanged =
      JSON.stringify(value.matchers) !== JSON.stringify(this.value.matchers) || value.library !== this.value.library;
    this.value = value;
    if (isChanged) this.fields();
  }

  async open() {
    this.element.showModal();
    this.form.querySelector("input")?.focus();
    this.poll();
  }

  fields() {
    const text = (name, title, hint, placeholder, tag = "input") => [
      h("label.name", { for: `score-${name}` }, title),
      h(
        "div",
        {},
        h(tag, {
          id: `score-${name}`,
          ...(tag === "input" ? { type: "text" } : { rows: "1" }),
          spellcheck: "false",
          placeholder,
          value: this.input[name],
          oninput: (event) => {
            this.input[name] = event.target.value;
            this.onChange();
          },
        }),
        h("p.hint", {}, hint),
      ),
    ];
    const mask = (name, title) =>
      h(
        "label.tick",
        {},
        h("input", {
          type: "radio",
          name: "score-masks",
          value: name,
          checked: this.input.masks === name,
          onchange: () => {
            this.input.masks = name;
            this.onChange();
          },
        }),
        title,
      );
    fill(
      this.form,
      ...text(
        "frames",
        t("Labelled frames"),
        t("Folder on the machine that runs the studio. Each frame in it has truth/masks.png and truth/truth.json."),
        "/data/frames",
      ),
      ...text(
        "truth",
        t("Correct assets"),
        t('JSON: {"frames": {name: [{"id", "exact": [asset], "category": [asset]}]}}. Default: assets.json there.'),
        "/data/frames/assets.json",
      ),
      ...text(
        "libraries",
        t("Libraries"),
        t("Folders of assets, one per line. Default: {library}.", {
          library: this.value.library ?? t("the library in use"),
        }),
        "",
        "textarea",
      ),
      h("span.name", {}, t("Masks")),
      h("div.side", {}, mask("own", t("From the segmenter")), mask("true", t("Ground truth"))),
      h("span.name", {}, t("Matchers")),
      h(
        "div.ticks",
        {},
        (this.value.matchers ?? []).map((matcher) =>
          h(
            `label.tick${matcher.unavailable ? ".off" : ""}`,
            {},
            h("input", {
              type: "checkbox",
              disabled: Boolean(matcher.unavailable),
              checked: !matcher.unavailable && !this.off.has(matcher.name),
              onchange: (event) => {
                event.target.checked ? this.off.delete(matcher.name) : this.off.add(matcher.name);
                this.onChange();
              },
            }),
            h("span", {}, matcher.title, " ", h("span.muted", {}, matcher.unavailable || matcher.about)),
          ),
        ),
      ),
    );
    this.draw();
  }

  get settings() {
    const matchers = (this.value.matchers ?? [])
      .filter((matcher) => !matcher.unavailable && !this.off.has(matcher.name))
      .map((matcher) => matcher.name);
    return { ...this.input, matchers };
  }

  onChange() {
    this.plan = this.problem = "";
    clearTimeout(this.timer);
    if (this.input.frames.trim())
      this.timer = setTimeout(
        async () => this.showAnswer(await this.ask({ kind: "plan", ...this.settings })),
        PLAN_DELAY_MS,
      );
    this.draw();
  }

  showAnswer(answer) {
    this.problem = answer.error ?? "";
    this.plan = answer.plan ?? "";
    this.draw();
  }

  async start() {
    const answer = await this.ask({ kind: "start", ...this.settings });
    if (answer.error) return this.showAnswer(answer);
    this.problem = "";
    this.poll();
  }

  async poll() {
    const answer = await this.ask({ kind: "state" });
    if ("running" in answer) this.state = answer;
    else this.problem = answer.error ?? "";
    this.draw();
    if (this.state.running && this.element.open) setTimeout(() => this.poll(), POLL_MS);
  }

  async download(form) {
    const answer = await this.ask({ kind: "download", form });
    if (answer.error) return this.showAnswer(answer);
    h("a", { href: `data:application/octet-stream;base64,${answer.data}`, download: answer.name }).click();
  }

  draw() {
    const { running, done, of, message, error, table } = this.state,
      stopped = !running && message?.startsWith("stopped");
    fill(
      this.foot,
      !running &&
        h(
          "button.studio-button.primary",
          { disabled: !this.input.frames.trim(), "data-sends": "matcher-bar.start", onclick: () => this.start() },
          table ? t("Evaluate again") : t("Evaluate"),
        ),
      running &&
        h(
          "button.studio-button.stop",
          {
            onclick: async () => {
              await this.ask({ kind: "stop" });
              this.poll();
            },
          },
          t("■ Stop"),
        ),
      running &&
        h(
          "span.progress",
          { style: "flex:1" },
          h("span.track", {}, h("span.fill", { style: `width:${of ? (100 * done) / of : 0}%` })),
          h("span.muted", { role: "status" }, of ? t("{done} of {of}: {message}", { done, of, message }) : message),
        ),
      !running && !stopped && this.plan && h("span.muted", {}, this.plan),
      stopped && h("span.tag.warn", { role: "status" }, message[0].toUpperCase() + message.slice(1)),
      (this.problem || error) && h("p.fault", { role: "alert", style: "flex:1 1 100%" }, this.problem || error),
    );
    fill(
      this.result,
      table && [
        h("p.hint", { style: "margin-bottom:8px" }, table.head),
        scoreTable(table),
        h(
          "p.hint",
          {},
          `${t("Dot: F1, with “no match” as a possible answer. Line: 95 % bootstrap interval over frames.")} `,
          t("Exact: the same product. Category: any acceptable asset of that category."),
        ),
        h(
          "div.actions",
          { style: "margin-top:10px" },
          h("button.studio-button", { onclick: () => this.download("csv") }, t("Download CSV")),
          h("button.studio-button", { onclick: () => this.download("json") }, t("Download JSON")),
        ),
      ],
    );
  }
}

const decimals = (number) => (number === null || number === undefined ? "–" : number.toFixed(2));

function scoreCell(score) {
  if (score.f1 === null) return "–";
  const low = 100 * (score.low ?? score.f1),
    high = 100 * (score.high ?? score.f1);
  return h(
    "span.whisker",
    {
      title: t("F1 {f1}, 95 % interval {low} to {high}", {
        f1: decimals(score.f1),
        low: decimals(score.low),
        high: decimals(score.high),
      }),
    },
    decimals(score.f1),
    h(
      "span.axis",
      {},
      [0, 25, 50, 75, 100].map((tick) => h("i", { style: `left:${tick}%` })),
      h("span.span", { style: `left:${low}%;width:${high - low}%` }),
      h("span.dot", { style: `left:${100 * score.f1}%` }),
    ),
  );
}

function scoreTable(table) {
  const best = Math.max(...table.lines.map((matcher) => matcher.exact?.f1 ?? 0));
  const row = (matcher) =>
    matcher.unavailable
      ? h(
          "tr.off",
          {},
          h("td", {}, matcher.title),
          h("td", { colspan: "7" }, t("Not measured: {unavailable}", { unavailable: matcher.unavailable })),
        )
      : h(
          `tr${matcher.exact.f1 === best ? ".best" : ""}`,
          {},
          h("td", {}, matcher.title),
          h("td", {}, scoreCell(matcher.exact)),
          h("td.number", {}, `${decimals(matcher.exact.first)} / ${decimals(matcher.exact.five)}`),
          h("td", {}, scoreCell(matcher.category)),
          h("td.number", {}, `${decimals(matcher.category.first)} / ${decimals(matcher.category.five)}`),
          h("td.number", {}, decimals(matcher.no_match_kept)),
          h("td.number", {}, `${matcher.seconds.toFixed(2)} s`),
          h("td", {}, matcher.model || "–"),
        );
  return h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        [
          t("Matcher"),
          t("Exact"),
          t("Top 1 / top 5"),
          t("Category"),
          t("Top 1 / top 5"),
          t("No match"),
          t("Time per object"),
          t("Model"),
        ].map((name) => h("th", {}, name)),
      ),
    ),
    h("tbody", {}, table.lines.map(row)),
  );
}
