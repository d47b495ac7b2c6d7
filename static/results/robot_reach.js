// The robots over the user's own table: a picture of each, how far it reaches, and what it cannot pick up.
import { t } from "/static/studio/texts.js";
import { html, signal } from "/static/studio/view.js";

const MARGIN = 0.08;

export class RobotReach {
  isOpen = signal(false);
  found = signal(new Map()); // what is known of each robot, by its name
  token = "";

  // `ask` sends requests about the project that is shown.
  constructor(ask) {
    this.ask = ask;
  }

  // Forgets what was found for another project.
  show(token) {
    if (token === this.token) return;
    this.token = token;
    this.found.value = new Map();
    this.isOpen.value = false;
  }

  async open(robots) {
    const { token } = this;
    this.isOpen.value = true;
    for (const { name } of [...robots].sort((a, b) => b.chosen - a.chosen)) {
      if (this.found.value.has(name)) continue;
      const answer = await this.ask({ kind: "reach", robot: name });
      if (token !== this.token) return;
      this.found.value = new Map(this.found.value).set(name, answer);
    }
  }

  // There is something to reach once there is a twin.
  template(robots, hasTwin) {
    const open = () => this.open(robots);
    return html`<div class="reaches" hidden=${!hasTwin}>
      ${
        this.isOpen.value
          ? robots.map((robot) => card(robot, this.found.value.get(robot.name)))
          : html`<button class="studio-button show-reach" onclick=${open}>${t("Show reach")}</button>`
      }
    </div>`;
  }
}

const card = (robot, about) => html`<div class="reach">
  <strong>${robot.title}</strong><span class="faint">${robot.note}</span>${measured(robot, about)}
</div>`;

function measured(robot, about) {
  if (!about) return html`<p class="faint">${t("Measuring …")}</p>`;
  if (about.error) return html`<p class="bad" role="alert">${about.error}</p>`;
  return html`${about.picture && html`<img src=${about.picture} alt=${robot.title} loading="lazy" />`}
    ${map(robot, about)}${words(about)}`;
}

function words({ objects, bases, facts }) {
  const refused = objects.filter((one) => one.why),
    n = objects.length - refused.length;
  return html`<p>${t("Picks up {n} of {all} objects", { n, all: objects.length })}</p>
    ${
      refused.length > 0 &&
      html`<ul class="failed">
        ${refused.map((one) => html`<li><strong>${one.words}: </strong>${one.why}</li>`)}
      </ul>`
    }
    ${!bases.length && html`<p class="faint">${t("Reaches the whole table")}</p>`}
    <p class="faint">${facts.join(" · ")}</p>`;
}

// A map of the table as the camera sees it: away from it is up.
function map(robot, { table, bases, rings, objects }) {
  const all = [...table, ...bases],
    x = all.map((point) => point[0]),
    y = all.map((point) => -point[1]),
    [left, top] = [Math.min(...x) - MARGIN, Math.min(...y) - MARGIN],
    [width, height] = [Math.max(...x) + MARGIN - left, Math.max(...y) + MARGIN - top];
  const outline = (points) => points.map(([right, away]) => `${right},${-away}`).join(" ");
  const base = ([right, away], i) => {
    const [near, far] = rings[i];
    return html`<circle class="ring" cx=${right} cy=${-away} r=${(near + far) / 2} stroke-width=${far - near} />
      <circle class="base" cx=${right} cy=${-away} r="0.05" />`;
  };
  return html`<svg class="reach-map" viewBox="${left} ${top} ${width} ${height}" role="img"
    aria-label=${t("Reach of {name}", { name: robot.title })}>
    <polygon class="table" points=${outline(table)} />
    ${bases.map(base)}
    ${objects.map(
      (one) => html`<polygon class=${one.why ? "refused" : "picked"} points=${outline(one.outline)}>
        <title>${one.words}</title>
      </polygon>`,
    )}
  </svg>`;
}
