"""Ablation of the router: the same tasks without repairs, with repairs of the simulation only, and with the router.

As in GRS (section 5), the score is the mean reward of the oracle on the last program of each task. The paper leaves out
runs that crashed. Here both scores are given, with crashed runs left out and with crashed runs counted as 0. Rows whose
names end in "-text" get no picture, which is the paper's question whether the image helps.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pipeline.errors import StudioError
from pipeline.evaluation.scene_judge import JudgedScene, judge_task
from pipeline.models import Model, ModelError, StageCancelled, has_language
from pipeline.models.budget import CeilingReached
from pipeline.models.stage_model import SceneContext, StageModel
from pipeline.router import (
    Mode,
    ProgramRunner,
    Round,
    RouteContext,
    RouteOptions,
    RouteStart,
    route,
    write_program,
)
from pipeline.simulation import Program, kit
from pipeline.simulation.sandbox.sandbox import Limits
from pipeline.store import append_lines, parse_json
from pipeline.tasks import Task, propose

FILE = "steps.jsonl"


@dataclass(frozen=True)
class AblationRow:
    """One row of the table: what is repaired, and whether pictures go along."""

    name: str
    title: str
    mode: Mode
    pictures: bool
    paper: float | None
    """Reward of GRS with GPT-4o, crashed runs left out; None where the paper has no such row."""


ROWS = {
    row.name: row
    for row in (
        AblationRow("none-text", "no repair, no picture", "none", False, 0.47),
        AblationRow("none", "no repair", "none", True, 0.49),
        AblationRow("repair", "repair of the simulation only", "repair", True, 0.65),
        AblationRow("route", "router", "route", True, 0.71),
        AblationRow("route-text", "router, no picture", "route", False, None),
    )
}


class AblationError(StudioError):
    """There is no scene to run the ablation on, or its folder holds another ablation."""


@dataclass(frozen=True, eq=False)
class AblationScene:
    """A scene as the app's stages would show it to the model."""

    folder: Path
    """Project folder that holds the twin."""
    context: SceneContext = field(default_factory=SceneContext)
    examples: Callable[[Task], tuple[Mapping[str, Any], ...]] = lambda _: ()
    """Returns solved programs of other scenes for a task."""
    judged: JudgedScene | None = None
    """What the judge gets of it; None to have no proposal judged."""


@dataclass(frozen=True)
class AblationOptions:
    """Size of the ablation."""

    rows: tuple[str, ...] = ("none", "repair", "route")
    """Names of ROWS."""
    count: int = 8
    """Most tasks of each scene."""
    max_rounds: int = 8
    limits: Limits | None = None


@dataclass(frozen=True)
class AblationTrial:
    """Result of one task of one scene in one row."""

    scene: str
    task: str
    kind: str
    mode: str
    """Name of the row."""
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
    number: int = 0
    """Place of the task among the scene's proposals."""


@dataclass(frozen=True)
class JudgedProposal:
    """Whether the blind judge found the scene that a task was proposed for."""

    scene: str
    task: str
    pictures: bool
    """Whether the task was proposed with the picture."""
    found: bool
    number: int = 0


AblationStep = AblationTrial | JudgedProposal
KINDS = {"trial": AblationTrial, "judged": JudgedProposal}


def ablate(
    scenes: Sequence[AblationScene],
    model: Model,
    sandbox: ProgramRunner,
    options: AblationOptions | None = None,
    done: Sequence[AblationStep] = (),
) -> Iterator[AblationStep]:
    """Run the proposed tasks of each scene in every row, rows of equal sight from the same first program.

    All rows have the tasks that were proposed with the picture. Steps in `done` are not run again. Raises SandboxError,
    CeilingReached, StageCancelled, and AblationError without a scene. Another failure of the model is a crashed trial.
    """
    options = options or AblationOptions()
    if not scenes:
        raise AblationError("there is no scene to run the ablation on; name frames or project folders")
    finished = {(one.scene, one.number, one.mode) for one in done if isinstance(one, AblationTrial)}
    judged = {(one.scene, one.number, one.pictures) for one in done if isinstance(one, JudgedProposal)}
    for scene in scenes:
        twin = kit.Scene.load(scene.folder)
        tasks = propose(twin, _sighted(model, scene, True, "propose_tasks"), options.count, scene.context.notes)
        yield from _judge(scene, scenes, model, options, tasks, judged)
        for number, task in enumerate(tasks):
            programs: dict[bool, Program | str] = {}
            for row in map(ROWS.__getitem__, options.rows):
                if (scene.folder.name, number, row.name) not in finished:
                    asked = _sighted(model, scene, row.pictures, "write_program")
                    knows = RouteContext(scene.context.notes, scene.examples(task))
                    context = knows if asked.has_language else RouteContext()
                    if row.pictures not in programs:
                        programs[row.pictures] = _first_program(task, twin, asked, context)
                    limits = RouteOptions(row.mode, options.max_rounds, options.limits, context)
                    trial = _trial(scene.folder, task, asked, sandbox, limits, programs[row.pictures])
                    yield replace(trial, mode=row.name, number=number)


