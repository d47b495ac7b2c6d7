// Generated tasks on a map of difficulty and novelty; a click shows what was measured. See components/steps.py.
import { fill, h, tickBox } from "/static/studio/dom.js";
import { fillField } from "/static/studio/fill_field.js";
import { t } from "/static/studio/texts.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 460,
  HEIGHT = 250,
  LEFT = 46,
  BOTTOM = 40,
  TOP = 10,
  RIGHT = 22;
const RADIUS = 7;
const percent = (share) => `${Math.round(100 * share)} %`;
const round = (number) => Number(number.toFixed(2));

function svg(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// Ends of an axis: around all values, at least 0.2 apart, within 0 and 1.
function ends(values) {
  const low = Math.max(0, Math.min(...values) - 0.05),
    high = Math.min(1, Math.max(...values) + 0.05);
  const room = Math.max(0, 0.2 - (high - low)) / 2;
  return [Math.max(0, low - room), Math.min(1, high + room)];
}

// Each level has a colour and a shape.
function mark(level, x, y, attributes) {
  if (level === 1) return svg("circle", { ...attributes, cx: x, cy: y, r: RADIUS });
  const half = RADIUS * (level === 2 ? 0.9 : 1.2);
  const points =
    level === 2
      ? [
          [-1, -1],
          [1, -1],
          [1, 1],
          [-1, 1],
        ]
      : [
          [0, -1],
          [1, 0],
          [0, 1],
          [-1, 0],
        ];
  return svg("polygon", {
    ...attributes,
    points: points.map(([dx, dy]) => `${x + half * dx},${y + half * dy}`).join(" "),
  });
}

// Beside the point, on the side with room.
function worthLabel(worth, x, y) {
  const isRight = x < WIDTH - RIGHT - 40;
  const at = { x: x + (isRight ? 1 : -1) * (RADIUS + 4), y: y + 4, "text-anchor": isRight ? "start" : "end" };
  return svg("text", { ...at, class: "worth" }, percent(worth));
}

export default function mount({ element, trigger }) {
  const root = element.querySelector(".task-map");
  let value = {},
    chosen = "", // id of the task that is shown
    count = 6,
    level = "",
    measuresWorth = false,
    isOpen = false,
    showsDropped = false;

  const choose = (task) => {
    chosen = task.id;
    draw();
  };

  function point(task, x, y) {
    const on = task.id === chosen;
    return svg(
      "g",
      {
        class: `point level-${task.level}${on ? " on" : ""}`,
        role: "button",
        tabindex: 0,
        "aria-pressed": String(on),
        "aria-label": `${t("Level {level}", { level: task.level })}: ${task.words}`,
        onclick: () => choose(task),
        onkeydown: (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          choose(task);
        },
      },
      svg("title", {}, task.words),
      mark(task.level, x, y, {}),
      task.worth === null ? "" : worthLabel(task.worth, x, y),
    );
  }

  function map(tasks) {
    const [left, right] = ends(tasks.map((task) => task.difficulty));
    const [low, high] = ends(tasks.map((task) => task.novelty));
    const atX = (x) => LEFT + ((x - left) / (right - left)) * (WIDTH - LEFT - RIGHT);
    const atY = (y) => HEIGHT - BOTTOM - ((y - low) / (high - low)) * (HEIGHT - BOTTOM - TOP);
    const ticks = (from, to) => [0, 1, 2, 3, 4].map((number) => from + (number / 4) * (to - from));
    return svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": t("Map of tasks") },
      ...ticks(left, right).flatMap((x) => [
        svg("line", { x1: atX(x), x2: atX(x), y1: TOP, y2: HEIGHT - BOTTOM, class: "grid" }),
        svg("text", { x: atX(x), y: HEIGHT - BOTTOM + 14, "text-anchor": "middle" }, x.toFixed(2)),
      ]),
      ...ticks(low, high).flatMap((y) => [
        svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: atY(y), y2: atY(y), class: "grid" }),
        svg("text", { x: LEFT - 6, y: atY(y) + 4, "text-anchor": "end" }, y.toFixed(2)),
      ]),
      svg(
        "text",
        { x: (LEFT + WIDTH) / 2, y: HEIGHT - 6, "text-anchor": "middle", class: "axis" },
        t("Difficulty as measured"),
      ),
      svg(
        "text",
        { transform: `translate(10 ${(HEIGHT - BOTTOM) / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis" },
        t("Novelty"),
      ),
      ...tasks.map((task) => point(task, atX(task.difficulty), atY(task.novelty))),
    );
  }

  const fact = (name, text) => text && h("div.fact", {}, h("span.key", {}, name), h("span.text", {}, text));

  function details(task) {
    if (!task) return h("div.details.faint", {}, t("Choose a task on the map."));
    return h(
      "div.details",
      { "data-task": task.id },
      h("strong", {}, task.words),
      fact(t("Level"), `${task.level}: ${task.demands}`),
      fact(t("Goals"), task.goals.join("; ")),
      fact(t("Oracle"), t("{solved} of {layouts} new layouts", task)),
      fact(t("Difficulty"), String(round(task.difficulty))),
      fact(
        t("Learner"),
        task.worth === null
          ? task.worth_reason || t("Not measured")
          : t("{share} of {layouts} new layouts", { share: percent(task.worth), layouts: task.worth_layouts }),
      ),
      fact(t("Novelty"), `${round(task.novelty)}${task.nearest ? ` (${t("nearest")}: ${task.nearest})` : ""}`),
      fact(t("Brought"), task.brought.join(", ")),
      fact(t("Distractors"), task.distractors.join(", ")),
      h(
        "button.studio-button",
        {
          "data-sends": task.brings.length ? "task-map.bring" : null,
          onclick: () => {
            if (task.brings.length) trigger("bring", { id: task.id });
            fillField(value.fills, task.text);
          },
        },
        t("Use task"),
      ),
      task.brings.length > 0 && h("span.faint", {}, t("Adds to the twin: {names}", { names: task.brings.join(", ") })),
    );
  }

  function controls() {
    const { running } = value;
    if (running)
      return h(
        "div.controls",
        { role: "status" },
        h("span.track", {}, h("span.fill", { style: `width:${(100 * running.kept) / Math.max(running.wanted, 1)}%` })),
        h("span", {}, t("{kept} of {wanted} kept", running)),
        h("button.studio-button", { "data-sends": "task-map.stop", onclick: () => trigger("stop", {}) }, t("Stop")),
        h("span.faint.message", { title: running.message }, running.message),
      );
    return h(
      "div.controls",
      {},
      h(
        "label",
        {},
        t("Tasks"),
        h("input", {
          type: "number",
          min: "1",
          max: "100",
          value: String(count),
          oninput: ({ target }) => {
            count = Number(target.value);
          },
        }),
      ),
      h(
        "label",
        {},
        t("Level"),
        h(
          "select",
          {
            onchange: ({ target }) => {
              level = target.value;
            },
          },
          [
            ["", t("By measured success")],
            ["1", t("1: one object")],
            ["2", t("2: two or three objects")],
            ["3", t("3: many objects or steps")],
          ].map(([key, title]) => h("option", { value: key, selected: key === level }, title)),
        ),
      ),
      value.can_learn &&
        h(
          "span",
          {
            title: t(
              "A learner imitates {n} demonstrations of each task, in about 15 s. Tasks of 20 to 80 % are kept.",
              value,
            ),
          },
          tickBox(t("Try with a learner"), measuresWorth, (checked) => {
            measuresWorth = checked;
          }),
        ),
      h(
        "button.studio-button",
        {
          "data-sends": "task-map.generate",
          disabled: !value.can_start,
          onclick: () => trigger("generate", { count, level: level ? Number(level) : null, worth: measuresWorth }),
        },
        value.tasks?.length ? t("Generate more") : t("Generate tasks"),
      ),
    );
  }

  function dropped() {
    const rows = value.dropped ?? [];
    if (!rows.length) return null;
    return h(
      "div.dropped",
      {},
      tickBox(t("{n} task was not kept|{n} tasks were not kept", { n: rows.length }), showsDropped, (checked) => {
        showsDropped = checked;
        draw();
      }),
      showsDropped &&
        h(
          "ul",
          {},
          rows.map((row) => h("li", {}, row.words, h("span.faint", {}, ` ${row.reason}`))),
        ),
    );
  }

  function draw() {
    const tasks = value.tasks ?? [];
    const task = tasks.find((one) => one.id === chosen);
    fill(
      root,
      h(
        "details",
        {
          open: isOpen || Boolean(value.running),
          ontoggle: ({ target }) => {
            isOpen = target.open;
          },
        },
        h(
          "summary",
          { onclick: ({ currentTarget }) => (isOpen = !currentTarget.parentElement.open) }, // an update may come before "toggle"
          h("h3", {}, t("Many tasks")),
          h("span.faint", {}, value.summary || t("Generated, measured and kept if they are worth having")),
        ),
        controls(),
        tasks.length > 0 && [
          h(
            "div.legend",
            {},
            [1, 2, 3].map((one) =>
              h(
                "span",
                {},
                svg("svg", { viewBox: "-9 -9 18 18", class: `glyph level-${one}` }, mark(one, 0, 0, {})),
                t("Level {level}", { level: one }),
              ),
            ),
          ),
          tasks.some((one) => one.worth !== null) &&
            h("div.faint", {}, t("Percentages: a learner's success on new layouts after {n} demonstrations", value)),
          h("div.map", {}, map(tasks), details(task)),
        ],
        dropped(),
      ),
    );
  }

  return (next) => {
    value = next ?? {};
    if (value.tasks?.length && !value.tasks.some((task) => task.id === chosen)) chosen = "";
    draw();
  };
}
