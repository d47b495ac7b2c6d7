// What an import asks: consent to a licence, or a file's units and up axis.
import { length } from "/static/library/formatting.js";
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";

const MUG_HEIGHT_M = 0.095,
  DRAWING_PX = 64,
  AXIS_PX = 34,
  USUAL_SIZE_M = 0.12;
const UP_AXES = { z: t("z, as in CAD and robotics"), y: t("y, as in games and films"), x: "x" };
const UNIT_NAMES = { m: t("metres"), cm: t("centimetres"), mm: t("millimetres"), in: t("inches") };
const SQUARE = { path: "M0,0H1V1H0Z", wide: 1, tall: 1 };

/** A question of a job; `jobs` are the ImportJobs, which send its answer. */
export function ImportQuestion({ jobs, job, question }) {
  const { number } = question,
    asked = `${job.name} ${number}`;
  if (!question.units)
    return terms(question, (accepted) => jobs.send({ kind: "accept", job: job.name, number, accepted }));
  const up = jobs.ups.value[asked] ?? "z";
  return units(
    question,
    up,
    (axis) => (jobs.ups.value = { ...jobs.ups.value, [asked]: axis }),
    (chosen) => jobs.send({ kind: "units", job: job.name, number, units: chosen, up }),
  );
}

// Asks for consent to a licence before anything is downloaded.
function terms({ name, size, licence, terms: words }, reply) {
  return html`<div class="question">
    <p>
      <strong>${name}</strong>${size > 0 && `, ${(size / 1e6).toFixed(1)} MB`}${t(". Licence:")}${" "}
      <span class="tag">${licence}</span>${words ? ` ${words}.` : ` ${t("Unknown terms: read them on its page.")}`}
    </p>
    <div class="options">
      <button class="studio-button primary" data-act="accept" data-sends="library.accept" onclick=${() => reply(true)}>
        ${t("Import")}</button>
      <button class="studio-button plain" onclick=${() => reply(false)}>${t("Skip")}</button>
    </div>
  </div>`;
}

// Asks which axis points up and which unit the file uses; each possible size is drawn beside a mug.
function units({ source, shapes, units: all, ...question }, up, chooseUp, send) {
  const distanceFromUsual = ({ size }) => Math.abs(Math.log(size / USUAL_SIZE_M)),
    options = [...all].sort((a, b) => distanceFromUsual(a) - distanceFromUsual(b)),
    longest = question.longest.toPrecision(3);
  return html`<div class="question">
    <p>
      <strong>${t("How large is {source}?", { source })}</strong>
      ${` ${t("Its longest side is {longest}, unit unknown. Drawn beside a mug:", { longest })}`}
    </p>
    <div class="options">
      ${
        shapes[up] &&
        html`<fieldset class="up-axes">
          <legend>${t("Up axis")}</legend>
          ${Object.keys(UP_AXES).map((axis) => upAxis(axis, shapes[axis], axis === up, () => chooseUp(axis)))}
        </fieldset>`
      }
      ${options.map((option) => unit(option, shapes[up], () => send(option.unit)))}
      <button class="studio-button plain" onclick=${() => send(null)}>${t("Skip")}</button>
    </div>
  </div>`;
}

const upAxis = (axis, shape, isChosen, choose) =>
  html`<button class="tile up" aria-pressed=${isChosen} aria-label=${t("{axis} is up", { axis })}
    title=${t("Up axis: {axis_label}", { axis_label: UP_AXES[axis] })} onclick=${choose}>
    ${outline(shape, AXIS_PX / Math.max(shape.wide, shape.tall))}
    <span>${axis}</span>
  </button>`;

const unit = ({ unit: name, size, likely }, shape, choose) =>
  html`<button class=${classes("tile option", !likely && "unlikely")} data-unit=${name}
    title=${likely ? "" : t("Unlikely for an object on a table")} data-sends="library.units" onclick=${choose}>
    ${besideMug(shape, size)}
    <strong>${length(size)}</strong>
    <span>${UNIT_NAMES[name]}</span>
    ${!likely && html`<em>${t("unlikely")}</em>`}
  </button>`;

function besideMug(shape, size) {
  const scale = DRAWING_PX / Math.max(size * (shape ? Math.max(shape.tall, 0.5 * shape.wide) : 1), MUG_HEIGHT_M),
    height = MUG_HEIGHT_M * scale;
  return html`<span class="scale" aria-hidden="true">
    ${outline(shape, size * scale)}
    <span class="mug" style=${`width:${0.8 * height}px;height:${height}px`} />
  </span>`;
}

// An object's outline whose longest side is `longest` pixels; a square if the outline is unknown.
function outline(shape, longest) {
  const { path, wide, tall } = shape?.path ? shape : SQUARE;
  return html`<svg class="outline" viewBox=${`0 0 ${wide} ${tall}`} width=${Math.max(2, wide * longest)}
    height=${Math.max(2, tall * longest)} preserveAspectRatio="none"><path d=${path} fill-rule="evenodd" /></svg>`;
}
