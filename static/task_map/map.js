// The map: a point for each task, by its difficulty and novelty. Each level has a colour and a shape.
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";

const WIDTH = 460,
  HEIGHT = 250,
  LEFT = 46,
  BOTTOM = 40,
  TOP = 10,
  RIGHT = 22;
const RADIUS = 7;
const SQUARE = [
    [-1, -1],
    [1, -1],
    [1, 1],
    [-1, 1],
  ],
  DIAMOND = [
    [0, -1],
    [1, 0],
    [0, 1],
    [-1, 0],
  ];

export const percent = (share) => `${Math.round(100 * share)} %`;

/** `choose` gets the task of a point that was clicked. */
export function map(tasks, chosen, choose) {
  const [left, right] = ends(tasks.map((task) => task.difficulty)),
    [low, high] = ends(tasks.map((task) => task.novelty)),
    atX = (x) => LEFT + ((x - left) / (right - left)) * (WIDTH - LEFT - RIGHT),
    atY = (y) => HEIGHT - BOTTOM - ((y - low) / (high - low)) * (HEIGHT - BOTTOM - TOP);
  const ofX = (x) => html`<line x1=${atX(x)} x2=${atX(x)} y1=${TOP} y2=${HEIGHT - BOTTOM} class="grid" />
    <text x=${atX(x)} y=${HEIGHT - BOTTOM + 14} text-anchor="middle">${x.toFixed(2)}</text>`;
  const ofY = (y) => html`<line x1=${LEFT} x2=${WIDTH - RIGHT} y1=${atY(y)} y2=${atY(y)} class="grid" />
    <text x=${LEFT - 6} y=${atY(y) + 4} text-anchor="end">${y.toFixed(2)}</text>`;
  const point = (task) => html`<${Point} key=${task.id} task=${task} x=${atX(task.difficulty)}
    y=${atY(task.novelty)} isOn=${task.id === chosen} choose=${choose} />`;
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="group" aria-label=${t("Map of tasks")}>
    ${ticks(left, right).map(ofX)}
    ${ticks(low, high).map(ofY)}
    <text x=${(LEFT + WIDTH) / 2} y=${HEIGHT - 6} text-anchor="middle" class="axis">
      ${t("Difficulty as measured")}</text>
    <text transform="translate(10 ${(HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle" class="axis">
      ${t("Novelty")}</text>
    ${tasks.map(point)}
  </svg>`;
}

// Ends of an axis: around all values, at least 0.2 apart, within 0 and 1.
function ends(values) {
  const low = Math.max(0, Math.min(...values) - 0.05),
    high = Math.min(1, Math.max(...values) + 0.05),
    room = Math.max(0, 0.2 - (high - low)) / 2;
  return [Math.max(0, low - room), Math.min(1, high + room)];
}

const ticks = (from, to) => [0, 1, 2, 3, 4].map((number) => from + (number / 4) * (to - from));

function Point({ task, x, y, isOn, choose }) {
  const { level, words, worth } = task;
  const press = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose(task);
  };
  return html`<g class=${classes("point", `level-${level ?? 0}`, isOn && "on")} role="button" tabindex="0"
    aria-pressed=${isOn} aria-label="${levelName(level)}: ${words}" onclick=${() => choose(task)}
    onkeydown=${press}><title>${words}</title>${mark(level, x, y)}${worth !== null && worthLabel(worth, x, y)}</g>`;
}

const levelName = (level) => (level ? t("Level {level}", { level }) : t("Level not known"));

function mark(level, x, y) {
  if (!level || level === 1) return html`<circle cx=${x} cy=${y} r=${RADIUS} />`;
  const [corners, half] = level === 2 ? [SQUARE, RADIUS * 0.9] : [DIAMOND, RADIUS * 1.2];
  return html`<polygon points=${corners.map(([dx, dy]) => `${x + half * dx},${y + half * dy}`).join(" ")} />`;
}

// Beside the point, on the side with room.
function worthLabel(worth, x, y) {
  const isRight = x < WIDTH - RIGHT - 40;
  return html`<text x=${x + (isRight ? 1 : -1) * (RADIUS + 4)} y=${y + 4} text-anchor=${isRight ? "start" : "end"}
    class="worth">${percent(worth)}</text>`;
}

export function legend() {
  const entry = (level) => html`<span>
    <svg viewBox="-9 -9 18 18" class="glyph level-${level}">${mark(level, 0, 0)}</svg>${t("Level {level}", { level })}
  </span>`;
  return html`<div class="legend">${[1, 2, 3].map(entry)}</div>`;
}
