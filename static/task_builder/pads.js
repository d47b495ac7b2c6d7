// The table from above, to choose one of its sides or a place on it: by a click, by dragging, or with the arrow keys.
import { h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const STEP_M = 0.01; // per arrow key; five times with Shift
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const WIDTH = 150; // pixels

/** A field for each zone, laid out as on the table. The radio buttons move with the arrow keys; a pressed pointer drags. */
export function zonePad(row, zones, chosen, onChoose) {
  const isSide = zones.some((one) => one.name === chosen); // a read task may have a zone anywhere
  const fields = isSide ? zones : [...zones, { name: chosen, words: chosen.replaceAll("_", " ") }];
  return h(
    "span.zone-pad",
    { role: "radiogroup", "aria-label": t("Side of the table") },
    fields.map(({ name, words }) =>
      h(
        `label.${name}`,
        {
          onpointerdown: ({ target, pointerId }) => target.releasePointerCapture?.(pointerId),
          onpointerenter: ({ buttons }) => buttons && name !== chosen && onChoose(name),
        },
        h("input", {
          type: "radio",
          name: `zone-${row.key}`,
          "data-act": `zone ${row.key} ${name}`,
          checked: name === chosen,
          onchange: () => onChoose(name),
        }),
        h("span", {}, words),
      ),
    ),
  );
}

/** A marker that is dragged over the table, on which the other objects are dots. `onChoose` gets [right, away] in m. */
export function placePad(row, { table, objects }, onChoose) {
  const low = [0, 1].map((axis) => Math.min(...table.map((point) => point[axis]))),
    high = [0, 1].map((axis) => Math.max(...table.map((point) => point[axis])));
  const scale = WIDTH / (high[0] - low[0]);
  const left = ([right]) => `${(right - low[0]) * scale}px`,
    top = ([, away]) => `${(high[1] - away) * scale}px`;
  const within = (place) => place.map((value, axis) => Math.min(Math.max(value, low[axis]), high[axis]));
  const at = (place) => `left:${left(place)};top:${top(place)}`;
  const words = ([right, away]) =>
    t("Place: {right} cm to the right, {away} cm away", {
      right: Math.round(100 * (right - low[0])),
      away: Math.round(100 * (away - low[1])),
    });
  let place = row.place;
  const show = (next) => {
    place = within(next);
    marker.style.cssText = at(place);
  };
  const marker = h("button.marker", {
    "data-act": `place ${row.key}`,
    "aria-label": words(place),
    title: t("Drag, or use the arrow keys"),
    style: at(place),
    onkeydown: (event) => {
      const arrow = ARROWS[event.key];
      if (!arrow) return;
      event.preventDefault();
      const step = STEP_M * (event.shiftKey ? 5 : 1);
      onChoose(within(place.map((value, axis) => value + step * arrow[axis])));
    },
  });
  const follow = ({ clientX, clientY }) => {
    const box = pad.getBoundingClientRect();
    show([low[0] + (clientX - box.left) / scale, high[1] - (clientY - box.top) / scale]);
  };
  const outline = table.map((point) => `${left(point)} ${top(point)}`).join();
  const pad = h(
    "span.place-pad",
    {
      style: `width:${WIDTH}px;height:${(high[1] - low[1]) * scale}px`,
      onpointerdown: (event) => {
        event.preventDefault();
        pad.setPointerCapture(event.pointerId);
        follow(event);
      },
      onpointermove: (event) => event.buttons && follow(event),
      onpointerup: () => onChoose(place),
    },
    h("span.table", { style: `clip-path:polygon(${outline})` }),
    objects
      .filter((one) => !row.names[0].includes(one.name))
      .map((one) => h("span.dot", { title: one.words, style: `${at(one.place)};background:${one.colour}` })),
    marker,
  );
  return pad;
}
