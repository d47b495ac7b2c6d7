import { fill, h, plural } from "/static/studio/dom.js";
import { diff } from "/static/studio/diff.js";

const END = 1e6; // seconds: wherever the recording ends
const ROUTES = { fix_simulation: "repair the simulation", fix_checks: "repair the checks", done: "done", give_up: "give up" };

export default function mount({ element, trigger }) {
  const root = element.querySelector(".round-timeline");
  let rounds = [], chosen = null, followed = true, value = {};

  const tone = (round) => (round.clean ? "good" : round.crash || round.violation || round.timed_out ? "bad" : "warn");
  const outcome = (round) => round.clean ? "✓ passed" : round.violation ? "✕ refused" : round.crash ? "✕ crashed" : round.timed_out ? "✕ timed out" : `! ${plural(round.checks.filter((check) => !check.passed).length, "check")} failed`;
  const detail = (round) => h("div.detail.panel", {},
    h("div.top", {}, h("strong", {}, `Round ${round.number}`),
      h(`span.tag.${tone(round)}`, {}, outcome(round)),
      round.parent !== null && h("span.faint", {}, `from round ${round.parent}`),
      round.reward.length ? h("span.faint", {}, `reward ${round.reward.map((one) => one.toFixed(2)).join(", ")}`) : null,
      h("span.faint", {}, `${round.seconds.toFixed(1)} s`),
      value.playing === round.number
        ? h("button.studio-button.on", { onclick: () => trigger("leave", {}) }, value.rolling ? "Running it again …" : "■ Close the replay")
        : h("button.studio-button", { title: "Run this round's simulation again and watch it", onclick: () => trigger("play", { number: round.number }) }, "▶ Watch"),
      h("button.studio-button.edit", { onclick: () => trigger("edit", { number: round.number }) }, "Edit the code")),
    round.task && h("p.task", {}, h("b", {}, "Task: "), round.task),
    [["refused", round.violation], ["crashed", round.crash]].map(([what, text]) => text && h("p.fault", {}, h("b", {}, `${what}: `), text)),
    h("div.checks", {}, round.checks.map((check) => h(`div.check${check.passed ? "" : ".failed"}`, {},
      h("span.sign", {}, check.passed ? "✓" : "✕"), h("span.check-name", {}, check.name.replace(/^check_/, "").replaceAll("_", " ")),
      !check.passed && h("span.message", {}, check.message, check.line ? h("span.faint", {}, ` checks.py, line ${check.line}`) : null, " ",
        h("button.studio-button.plain", { title: "Watch the round at this instant", onclick: () => trigger("play", { number: round.number, instant: check.instant ?? END }) }, check.instant === null ? "▶ show the end" : `▶ show at ${check.instant.toFixed(1)} s`))))),
    h("p.route", {}, h("b", {}, `Router: ${ROUTES[round.route] ?? (round.route || "no decision")}. `), round.reason),
    Object.entries(round.changes).map(([file, rows]) => h("details", { open: true }, h("summary", {}, `What changed in ${file} since round ${round.parent}`), diff(rows))),
    !Object.keys(round.changes).length && h("details", {}, h("summary", {}, "The code"), Object.entries(round.code).map(([file, text]) => [h("div.file", {}, file), h("pre", {}, text)])));

  const draw = () => {
    const round = rounds.find((one) => one.number === chosen);
    fill(root, rounds.length ? h("div.strip", { role: "list" }, rounds.map((one) =>
      h(`button.stop.${tone(one)}${one.number === chosen ? ".on" : ""}`, { role: "listitem", "aria-current": String(one.number === chosen), onclick: () => { chosen = one.number; followed = one === rounds.at(-1); draw(); } },
        h("b", {}, `Round ${one.number}`), h("span", {}, outcome(one)), h("span.next", {}, one.clean ? "" : ROUTES[one.route] ?? ""))),
      value.running && h("div.stop.running", {}, h("i.spin"), "working")) : value.running ? h("div.strip", {}, h("div.stop.running", {}, h("i.spin"), "writing the simulation and its checks")) : null,
      round && detail(round));
  };
  return (next) => {
    value = next ?? {};
    rounds = value.rounds ?? [];
    if (followed || !rounds.some((one) => one.number === chosen)) chosen = rounds.at(-1)?.number ?? null;
    draw();
  };
}
