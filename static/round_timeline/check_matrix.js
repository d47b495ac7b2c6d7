import { h } from "/static/studio/dom.js";
import { mutationCheckTitle } from "/static/round_timeline/mutation_table.js";
import { t } from "/static/studio/texts.js";

const ROUTER_CHECKS = {
  task: t("Goals match the task"),
  objects: t("Goals name every object of the task"),
  start: t("Goals are not met at the start"),
  goals: t("Tolerances are strict enough"),
  table: t("Zones lie on the table"),
  reward: t("Oracle reaches every goal"),
  photograph: t("As hard as photographed"),
  layouts: t("Oracle solves other layouts"),
};

// Title of a check {name, title}. Checks of the router begin with "meaning ": whether the program fits its task, and
// whether its checks catch mutations of the solution.
export function checkTitle({ name, title }) {
  const kind = name.replace(/^meaning /, "");
  return kind === name ? title : (ROUTER_CHECKS[kind] ?? mutationCheckTitle(kind));
}

// Table of checks by round for the rounds of one task. A failed check plays its round at the moment of failure.
export function checkMatrix(rounds, { chosen, choose, play }) {
  const task = rounds.find((round) => round.number === chosen)?.task;
  const shown = rounds.filter((round) => round.task === task);
  const checks = new Map(shown.flatMap((round) => round.checks.map((check) => [check.name, check])));
  const cell = (round, name) => {
    const check = round.checks.find((other) => other.name === name);
    if (!check) return h("td.missing", { title: t("Not in this round") }, "·");
    return check.passed
      ? h("td.passed", { title: t("Passed") }, "✓")
      : h(
          "td.failed",
          {},
          h(
            "button",
            {
              title: t("{message} Click to replay.", { message: check.message }),
              "aria-label": t("{name} failed in round {number}: replay", {
                name: checkTitle(check),
                number: round.number,
              }),
              onclick: () => {
                choose(round.number);
                play(round.number, check);
              },
            },
            "✕",
          ),
        );
  };
  const heads = shown.map((round) =>
    h(
      `th${round.number === chosen ? ".on" : ""}`,
      { scope: "col" },
      h("button", { onclick: () => choose(round.number) }, t("Round {number}", { number: round.number })),
    ),
  );
  const rewards = shown.map((round) =>
    h(
      "td",
      {},
      round.reward.length
        ? (round.reward.reduce((sum, other) => sum + other, 0) / round.reward.length).toFixed(2)
        : "–",
    ),
  );
  return h(
    "div.matrix.panel",
    {},
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("Check")), heads)),
      h(
        "tbody",
        {},
        [...checks].map(([name, check]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, checkTitle(check)),
            shown.map((round) => cell(round, name)),
          ),
        ),
        h("tr.reward", {}, h("th", { scope: "row" }, t("Reward")), rewards),
      ),
    ),
  );
}