def _sighted(model: Model, scene: AblationScene, pictures: bool, kind: str) -> StageModel:
    context = scene.context if pictures else replace(scene.context, pictures=(), picture_key="")
    return StageModel(model, kind, context)


def _judge(
    scene: AblationScene,
    scenes: Sequence[AblationScene],
    model: Model,
    options: AblationOptions,
    tasks: Sequence[Task],
    judged: set[tuple[str, int, bool]],
) -> Iterator[JudgedProposal]:
    """Yield the judge's verdict on the proposals, and on those made without the picture if a row has none."""
    others = [one.judged for one in scenes if one is not scene and one.judged]
    if scene.judged is None or not has_language(model):
        return
    proposals = {True: tasks}
    if scene.context.pictures and not all(ROWS[name].pictures for name in options.rows):
        blind = _sighted(model, scene, False, "propose_tasks")
        proposals[False] = propose(kit.Scene.load(scene.folder), blind, options.count, scene.context.notes)
    for pictures, proposed in proposals.items():
        for number, task in enumerate(proposed):
            if (scene.folder.name, number, pictures) in judged:
                continue
            found = judge_task(task, scene.judged, others, model)
            if found is not None:
                yield JudgedProposal(scene.folder.name, task.name, pictures, found, number)


def _trial(
    folder: Path, task: Task, model: Model, sandbox: ProgramRunner, options: RouteOptions, first: Program | str
) -> AblationTrial:
    """Return the result of one task; `first` is its first program, or why there is none."""
    failure, rounds = "", list[Round]()
    if isinstance(first, str):
        return _failed(folder, task, options.mode, first)
    try:
        rounds.extend(route(task, folder, model, sandbox, options, RouteStart(first)))
    except (CeilingReached, StageCancelled):
        raise
    except ModelError as error:
        failure = str(error)
    return _result(folder, task, options.mode, rounds, failure)


def _first_program(task: Task, twin: kit.Scene, model: Model, context: RouteContext) -> Program | str:
    """Return the first program, or why the model wrote none."""
    try:
        return write_program(task, twin, model, context)
    except (CeilingReached, StageCancelled):
        raise
    except ModelError as error:
        return str(error)


def _result(folder: Path, task: Task, row: str, rounds: Sequence[Round], failure: str) -> AblationTrial:
    if not rounds:
        return _failed(folder, task, row, failure)
    last = rounds[-1]
    rewards = [r.report.reward for r in rounds if r.report.reward]
    report = last.report
    repairs = [r.route for r in rounds[:-1]]
    return AblationTrial(
        scene=folder.name,
        task=task.name,
        kind=task.kind,
        mode=row,
        reward=sum(rewards[-1]) / len(rewards[-1]) if rewards else 0.0,
        crashed=bool(failure or report.crash or report.timed_out or report.violation),
        done=last.route == "done",
        of_simulation=repairs.count("fix_simulation"),
        of_checks=repairs.count("fix_checks"),
        seconds=sum(r.seconds for r in rounds),
        why=failure or last.reason,
    )


def _failed(folder: Path, task: Task, row: str, reason: str) -> AblationTrial:
    return AblationTrial(folder.name, task.name, task.kind, row, 0.0, True, False, 0, 0, 0.0, reason)


def read_steps(folder: Path, source: str) -> list[AblationStep]:
    """Return the steps that this folder holds; none for a new one.

    Raises AblationError if they were made by another model.
    """
    file, steps = folder / FILE, list[AblationStep]()
    for line in file.read_text("utf-8").splitlines() if file.exists() else ():
        try:
            value = parse_json(line)
            kind, made_by = KINDS[value.pop("step")], value.pop("source")
            steps.append(kind(**value))
        except (ValueError, KeyError, TypeError):
            continue  # a crash may have truncated the last line
        if made_by != source:
            raise AblationError(f"{folder} holds an ablation by {made_by}, not by {source}; choose another folder")
    return steps


def keep_steps(folder: Path, source: str, steps: Sequence[AblationStep]) -> None:
    """Append steps."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {kind: name for name, kind in KINDS.items()}
    append_lines(folder / FILE, [{"step": names[type(one)], "source": source} | asdict(one) for one in steps])
