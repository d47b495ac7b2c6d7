import { fill, h, plural } from "/static/studio/dom.js";
import { diff } from "/static/studio/diff.js";
import { openCalls } from "/static/studio/drawer.js";
import { noticed } from "/static/round_timeline/noticed.js";
import { matrix, named } from "/static/round_timeline/matrix.js";

const END = 1e6; // seconds: wherever the recording ends
const ROUTES = { fix_simulation: "repair the simulation", fix_checks: "repair the checks", done: "done", give_up: "give up", ask: "asks you" };

export default function mount({ element, trigger }) {
  const root = element.querySelector(".round-timeline");
  let rounds = [], chosen = null, followed = true, value = {}, table = false;

  const choose = (number) => { chosen = number; followed = number === rounds.at(-1)?.number; draw(); };
  const play = (number, check) => trigger("play", check ? { number, instant: check.instant ?? END } : { number });
  const tone = (round) => (round.clean ? "good" : round.crash || round.violation || round.timed_out ? "bad" : "warn");
  const outcome = (round) => round.violation ? "✕ refused" : round.crash ? "✕ crashed" : round.timed_out ? "✕ timed out" : `${round.clean ? "✓" : "!"} ${round.passed} of ${plural(round.checks.length, "check")}`;
  const reward = (round) => (round.reward.length ? round.reward.reduce((sum, one) => sum + one, 0) / round.reward.length : null);
  const counts = (round) => round.number === value.best;

  const stop = (round) => h(`button.stop.${tone(round)}${round.number === chosen ? ".on" : ""}`, { "aria-current": String(round.number === chosen), "data-round": round.number, title: round.reason, onclick: () => choose(round.number) },
    h("b", {}, `Round ${round.number}`, counts(round) && h("span.star", { title: value.pinned ? "Pinned: this round counts" : "This round counts" }, value.pinned ? " ★" : " ☆")),
    h("span", {}, outcome(round)),
    h("span.next", {}, [reward(round) === null ? null : `reward ${reward(round).toFixed(2)}`, round.clean ? null : ROUTES[round.route] && `→ ${ROUTES[round.route]}`].filter(Boolean).join("  ")));
  const lane = (numbers, index) => {
    const known = numbers.map((number) => rounds.find((one) => one.number === number)).filter(Boolean);
    const from = known[0]?.parent;
    return h("div.lane", {},
      value.lanes.length > 1 && h("span.branch", {}, from === null || from === undefined ? (index ? "New start" : "First") : `↳ from ${from}`),
      h("div.strip", {}, known.map(stop), value.running && index === value.lanes.length - 1 && h("div.stop.running", {}, h("i.spin"), "working")));
  };
  const strip = () => rounds.length ? value.lanes.map(lane) : value.running ? h("div.strip", {}, h("div.stop.running", {}, h("i.spin"), "writing the simulation and its checks")) : null;

  const others = (round) => rounds.filter((one) => one.number !== round.number);
  const tools = (round) => h("div.tools", {},
    value.playing === round.number && !value.arranging
      ? h("button.studio-button.on", { onclick: () => trigger("leave", {}) }, value.rolling ? "Running it again …" : "■ Close the replay")
      : h("button.studio-button", { title: "Run this round's simulation again and watch it", onclick: () => play(round.number) }, "▶ Watch"),
    others(round).length > 0 && h("select.studio-button.compare", { "aria-label": "Compare with another round", onchange: (event) => trigger("compare", { a: Number(event.target.value), b: round.number }) },
      h("option", { value: "", disabled: true, selected: true }, "Compare with …"), others(round).map((one) => h("option", { value: String(one.number) }, `Round ${one.number}`))),
    counts(round) && value.pinned
      ? h("button.studio-button.on", { title: "Let the last round that passed count again", onclick: () => trigger("pin", { number: null }) }, "★ Pinned")
      : h("button.studio-button", { title: "Let this round count, whichever passed last, and solve its seeds", disabled: value.running, onclick: () => trigger("pin", { number: round.number }) }, "☆ Pin"),
    h("button.studio-button", { title: "Drag the objects to where they shall end, and go on from there as a new branch", disabled: value.running || value.arranging, onclick: () => trigger("arrange", { number: round.number }) }, "Lay out the goal"),
    h("button.studio-button", { title: "What the model was asked and answered in this round", onclick: () => openCalls({ about: `round ${round.number}` }) }, "Model calls"),
    h("button.studio-button.edit", { title: "Change the task, the simulation or the checks, and go on as a new branch", onclick: () => trigger("edit", { number: round.number }) }, "Edit and branch"));
  const detail = (round) => h("div.detail.panel", {},
    h("div.top", {}, h("strong", {}, `Round ${round.number}`), h(`span.tag.${tone(round)}`, {}, outcome(round)),
      round.parent !== null && h("span.faint", {}, `from round ${round.parent}`),
      round.reward.length ? h("span.faint", {}, `reward ${round.reward.map((one) => one.toFixed(2)).join(", ")}`) : null,
      h("span.faint", {}, `${round.seconds.toFixed(1)} s`), tools(round)),
    round.task && h("p.task", {}, h("b", {}, "Task: "), round.task),
    [["refused", round.violation], ["crashed", round.crash]].map(([what, text]) => text && h("p.fault", {}, h("b", {}, `${what}: `), text)),
    h("div.checks", {}, round.checks.map((check) => h(`div.check${check.passed ? "" : ".failed"}`, {},
      h("span.sign", {}, check.passed ? "✓" : "✕"), h("span.check-name", {}, named(check.name)),
      !check.passed && h("span.message", {}, check.message, check.line ? h("span.faint", {}, ` checks.py, line ${check.line}`) : null, " ",
        h("button.studio-button.plain", { title: "Watch the round at this instant", onclick: () => play(round.number, check) }, check.instant === null ? "▶ show the end" : `▶ show at ${check.instant.toFixed(1)} s`))))),
    h(`p.route${round.route === "ask" ? ".asks" : ""}`, {}, h("b", {}, `Router: ${ROUTES[round.route] ?? (round.route || "no decision")}${round.confidence < 1 && !round.clean ? ` (${Math.round(100 * round.confidence)} % sure)` : ""}. `), round.reason),
    noticed(round),
    Object.entries(round.changes).map(([file, rows], index) => h("details", { open: true }, h("summary", {}, `What changed in ${file} since round ${round.parent}${!index && round.change ? `: ${round.change}` : ""}`), diff(rows))),
    !Object.keys(round.changes).length && h("details", {}, h("summary", {}, "The code"), Object.entries(round.code).map(([file, text]) => [h("div.file", {}, file), h("pre", {}, text)])));

  const comparison = ({ a, b, changes, reasons }) => h("div.detail.panel.comparison", {},
    h("div.top", {}, h("strong", {}, `Round ${a} beside round ${b}`), h("button.studio-button.edit", { onclick: () => trigger("compare", { a: null, b: null }) }, "Close")),
    reasons.map((text) => h("p.route", {}, text)),
    Object.keys(changes).length ? Object.entries(changes).map(([file, rows]) => h("details", { open: true }, h("summary", {}, file), diff(rows))) : h("p.route", {}, "They have the same code."));

  const draw = () => {
    const round = rounds.find((one) => one.number === chosen);
    const pages = rounds.length > 1 && h("div.pages", { role: "group", "aria-label": "Show" },
      [[false, "Round"], [true, "Checks by round"]].map(([kind, title]) => h(`button.page${table === kind ? ".on" : ""}`, { "aria-pressed": String(table === kind), onclick: () => { table = kind; draw(); } }, title)));
    const arranging = value.arranging && h("div.arranging.panel", { role: "status" },
      h("span", {}, value.rolling ? "Running the round again to show its end …" : "Drag the objects above to where they shall end. What you do not touch may end anywhere."),
      h("button.studio-button.primary", { disabled: value.rolling, onclick: () => trigger("aim", { number: value.playing }) }, "Make this the goal"),
      h("button.studio-button", { onclick: () => trigger("leave", {}) }, "Cancel"));
    fill(root, arranging, strip(), pages, value.comparing ? comparison(value.comparing) : null,
      rounds.length > 1 && table ? matrix(rounds, { chosen, choose, play }) : round && detail(round));
  };
  return (next) => {
    value = next ?? {};
    rounds = value.rounds ?? [];
    value.lanes ??= [];
    if (followed || !rounds.some((one) => one.number === chosen)) chosen = rounds.at(-1)?.number ?? null;
    draw();
  };
}
