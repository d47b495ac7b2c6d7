"""What the router is worth: the same tasks without repairs, with repairs of the simulation only, and with the router.

The ablation of GRS (section 5): the mean reward of the oracle on the last program of each task. The paper leaves out
runs that crashed; here both figures stand side by side, a crash counting as a reward of 0.
"""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import StudioError
from pipeline.evaluation.chart import bars
from pipeline.models import Model, ModelError
from pipeline.router import Mode, Round, Runner, route, write
from pipeline.simulation import Program, kit
from pipeline.simulation.sandbox import Limits
from pipeline.tasks import Task, propose

MODES: tuple[Mode, ...] = ("none", "repair", "route")
PAPER = {"none": 0.49, "repair": 0.65, "route": 0.71}
"""GRS with GPT-4o and the image, crashed runs left out."""


class AblationError(StudioError):
    """No scene to measure on."""


@dataclass(frozen=True)
class Trial:
    """One task of one scene, worked on in one mode."""

    scene: str
    task: str
    kind: str
    mode: str
    reward: float
    """Mean over the layouts of the last round that came to a rollout; 0 where none did."""
    crashed: bool
    """The last round crashed, timed out, was refused, or the model had no answer."""
    done: bool
    """A program that passed every check and means its task."""
    of_simulation: int
    """Repairs of the simulation."""
    of_checks: int
    """Repairs of the checks."""
    seconds: float
    why: str
    """Why it ended as it did."""


def ablate(
    scenes: Sequence[Path],
    model: Model,
    sandbox: Runner,
    modes: Sequence[Mode] = MODES,
    count: int = 8,
    most: int = 8,
    limits: Limits | None = None,
) -> Iterator[Trial]:
    """Every proposed task of every project folder in every mode, each mode from the same first program.

    Raises SandboxError, and AblationError where no folder has a scene; a model that fails is a crashed trial.
    """
    if not scenes:
        raise AblationError("there is no scene to measure on; name frames or project folders")
    for folder in scenes:
        scene = kit.Scene.load(folder)
        for task in propose(scene, model, count):
            try:
                first = write(task, scene, model)
            except ModelError as error:
                yield from (_failed(folder, task, mode, str(error)) for mode in modes)
                continue
            for mode in modes:
                yield _trial(folder, task, mode, first, model, sandbox, most, limits)


def summary(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """One row a mode: the paper's figures with and without crashed runs, and what the repairs came to."""
    return [_row(mode, [t for t in trials if t.mode == mode]) for mode in dict.fromkeys(t.mode for t in trials)]


def write_ablation(trials: Sequence[Trial], folder: Path, source: str) -> list[dict[str, Any]]:
    """ablation.csv (a row a trial), ablation.json, ablation.md and ablation.png; returns the summary's rows."""
    rows = summary(trials)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "ablation.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, fieldnames=list(asdict(trials[0])) if trials else ["scene"])
        table.writeheader()
        table.writerows(asdict(trial) for trial in trials)
    said = {"source": source, "summary": rows, "trials": [asdict(trial) for trial in trials]}
    (folder / "ablation.json").write_text(json.dumps(said, indent=1, ensure_ascii=False), "utf-8")
    (folder / "ablation.md").write_text(f"Programs by {source}.\n\n{markdown(rows)}", "utf-8")
    groups = {str(row["mode"]): (row["reward_without_crashed"], row["reward_with_crashed"]) for row in rows}
    words = ("crashed runs left out", "crashed runs count 0")
    bars(groups, words, f"Mean oracle reward, {len(trials) // max(1, len(rows))} tasks, {source}").save(
        folder / "ablation.png"
    )
    return rows


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """The summary as a table; figures of the paper beside ours."""
    heads = ["mode", "tasks", "done", "crashed", "reward, crashed left out", "reward, crashed count 0"]
    heads += ["repairs of simulation", "repairs of checks", "GRS (GPT-4o)"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        cells = [row["mode"], row["tasks"], f"{row['done']:.0%}", row["crashed"]]
        cells += [f"{row[key]:.2f}" for key in ("reward_without_crashed", "reward_with_crashed")]
        cells += [f"{row[key]:.2f}" for key in ("of_simulation", "of_checks")]
        lines.append("| " + " | ".join(map(str, [*cells, PAPER.get(str(row["mode"]), "")])) + " |")
    return "\n".join(lines) + "\n"


def _trial(
    folder: Path,
    task: Task,
    mode: Mode,
    first: Program,
    model: Model,
    sandbox: Runner,
    most: int,
    limits: Limits | None,
) -> Trial:
    rounds: list[Round] = []
    failure = ""
    try:
        rounds.extend(route(task, folder, model, sandbox, mode, first, most=most, limits=limits))
    except ModelError as error:
        failure = str(error)
    if not rounds:
        return _failed(folder, task, mode, failure)
    last = rounds[-1]
    ran = [r.report.reward for r in rounds if r.report.reward]
    report = last.report
    crashed = bool(failure or report.crash or report.timed_out or report.violation)
    repairs = [r.route for r in rounds[:-1]]
    return Trial(
        folder.name, task.name, task.kind, mode, sum(ran[-1]) / len(ran[-1]) if ran else 0.0, crashed,
        last.route == "done", repairs.count("fix_simulation"), repairs.count("fix_checks"),
        sum(r.seconds for r in rounds), failure or last.reason,
    )  # fmt: skip


def _failed(folder: Path, task: Task, mode: str, why: str) -> Trial:
    return Trial(folder.name, task.name, task.kind, mode, 0.0, True, False, 0, 0, 0.0, why)


def _row(mode: str, trials: Sequence[Trial]) -> dict[str, Any]:
    ran = [t.reward for t in trials if not t.crashed]
    return {
        "mode": mode,
        "tasks": len(trials),
        "done": _mean([float(t.done) for t in trials]),
        "crashed": sum(t.crashed for t in trials),
        "reward_without_crashed": _mean(ran),
        "reward_with_crashed": _mean([0.0 if t.crashed else t.reward for t in trials]),
        "of_simulation": _mean([float(t.of_simulation) for t in trials]),
        "of_checks": _mean([float(t.of_checks) for t in trials]),
        "seconds": _mean([t.seconds for t in trials]),
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
