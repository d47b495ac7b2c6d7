// Lists running imports with their results, and asks for a file's units or for consent to a licence where needed.
import { fill, h } from "/static/studio/dom.js";
import { length } from "/static/library/formatting.js";
import { t } from "/static/studio/texts.js";

const POLL_MS = 500,
  CREEP_MS = 12000,
  MUG_HEIGHT_M = 0.095,
  DRAWING_PX = 64,
  USUAL_SIZE_M = 0.12;
const UP_AXES = { z: t("z, as in CAD and robotics"), y: t("y, as in games and films"), x: "x" };
const UNIT_NAMES = { m: t("metres"), cm: t("centimetres"), mm: t("millimetres"), in: t("inches") };
const STATE_MARKS = { done: ["good", "✓"], stopped: ["warn", "■"], questions: ["warn", "?"] };

export class ImportJobs {
  // `onFinished` is called when a job has ended, `onOpen` with the id of a new asset to show.
  constructor({ ask, onFinished, onOpen }) {
    Object.assign(this, { ask, onFinished, onOpen, jobs: [], ups: new Map() });
    this.element = h("div.jobs");
  }

  get isBusy() {
    return this.jobs.some((job) => ["waiting", "running"].includes(job.state));
  }

  async poll() {
    clearTimeout(this.timer);
    this.update(await this.ask({ kind: "jobs" }));
  }

  update(answer) {
    if (answer.error) return;
    const previousStates = new Map(this.jobs.map((job) => [job.name, job.state]));
    this.jobs = answer.jobs;
    this.draw();
    const finishedJobs = this.jobs.filter(
      (job) =>
        ["waiting", "running"].includes(previousStates.get(job.name)) && !["waiting", "running"].includes(job.state),
    );
    if (finishedJobs.length) this.onFinished(finishedJobs);
    clearTimeout(this.timer);
    if (this.isBusy) this.timer = setTimeout(() => this.poll(), POLL_MS);
  }

  async send(question) {
    this.update(await this.ask(question));
  }

  draw() {
    const text = JSON.stringify(this.jobs);
    if (text === this.drawn) return;
    this.drawn = text;
    fill(
      this.element,
      this.jobs.map((job) => this.job(job)),
    );
  }

  job(job) {
    const isRunning = ["waiting", "running"].includes(job.state),
      [kind, mark] = STATE_MARKS[
        job.errors.length && !job.added.length && job.state === "done" ? "stopped" : job.state
      ] ?? ["", ""];
    const summary = t("{n} asset imported|{n} assets imported", { n: job.added.length });
    return h(
      "section.job",
      { "data-state": job.state },
      h(
        "div.line",
        {},
        isRunning ? h("i.spin") : h(`i.${kind}`, {}, mark),
        h("strong", { title: job.title }, job.title),
        h(
          "span.muted",
          { role: "status" },
          isRunning
            ? `${job.of > 1 ? `${job.done} of ${job.of} · ` : ""}${job.message}`
            : `${summary}${job.state === "stopped" ? "; stopped" : ""}${job.note ? `. ${job.note}` : ""}`,
        ),
        isRunning && this.bar(job),
        isRunning
          ? h(
              "button.studio-button.stop",
              { disabled: job.stopping, onclick: () => this.send({ kind: "stop", job: job.name }) },
              job.stopping ? t("Stopping …") : t("■ Stop"),
            )
          : h(
              "button.studio-button.plain",
              {
                title: t("Remove from the list"),
                "aria-label": t("Dismiss"),
                onclick: () => this.send({ kind: "stop", job: job.name }),
              },
              "✕",
            ),
      ),
      job.questions.map((question) => (question.units ? this.units(job, question) : this.terms(job, question))),
      (job.errors.length > 0 || job.added.length > 0) &&
        h(
          "ul",
          {},
          job.errors.map((failure) =>
            h(
              "li.bad",
              {},
              failure.source && !failure.error.includes(failure.source)
                ? `${failure.source}: ${failure.error}`
                : failure.error,
            ),
          ),
          job.added
            .slice(-6)
            .reverse()
            .map((asset) =>
              h(
                "li",
                {},
                h(
                  "button.link",
                  {
                    disabled: !asset.available,
                    title: asset.available ? "" : t("Available when the import has finished"),
                    onclick: () => this.onOpen(asset.id),
                  },
                  asset.id.replaceAll("_", " "),
                ),
                h("span.muted", {}, asset.warnings.length ? `  ${asset.warnings.join("; ")}` : `  ${t("no problems")}`),
              ),
            ),
          job.added.length > 6 && h("li.muted", {}, t("and {count} more", { count: job.added.length - 6 })),
        ),
    );
  }

