// The robots over the user's own table: a picture of each, how far it reaches, and what it cannot pick up.
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const MARGIN = 0.08;

function svg(name, attributes, ...children) {
  const [tag, kind] = name.split(".");
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  if (kind) element.setAttribute("class", kind);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.flat(Infinity));
  return element;
}

export class RobotReach {
  // `ask` sends requests about the project that is shown.
  constructor(ask) {
    this.ask = ask;
    this.element = h("div.reaches");
    this.found = new Map();
    this.isOpen = false;
  }

  // There is something to reach once there is a twin.
  show(token, robots, hasTwin) {
    this.element.hidden = !hasTwin;
    if (token !== this.token) {
      this.token = token;
      this.found.clear();
      this.isOpen = false;
    }
    this.robots = robots;
    this.draw();
  }

  async open() {
    const { token } = this;
    this.isOpen = true;
    this.draw();
    for (const robot of [...this.robots].sort((a, b) => b.chosen - a.chosen)) {
      if (this.found.has(robot.name)) continue;
      const answer = await this.ask({ kind: "reach", robot: robot.name });
      if (token !== this.token) return;
      this.found.set(robot.name, answer);
      this.draw();
    }
  }

  draw() {
    fill(
      this.element,
      this.isOpen
        ? this.robots.map((robot) => card(robot, this.found.get(robot.name)))
        : h("button.studio-button.show-reach", { onclick: () => this.open() }, t("Show reach")),
    );
  }
}

function card(robot, about) {
  const body = !about
    ? h("p.faint", {}, t("Measuring …"))
    : about.error
      ? h("p.bad", { role: "alert" }, about.error)
      : [
          about.picture && h("img", { src: about.picture, alt: robot.title, loading: "lazy" }),
          map(robot, about),
          words(about),
        ];
  return h("div.reach", {}, h("strong", {}, robot.title), h("span.faint", {}, robot.note), body);
}

function words({ objects, bases, facts }) {
  const refused = objects.filter((one) => one.why);
  const n = objects.length - refused.length;
  return [
    h("p", {}, t("Picks up {n} of {all} objects", { n, all: objects.length })),
    refused.length
      ? h(
          "ul.failed",
          {},
          refused.map((one) => h("li", {}, h("strong", {}, `${one.words}: `), one.why)),
        )
      : null,
    bases.length ? null : h("p.faint", {}, t("Reaches the whole table")),
    h("p.faint", {}, facts.join(" · ")),
  ];
}

// A map of the table as the camera sees it: away from it is up.
function map(robot, { table, bases, rings, objects }) {
  const all = [...table, ...bases];
  const x = all.map((point) => point[0]),
    y = all.map((point) => -point[1]);
  const [left, top] = [Math.min(...x) - MARGIN, Math.min(...y) - MARGIN];
  const [width, height] = [Math.max(...x) + MARGIN - left, Math.max(...y) + MARGIN - top];
  const outline = (points) => points.map(([right, away]) => `${right},${-away}`).join(" ");
  return svg(
    "svg.reach-map",
    {
      viewBox: `${left} ${top} ${width} ${height}`,
      role: "img",
      "aria-label": t("Reach of {name}", { name: robot.title }),
    },
    svg("polygon.table", { points: outline(table) }),
    bases.map(([right, away], i) => {
      const [near, far] = rings[i];
      const middle = { cx: right, cy: -away };
      return [
        svg("circle.ring", { ...middle, r: (near + far) / 2, "stroke-width": far - near }),
        svg("circle.base", { ...middle, r: 0.05 }),
      ];
    }),
    objects.map((one) =>
      svg(`polygon.${one.why ? "refused" : "picked"}`, { points: outline(one.outline) }, svg("title", {}, one.words)),
    ),
  );
}
