import { h } from "/static/studio/dom.js";
import { notices } from "/static/round_timeline/noticed.js";

const MEANT = { task: "the goals are the task's", objects: "the goals name every object of the task", start: "something is left to do at the start", goals: "the goals are strict enough", table: "every zone lies on the table", reward: "the robot reaches every goal", layouts: "the robot manages other layouts too" };

// A check's name for a person; the router's own look whether the program means its task, and whether its checks notice mistakes.
export function named(name) {
  const kind = name.replace(/^meaning /, "");
  return kind === name ? name.replace(/^check_/, "").replaceAll("_", " ") : MEANT[kind] ?? notices(kind);
}

// Which check passed in which round: the rounds of one task beside one another, a failed check to be watched at a click.
export function matrix(rounds, { chosen, choose, play }) {
  const task = rounds.find((round) => round.number === chosen)?.task;
  const shown = rounds.filter((round) => round.task === task);
  const names = [...new Set(shown.flatMap((round) => round.checks.map((check) => check.name)))];
  const cell = (round, name) => {
    const check = round.checks.find((one) => one.name === name);
    if (!check) return h("td.gone", { title: "not in this round" }, "·");
    return check.passed ? h("td.passed", { title: "passed" }, "✓")
      : h("td.failed", {}, h("button", { title: `${check.message} Click to watch.`, "aria-label": `${name} failed in round ${round.number}: watch it`, onclick: () => { choose(round.number); play(round.number, check); } }, "✕"));
  };
  const heads = shown.map((round) => h(`th${round.number === chosen ? ".on" : ""}`, { scope: "col" }, h("button", { onclick: () => choose(round.number) }, `Round ${round.number}`)));
  const rewards = shown.map((round) => h("td", {}, round.reward.length ? (round.reward.reduce((sum, one) => sum + one, 0) / round.reward.length).toFixed(2) : "–"));
  return h("div.matrix.panel", {}, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Check"), heads)),
    h("tbody", {}, names.map((name) => h("tr", {}, h("th", { scope: "row" }, named(name)), shown.map((round) => cell(round, name)))),
      h("tr.reward", {}, h("th", { scope: "row" }, "reward"), rewards))));
}
