// The table from above, to choose one of its sides or a place on it: by a click, by dragging, or with the arrow keys.
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

const STEP_M = 0.01; // per arrow key; five times with Shift
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const WIDTH = 150; // pixels

/** A field for each zone, laid out as on the table. Radio buttons move with the arrow keys; a pressed pointer drags. */
export function zonePad(row, zones, chosen, onChoose) {
  const isSide = zones.some((one) => one.name === chosen), // a read task may have a zone anywhere
    fields = isSide ? zones : [...zones, { name: chosen, words: chosen.replaceAll("_", " ") }];
  const field = ({ name, words }) => html`<label class=${name} key=${name}
    onpointerdown=${({ target, pointerId }) => target.releasePointerCapture?.(pointerId)}
    onpointerenter=${({ buttons }) => buttons && name !== chosen && onChoose(name)}>
    <input type="radio" name="zone-${row.key}" data-act="zone ${row.key} ${name}" checked=${name === chosen}
      onchange=${() => onChoose(name)} /><span>${words}</span>
  </label>`;
  return html`<span class="zone-pad" role="radiogroup" aria-label=${t("Side of the table")}>
    ${fields.map(field)}
  </span>`;
}

/** The table's outline, and where a place [right, away] in m is on a pad. */
class Plan {
  constructor(table) {
    this.low = [0, 1].map((axis) => Math.min(...table.map((point) => point[axis])));
    this.high = [0, 1].map((axis) => Math.max(...table.map((point) => point[axis])));
    this.scale = WIDTH / (this.high[0] - this.low[0]); // pixels per metre
    this.height = (this.high[1] - this.low[1]) * this.scale;
    this.outline = table.map((point) => this.#pixels(point).join(" ")).join();
  }

  #pixels([right, away]) {
    return [(right - this.low[0]) * this.scale, (this.high[1] - away) * this.scale].map((value) => `${value}px`);
  }

  at(place) {
    const [left, top] = this.#pixels(place);
    return `left:${left};top:${top}`;
  }

  /** The place under the pointer, within the table. */
  under({ clientX, clientY, currentTarget }) {
    const box = currentTarget.getBoundingClientRect();
    return this.within([
      this.low[0] + (clientX - box.left) / this.scale,
      this.high[1] - (clientY - box.top) / this.scale,
    ]);
  }

  within(place) {
    return place.map((value, axis) => Math.min(Math.max(value, this.low[axis]), this.high[axis]));
  }

  words([right, away]) {
    return t("Place: {right} cm to the right, {away} cm away", {
      right: Math.round(100 * (right - this.low[0])),
      away: Math.round(100 * (away - this.low[1])),
    });
  }
}

/** A marker that is dragged over the table, on which the other objects are dots. */
export function placePad(builder, row) {
  const { table, objects } = builder.value,
    plan = new Plan(table),
    { carried } = builder,
    place = carried.value?.key === row.key ? carried.value.place : row.place,
    carry = (event) => (carried.value = { key: row.key, place: plan.under(event) });
  const begin = (event) => {
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
    carry(event);
  };
  const end = () => {
    carried.value = null;
    builder.change({ ...row, place });
  };
  const nudge = (event) => {
    const arrow = ARROWS[event.key],
      step = STEP_M * (event.shiftKey ? 5 : 1);
    if (!arrow) return;
    event.preventDefault();
    builder.change({ ...row, place: plan.within(row.place.map((value, axis) => value + step * arrow[axis])) });
  };
  const others = objects.filter((one) => !row.names[0].includes(one.name));
  const dot = ({ words, colour, place: at }) =>
    html`<span class="dot" title=${words} style="${plan.at(at)};background:${colour}" />`;
  return html`<span class="place-pad" style="width:${WIDTH}px;height:${plan.height}px" onpointerdown=${begin}
    onpointermove=${(event) => event.buttons && carry(event)} onpointerup=${end}>
    <span class="table" style="clip-path:polygon(${plan.outline})" />
    ${others.map(dot)}
    <button class="marker" data-act="place ${row.key}" aria-label=${plan.words(row.place)}
      title=${t("Drag, or use the arrow keys")} style=${plan.at(place)} onkeydown=${nudge} />
  </span>`;
}
