import { capitalised, fill, h, plural } from "/static/studio/dom.js";
import { diff } from "/static/studio/diff.js";
import { openCalls } from "/static/studio/drawer.js";
import { mutationTable } from "/static/round_timeline/mutation_table.js";
import { checkCode, measuring } from "/static/round_timeline/check_code.js";
import { failureCauses } from "/static/round_timeline/failure_causes.js";
import { comparison, comparisonChoice } from "/static/round_timeline/comparison.js";
import { judgingPanel, playbackSwitch, wantsPlayback } from "/static/round_timeline/judging.js";
import { checkMatrix, checkTitle } from "/static/round_timeline/check_matrix.js";

const END_TIME_S = 1e6; // later than any recording
const ROUTES = {
  fix_simulation: "repair the simulation",
  fix_checks: "repair the checks",
  done: "done",
  give_up: "stopped",
  ask: "ask you",
};

export default function mount({ element, trigger }) {
  const root = element.querySelector(".round-timeline");
  let rounds = [],
    chosen = null,
    followsLatest = true,
    value = {},
    showMatrix = false,
    inSight = "",
    agreed = false; // with the server, on whether rounds are played

  const play = (number, check) =>
    trigger("play", check ? { number, instant: check.instant ?? END_TIME_S } : { number });
  // While a replay is open it shows the chosen round, at the moment that matters.
  const choose = (number) => {
    chosen = number;
    followsLatest = number === rounds.at(-1)?.number;
    draw();
    const shown = value.replayed_round;
    if (shown === null || shown === number || value.arranging || value.comparing) return;
    const round = rounds.find((other) => other.number === number);
    play(number, round?.checks.find((check) => !check.passed) ?? { instant: null });
  };
  const tone = (round) => (round.clean ? "good" : round.crash || round.violation || round.timed_out ? "bad" : "warn");
  const outcome = (round) =>
    round.violation
      ? "✕ Refused"
      : round.crash
        ? "✕ Crashed"
        : round.timed_out
          ? "✕ Timed out"
          : `${round.clean ? "✓" : "!"} ${round.passed} of ${plural(round.checks.length, "check")}`;
  const confidenceText = (round) =>
    round.confidence < 1 && !round.clean ? ` (${Math.round(100 * round.confidence)} % confidence)` : "";
  const reward = (round) =>
    round.reward.length ? round.reward.reduce((sum, other) => sum + other, 0) / round.reward.length : null;
  const isBest = (round) => round.number === value.best;

  const roundButton = (round) =>
    h(
      `button.round.${tone(round)}${round.number === chosen ? ".on" : ""}`,
      {
        "aria-current": String(round.number === chosen),
        "data-round": round.number,
        title: round.reason,
        onclick: () => choose(round.number),
      },
      h(
        "b",
        {},
        `Round ${round.number}`,
        isBest(round) &&
          h("span.star", { title: value.pinned ? "Pinned as result" : "Result" }, value.pinned ? " ★" : " ☆"),
        reward(round) !== null && h("span.next", {}, ` reward ${reward(round).toFixed(2)}`),
      ),
      h(
        "span",
        {},
        outcome(round),
        !round.clean && ROUTES[round.route] && h("span.next", {}, ` → ${ROUTES[round.route]}`),
      ),
    );
  const branch = (numbers, index) => {
    const branchRounds = numbers.map((number) => rounds.find((other) => other.number === number)).filter(Boolean);
    const parent = branchRounds[0]?.parent;
    return h(
      "div.branch-row",
      {},
      value.lanes.length > 1 &&
        h(
          "span.branch",
          {},
          parent === null || parent === undefined ? (index ? "New task" : "First") : `↳ from ${parent}`,
        ),
      h(
        "div.rounds",
        {},
        branchRounds.map(roundButton),
        value.running &&
          index === value.lanes.length - 1 &&
          h(
            "div.round.running",
            {},
            h("i.spin"),
            value.judging ? `Judging round ${value.judging.number} …` : "Working …",
          ),
      ),
    );
  };
  const branches = () =>
    rounds.length
      ? value.lanes.map(branch)
      : value.running
        ? h(
            "div.rounds",
            {},
            h(
              "div.round.running",
              {},
              h("i.spin"),
              value.judging ? "Judging round 0 …" : "Writing the simulation and its checks …",
            ),
          )
        : null;

  const others = (round) => rounds.filter((other) => other.number !== round.number);
  const tools = (round) =>
    h(
      "div.tools",
      {},
      value.replayed_round === round.number && !value.arranging
        ? h(
            "button.studio-button.on",
            { onclick: () => trigger("close_replay", {}) },
            value.replaying ? "Replaying …" : "■ Close replay",
          )
        : h(
            "button.studio-button",
            { title: "Replay this round's simulation", onclick: () => play(round.number) },
            "▶ Replay",
          ),
      comparisonChoice(round, others(round), (wanted) => trigger("compare", wanted)),
      isBest(round) && value.pinned
        ? h(
            "button.studio-button.on",
            { title: "Unpin: use the last round that passed", onclick: () => trigger("pin", { number: null }) },
            "★ Pinned",
          )
        : h(
            "button.studio-button",
            {
              title: "Use this round as the result and solve its seeds",
              disabled: value.running,
              onclick: () => trigger("pin", { number: round.number }),
            },
            "☆ Pin",
          ),
      h(
        "button.studio-button",
        {
          title: "Arrange the objects as they should end, then continue as a new branch",
          disabled: value.running || value.arranging,
          onclick: () => trigger("arrange_goal", { number: round.number }),
        },
        "Set goal layout",
      ),
      h(
        "button.studio-button",
        {
          title: "Show this round's model calls",
          onclick: () => openCalls({ about: `round ${round.number}` }),
        },
        "Model calls",
      ),
      h(
        "button.studio-button.edit",
        {
          title: "Edit the task, simulation or checks and continue as a new branch",
          onclick: () => trigger("edit", { number: round.number }),
        },
        "Edit and branch",
      ),
    );
  const detail = (round) =>
    h(
      "div.detail.panel",
      {},
      h(
        "div.top",
        {},
        h("strong", {}, `Round ${round.number}`),
        h(`span.tag.${tone(round)}`, {}, outcome(round)),
        round.parent !== null && h("span.faint", {}, `from round ${round.parent}`),
        round.reward.length
          ? h("span.faint", {}, `reward ${round.reward.map((other) => other.toFixed(2)).join(", ")}`)
          : null,
        h("span.faint", {}, `${round.seconds.toFixed(1)} s`),
        tools(round),
      ),
      round.task && h("p.task", {}, h("b", {}, "Task: "), round.task),
      [
        ["Refused", round.violation],
        ["Crashed", round.crash],
      ].map(([title, text]) => text && h("p.fault", {}, h("b", {}, `${title}: `), text)),
      failureCauses(round, { play, tryRemedy: (remedy) => trigger("remedy", remedy), busy: value.running }),
      h(
        "div.checks",
        {},
        round.checks.map((check) =>
          h(
            `div.check${check.passed ? "" : ".failed"}`,
            measuring(check.name),
            h("span.sign", {}, check.passed ? "✓" : "✕"),
            h("span.check-name", {}, checkTitle(check.name)),
            !check.passed &&
              h(
                "span.message",
                {},
                check.message,
                check.line ? h("span.faint", {}, ` checks.py, line ${check.line}`) : null,
                " ",
                h(
                  "button.studio-button.plain",
                  { title: "Replay the round at this time", onclick: () => play(round.number, check) },
                  check.instant === null ? "▶ Replay end" : `▶ Replay at ${check.instant.toFixed(1)} s`,
                ),
              ),
          ),
        ),
      ),
      h(
        `p.route${round.route === "ask" ? ".warning" : ""}`,
        {},
        h("b", {}, `Router: ${ROUTES[round.route] ?? (round.route || "no decision")}${confidenceText(round)}. `),
        capitalised(round.reason),
      ),
      mutationTable(round),
      Object.entries(round.changes).map(([file, rows], index) =>
        h(
          "details",
          { open: true },
          h(
            "summary",
            {},
            `Changes in ${file} since round ${round.parent}${!index && round.change ? `: ${round.change}` : ""}`,
          ),
          diff(rows),
        ),
      ),
      h(
        "details.code",
        {},
        h("summary", {}, "Code"),
        h("div.file", {}, "simulation.py"),
        h("pre", {}, round.code["simulation.py"]),
        h("div.file", {}, "checks.py: click a line to see its moment"),
        checkCode(round, play),
      ),
    );

  // Long lists of rounds scroll by themselves; what is chosen or runs stays in sight.
  const keepInSight = (scrolled) => {
    const lanes = root.querySelector(".lanes");
    if (!lanes) return;
    lanes.scrollTop = scrolled;
    const target = (followsLatest && lanes.querySelector(".running")) || lanes.querySelector(".on");
    const key = `${target?.className} ${target?.dataset.round} ${rounds.length}`;
    if (key !== inSight && target) lanes.scrollTop = target.offsetTop + target.offsetHeight - lanes.clientHeight;
    inSight = key;
  };

  const draw = () => {
    const scrolled = root.querySelector(".lanes")?.scrollTop ?? 0;
    const round = rounds.find((other) => other.number === chosen);
    const tabs =
      rounds.length > 1 &&
      h(
        "div.tabs",
        { role: "group", "aria-label": "Show" },
        [
          [false, "Round"],
          [true, "Checks by round"],
        ].map(([kind, title]) =>
          h(
            `button${showMatrix === kind ? ".on" : ""}`,
            {
              "aria-pressed": String(showMatrix === kind),
              onclick: () => {
                showMatrix = kind;
                draw();
              },
            },
            title,
          ),
        ),
      );
    const goalPanel =
      value.arranging &&
      h(
        "div.goal-layout.panel",
        { role: "status" },
        h(
          "span",
          {},
          value.replaying
            ? "Replaying the round to its end …"
            : "Drag objects to their goal positions. Objects you do not move are free.",
        ),
        h(
          "button.studio-button.primary",
          { disabled: value.replaying, onclick: () => trigger("use_as_goal", { number: value.replayed_round }) },
          "Use as goal",
        ),
        h("button.studio-button", { onclick: () => trigger("close_replay", {}) }, "Cancel"),
      );
    fill(
      root,
      goalPanel,
      (rounds.length > 0 || value.running) &&
        h(
          "div.head",
          {},
          h("div.lanes", {}, branches()),
          playbackSwitch(value.plays, (on) => trigger("autoplay", { on })),
        ),
      tabs,
      value.judging && judgingPanel(value.judging),
      value.comparing ? comparison(value.comparing, () => trigger("compare", { a: null })) : null,
      rounds.length > 1 && showMatrix ? checkMatrix(rounds, { chosen, choose, play }) : round && detail(round),
    );
    keepInSight(scrolled);
  };
  return (next) => {
    if (next?.running && !value.running) followsLatest = true;
    value = next ?? {};
    rounds = value.rounds ?? [];
    value.lanes ??= [];
    if (!agreed && value.plays !== undefined) {
      agreed = true;
      if (value.plays !== wantsPlayback()) trigger("autoplay", { on: wantsPlayback() });
    }
    if (followsLatest || !rounds.some((other) => other.number === chosen)) chosen = rounds.at(-1)?.number ?? null;
    draw();
  };
}