  // Progress bar. It creeps through the current item, whose duration is unknown.
  bar({ done, of, share: progress }) {
    if (of <= 1 && !progress) return h("span.track.unknown", {}, h("span.fill"));
    const fraction = Math.min(1, (done + progress) / Math.max(of, 1)),
      next = Math.min(1, fraction + (0.6 * (1 - progress)) / Math.max(of, 1));
    const bar = h("span.fill", { style: `width:${100 * fraction}%` });
    bar.animate([{ width: `${100 * fraction}%` }, { width: `${100 * next}%` }], {
      duration: CREEP_MS,
      easing: "ease-out",
      fill: "both",
    });
    const label = t("Progress of the import");
    return h(
      "span.track",
      { role: "progressbar", "aria-label": label, "aria-valuenow": Math.round(100 * fraction) },
      bar,
    );
  }

  // Asks for consent to a licence before anything is downloaded.
  terms(job, question) {
    const reply = (accepted) => this.send({ kind: "accept", job: job.name, number: question.number, accepted });
    return h(
      "div.question",
      {},
      h(
        "p",
        {},
        h("strong", {}, question.name),
        question.size > 0 && `, ${(question.size / 1e6).toFixed(1)} MB`,
        `${t(". Licence:")} `,
        h("span.tag", {}, question.licence),
        question.terms ? ` ${question.terms}.` : ` ${t("Unknown terms: read them on its page.")}`,
      ),
      h(
        "div.options",
        {},
        h(
          "button.studio-button.primary",
          { "data-act": "accept", "data-sends": "library.accept", onclick: () => reply(true) },
          t("Import"),
        ),
        h("button.studio-button.plain", { onclick: () => reply(false) }, t("Skip")),
      ),
    );
  }

  // Asks which axis points up and which unit the file uses; each possible size is drawn beside a mug.
  units(job, question) {
    const asked = `${job.name} ${question.number}`,
      up = this.ups.get(asked) ?? "z",
      shape = question.shapes[up];
    const chooseUp = (axis) => {
      this.ups.set(asked, axis);
      this.drawn = "";
      this.draw();
    };
    const scene = (size) => {
      const scale = DRAWING_PX / Math.max(size * (shape ? Math.max(shape.tall, 0.5 * shape.wide) : 1), MUG_HEIGHT_M);
      return h(
        "span.scale",
        { "aria-hidden": "true" },
        outline(shape, size * scale),
        h("span.mug", { style: `width:${0.8 * MUG_HEIGHT_M * scale}px;height:${MUG_HEIGHT_M * scale}px` }),
      );
    };
    const distanceFromUsual = ({ size }) => Math.abs(Math.log(size / USUAL_SIZE_M));
    const options = [...question.units].sort((a, b) => distanceFromUsual(a) - distanceFromUsual(b));
    const send = (units) => this.send({ kind: "units", job: job.name, number: question.number, units, up });
    return h(
      "div.question",
      {},
      h(
        "p",
        {},
        h("strong", {}, t("How large is {source}?", { source: question.source })),
        ` ${t("Its longest side is {longest}, unit unknown. Drawn beside a mug:", { longest: question.longest.toPrecision(3) })}`,
      ),
      h(
        "div.options",
        {},
        shape &&
          h(
            "fieldset.up-axes",
            {},
            h("legend", {}, t("Up axis")),
            Object.entries(UP_AXES).map(([axis, axisLabel]) =>
              h(
                "button.tile.up",
                {
                  "aria-pressed": String(axis === up),
                  "aria-label": t("{axis} is up", { axis }),
                  title: t("Up axis: {axis_label}", { axis_label: axisLabel }),
                  onclick: () => chooseUp(axis),
                },
                outline(question.shapes[axis], 34 / Math.max(question.shapes[axis].wide, question.shapes[axis].tall)),
                h("span", {}, axis),
              ),
            ),
          ),
        options.map(({ unit, size, likely }) =>
          h(
            `button.tile.option${likely ? "" : ".unlikely"}`,
            {
              "data-unit": unit,
              title: likely ? "" : t("Unlikely for an object on a table"),
              "data-sends": "library.units",
              onclick: () => send(unit),
            },
            scene(size),
            h("strong", {}, length(size)),
            h("span", {}, UNIT_NAMES[unit]),
            !likely && h("em", {}, "unlikely"),
          ),
        ),
        h("button.studio-button.plain", { onclick: () => send(null) }, t("Skip")),
      ),
    );
  }
}

// An object's outline whose longest side is `longest` pixels; a square if the outline is unknown.
function outline(shape, longest) {
  const {
    path: outlinePath,
    wide: width,
    tall: height,
  } = shape?.path ? shape : { path: "M0,0H1V1H0Z", wide: 1, tall: 1 };
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"),
    path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [key, value] of Object.entries({
    class: "outline",
    viewBox: `0 0 ${width} ${height}`,
    width: Math.max(2, width * longest),
    height: Math.max(2, height * longest),
    preserveAspectRatio: "none",
  }))
    svg.setAttribute(key, value);
  path.setAttribute("d", outlinePath);
  path.setAttribute("fill-rule", "evenodd");
  svg.append(path);
  return svg;
}
