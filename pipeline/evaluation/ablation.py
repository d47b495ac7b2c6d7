"""Ablation of the router: the same tasks without repairs, with repairs of the simulation only, and with the router.

As in GRS (section 5), the score is the mean reward of the oracle on the last program of each task. The paper leaves out
runs that crashed. Here both scores are given, with crashed runs left out and with crashed runs counted as 0.
"""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import StudioError
from pipeline.evaluation.chart import bar_chart
from pipeline.models import Model, ModelError
from pipeline.router import Mode, ProgramRunner, Round, RouteOptions, RouteStart, route, write_program
from pipeline.simulation import Program, kit
from pipeline.simulation.sandbox.sandbox import Limits
from pipeline.tasks import Task, propose

ROUTER_MODES: tuple[Mode, ...] = ("none", "repair", "route")
PAPER_REWARDS = {"none": 0.49, "repair": 0.65, "route": 0.71}
"""Rewards of GRS with GPT-4o and the image, crashed runs left out."""


class AblationError(StudioError):
    """There is no scene to run the ablation on."""


@dataclass(frozen=True)
class AblationTrial:
    """Result of one task of one scene in one mode."""

    scene: str
    task: str
    kind: str
    mode: str
    reward: float
    """Mean over the layouts of the last round with a rollout; 0 if there is none."""
    crashed: bool
    """Whether the last round crashed, timed out or was refused, or the model gave no answer."""
    done: bool
    """Whether a program passed every check and fits its task."""
    of_simulation: int
    """Number of repairs of the simulation."""
    of_checks: int
    """Number of repairs of the checks."""
    seconds: float
    why: str
    """Why the last round ended as it did."""


def ablate(
    scenes: Sequence[Path],
    model: Model,
    sandbox: ProgramRunner,
    modes: Sequence[Mode] = ROUTER_MODES,
    count: int = 8,
    max_rounds: int = 8,
    limits: Limits | None = None,
) -> Iterator[AblationTrial]:
    """Run up to `count` proposed tasks of each project folder in every mode, all modes from the same first program.

    Raises SandboxError, and AblationError without a scene. A failure of the model is a crashed trial.
    """
    if not scenes:
        raise AblationError("there is no scene to run the ablation on; name frames or project folders")
    for folder in scenes:
        scene = kit.Scene.load(folder)
        for task in propose(scene, model, count):
            try:
                first = write_program(task, scene, model)
            except ModelError as error:
                yield from (_failed(folder, task, mode, str(error)) for mode in modes)
                continue
            for mode in modes:
                yield _trial(folder, task, first, model, sandbox, RouteOptions(mode, max_rounds, limits))


def summary(trials: Sequence[AblationTrial]) -> list[dict[str, Any]]:
    """Return one row for each mode: rewards with and without crashed runs, and the mean number of repairs."""
    return [_row(mode, [t for t in trials if t.mode == mode]) for mode in dict.fromkeys(t.mode for t in trials)]


def write_ablation(trials: Sequence[AblationTrial], folder: Path, source: str) -> list[dict[str, Any]]:
    """Write ablation.csv (a row for each trial), .json, .md and .html (a chart), and return the rows of the summary."""
    rows = summary(trials)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "ablation.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, fieldnames=list(asdict(trials[0])) if trials else ["scene"])
        table.writeheader()
        table.writerows(asdict(trial) for trial in trials)
    report = {"source": source, "summary": rows, "trials": [asdict(trial) for trial in trials]}
    (folder / "ablation.json").write_text(json.dumps(report, indent=1, ensure_ascii=False), "utf-8")
    (folder / "ablation.md").write_text(f"Programs by {source}.\n\n{markdown(rows)}", "utf-8")
    groups = {str(row["mode"]): (row["reward_without_crashed"], row["reward_with_crashed"]) for row in rows}
    series = ("crashed runs left out", "crashed runs count 0")
    title = f"Mean oracle reward, {len(trials) // max(1, len(rows))} tasks, {source}"
    bar_chart(groups, series, title).write_html(folder / "ablation.html", include_plotlyjs=True, div_id="ablation")
    return rows


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the summary as a Markdown table, with the rewards of the paper."""
    heads = ["mode", "tasks", "done", "crashed", "reward, crashed left out", "reward, crashed count 0"]
    heads += ["repairs of simulation", "repairs of checks", "GRS (GPT-4o)"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        cells = [row["mode"], row["tasks"], f"{row['done']:.0%}", row["crashed"]]
        cells += [f"{row[key]:.2f}" for key in ("reward_without_crashed", "reward_with_crashed")]
        cells += [f"{row[key]:.2f}" for key in ("of_simulation", "of_checks")]
        lines.append("| " + " | ".join(map(str, [*cells, PAPER_REWARDS.get(str(row["mode"]), "")])) + " |")
    return "\n".join(lines) + "\n"


def _trial(
    folder: Path, task: Task, first: Program, model: Model, sandbox: ProgramRunner, options: RouteOptions
) -> AblationTrial:
    rounds: list[Round] = []
    failure = ""
    try:
        rounds.extend(route(task, folder, model, sandbox, options, RouteStart(first)))
    except ModelError as error:
        failure = str(error)
    if not rounds:
        return _failed(folder, task, options.mode, failure)
    last = rounds[-1]
    rewards = [r.report.reward for r in rounds if r.report.reward]
    report = last.report
    repairs = [r.route for r in rounds[:-1]]
    return AblationTrial(
        scene=folder.name,
        task=task.name,
        kind=task.kind,
        mode=options.mode,
        reward=sum(rewards[-1]) / len(rewards[-1]) if rewards else 0.0,
        crashed=bool(failure or report.crash or report.timed_out or report.violation),
        done=last.route == "done",
        of_simulation=repairs.count("fix_simulation"),
        of_checks=repairs.count("fix_checks"),
        seconds=sum(r.seconds for r in rounds),
        why=failure or last.reason,
    )


def _failed(folder: Path, task: Task, mode: str, reason: str) -> AblationTrial:
    return AblationTrial(folder.name, task.name, task.kind, mode, 0.0, True, False, 0, 0, 0.0, reason)


def _row(mode: str, trials: Sequence[AblationTrial]) -> dict[str, Any]:
    completed = [t.reward for t in trials if not t.crashed]
    return {
        "mode": mode,
        "tasks": len(trials),
        "done": _mean([float(t.done) for t in trials]),
        "crashed": sum(t.crashed for t in trials),
        "reward_without_crashed": _mean(completed),
        "reward_with_crashed": _mean([0.0 if t.crashed else t.reward for t in trials]),
        "of_simulation": _mean([float(t.of_simulation) for t in trials]),
        "of_checks": _mean([float(t.of_checks) for t in trials]),
        "seconds": _mean([t.seconds for t in trials]),
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
