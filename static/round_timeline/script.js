import { capitalised, fill, h } from "/static/studio/dom.js";
import { diff } from "/static/studio/diff.js";
import { focusWhenShown } from "/static/studio/keep_focus.js";
import { openCalls } from "/static/studio/drawer.js";
import { mutationTable } from "/static/round_timeline/mutation_table.js";
import { checkCode, measuring } from "/static/round_timeline/check_code.js";
import { failureCauses } from "/static/round_timeline/failure_causes.js";
import { comparison, comparisonChoice } from "/static/round_timeline/comparison.js";
import { judgingPanel, playbackSwitch, wantsPlayback } from "/static/round_timeline/judging.js";
import { checkMatrix, checkTitle } from "/static/round_timeline/check_matrix.js";
import { t } from "/static/studio/texts.js";

const END_TIME_S = 1e6; // later than any recording
const ROUTES = {
  fix_simulation: t("repair the simulation"),
  fix_checks: t("repair the checks"),
  done: t("done"),
  give_up: t("stopped"),
  ask: t("ask you"),
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
      ? t("✕ Refused")
      : round.crash
        ? t("✕ Crashed")
        : round.timed_out
          ? t("✕ Timed out")
          : `${round.clean ? "✓" : "!"} ${t("{passed} of {n} check|{passed} of {n} checks", { passed: round.passed, n: round.checks.length })}`;
  const confidenceText = (round) =>
    round.confidence < 1 && !round.clean
      ? ` ${t("({confidence} % confidence)", { confidence: Math.round(100 * round.confidence) })}`
      : "";
  const reward = (round) =>
    round.reward.length ? round.reward.reduce((sum, other) => sum + other, 0) / round.reward.length : null;
  // A full reward alone would look like success.
  const rewardText = (round) =>
    !round.clean && reward(round) > 0.99
      ? t("goals met, not the checks")
      : t("reward {reward}", { reward: reward(round).toFixed(2) });
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
        t("Round {number}", { number: round.number }),
        isBest(round) &&
          h("span.star", { title: value.pinned ? t("Pinned as result") : t("Result") }, value.pinned ? " ★" : " ☆"),
        reward(round) !== null && h("span.next", {}, ` ${rewardText(round)}`),
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
          parent === null || parent === undefined
            ? index
              ? t("New task")
              : t("First")
            : t("↳ from {parent}", { parent }),
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
            value.judging ? t("Judging round {number} …", { number: value.judging.number }) : t("Working …"),
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
              value.judging
                ? t("Judging round {number} …", { number: 0 })
                : t("Writing the simulation and its checks …"),
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
            value.replaying ? t("Replaying …") : t("■ Close replay"),
          )
        : h(
            "button.studio-button",
            { title: t("Replay this round's simulation"), onclick: () => play(round.number) },
            t("▶ Replay"),
          ),
      comparisonChoice(round, others(round), (wanted) => trigger("compare", wanted)),
      isBest(round) && value.pinned
        ? h(
            "button.studio-button.on",
            {
              "data-sends": "round-timeline.pin",
              title: t("Unpin: use the last round that passed"),
              onclick: () => trigger("pin", { number: null }),
            },
            t("★ Pinned"),
          )
        : h(
            "button.studio-button",
            {
              title: t("Use this round as the result and solve its seeds"),
              disabled: value.running,
              "data-sends": "round-timeline.pin",
              onclick: () => trigger("pin", { number: round.number }),
            },
            t("☆ Pin"),
          ),
      h(
        "button.studio-button",
        {
          title: t("Arrange the objects as they should end, then continue as a new branch"),
          disabled: value.running || value.arranging,
          "data-sends": "round-timeline.arrange_goal",
          onclick: () => trigger("arrange_goal", { number: round.number }),
        },
        t("Set goal layout"),
      ),
      h(
        "button.studio-button",
        {
          title: t("Show this round's model calls"),
          onclick: () => openCalls({ about: `round ${round.number}` }),
        },
        t("Model calls"),
      ),
      h(
        "button.studio-button.edit",
        {
          title: t("Edit the task, simulation or checks and continue as a new branch"),
          onclick: () => {
            trigger("edit", { number: round.number });
            focusWhenShown("#edited-task :is(input, textarea)");
          },
        },
        t("Edit and branch"),
      ),
    );
  const detail = (round) =>
    h(
      "div.detail.panel",
      {},
      h(
        "div.top",
        {},
        h("strong", {}, t("Round {number}", { number: round.number })),
        h(`span.tag.${tone(round)}`, {}, outcome(round)),
        round.parent !== null && h("span.faint", {}, t("from round {parent}", { parent: round.parent })),
        round.reward.length
          ? h(
              "span.faint",
              {},
              t("reward {rewards}", { rewards: round.reward.map((other) => other.toFixed(2)).join(", ") }),
            )
          : null,
        h("span.faint", {}, `${round.seconds.toFixed(1)} s`),
        tools(round),
      ),
      round.task && h("p.task", {}, h("b", {}, `${t("Task:")} `), round.task),
      round.changed.length > 0 &&
        h("p.changed", {}, h("b", {}, `${t("Changed from the photograph")}: `), `${round.changed.join("; ")}.`),
      [
        [t("Refused"), round.violation],
        [t("Crashed"), round.crash],
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
            h("span.check-name", {}, checkTitle(check)),
            !check.passed &&
              h(
                "span.message",
                {},
                check.message,
                check.line ? h("span.faint", {}, ` ${t("checks.py, line {line}", { line: check.line })}`) : null,
                " ",
                h(
                  "button.studio-button.plain",
                  { title: t("Replay the round at this time"), onclick: () => play(round.number, check) },
                  check.instant === null
                    ? t("▶ Replay end")
                    : t("▶ Replay at {instant} s", { instant: check.instant.toFixed(1) }),
                ),
              ),
          ),
        ),
      ),
      h(
        `p.route${round.route === "ask" ? ".warning" : ""}`,
        {},
        h(
          "b",
          {},
          `${t("Router: {route}{confidence_text}.", { route: ROUTES[round.route] ?? (round.route || t("no decision")), confidence_text: confidenceText(round) })} `,
        ),
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
            t("Changes in {file} since round {parent}{change}", {
              file,
              parent: round.parent,
              change: !index && round.change ? `: ${round.change}` : "",
            }),
          ),
          diff(rows),
        ),
      ),
      h(
        "details.code",
        {},
        h("summary", {}, t("Code")),
        h("div.file", {}, "simulation.py"),
        h("pre", {}, round.code["simulation.py"]),
        h("div.file", {}, t("checks.py: click a line to see its moment")),
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
        { role: "group", "aria-label": t("Show") },
        [
          [false, t("Round")],
          [true, t("Checks by round")],
        ].map(([kind, title]) =>
          h(
            `button${showMatrix === kind ? ".on" : ""}`,
            {
              "aria-pressed": String(showMatrix === kind),
              onclick: () => {
                showMatrix = kind;
                draw();
                if (kind !== Boolean(value.charts)) trigger("chart", { on: kind });
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
            ? t("Replaying the round to its end …")
            : t(
                "Drag objects to their goal positions, or select one and press arrow keys. Objects you do not move are free.",
              ),
        ),
        h(
          "button.studio-button.primary",
          {
            disabled: value.replaying,
            "data-sends": "round-timeline.use_as_goal",
            onclick: () => trigger("use_as_goal", { number: value.replayed_round }),
          },
          t("Use as goal"),
        ),
        h("button.studio-button", { onclick: () => trigger("close_replay", {}) }, t("Cancel")),
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
