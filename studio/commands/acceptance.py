"""`grs-studio acceptance`: what a model of one's own is worth here, in one report."""

import argparse
import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import StudioError
from studio.commands.options import DONE, add_library, add_model, add_unprotected, model_setting, services_for

if TYPE_CHECKING:
    from pipeline.evaluation.one_answer import OneAnswer
    from pipeline.project import Project
    from pipeline.run import Services

SCENES = ("blocks", "kitchen", "stack")
MINUTES = 30.0
TASKS, ROUNDS, LAYOUTS = 2, 4, 8
"""Tasks of each scene in the ablation, rounds of each, and layouts on which a task's program is tried."""
ROWS = ("none", "repair", "route")


class _Stopped(Exception):
    """The model answers no more in this run."""


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("--out", type=Path, required=True, help="folder for report.html, report.json and trace.jsonl")
    command.add_argument("--sam2", metavar="NAME", help="checkpoint or hub name of SAM 2, which then finds the masks")
    command.add_argument("--frames", type=Path, nargs="+", default=[], metavar="FRAME", help="frames of your own")
    command.add_argument(
        "--scenes", nargs="*", default=list(SCENES), metavar="NAME", help="sample scenes (%(default)s)"
    )
    command.add_argument("--tasks", type=int, default=TASKS, help="tasks of each scene (default %(default)s)")
    command.add_argument("--ceiling", type=float, metavar="USD", help="cost of all calls, at most")
    add_library(command)
    add_model(command)
    add_unprotected(command)
    command.set_defaults(execute=acceptance)


def acceptance(arguments: argparse.Namespace) -> int:
    """Measure what is not measured yet in the folder, and write the report."""
    from pipeline.evaluation.ablation import read_steps
    from pipeline.evaluation.ablation_report import summary
    from pipeline.evaluation.acceptance import acceptance_page, acceptance_report, as_text
    from pipeline.evaluation.one_answer import OneAnswer
    from pipeline.store import read_json, write_text

    out, frames = arguments.out, _frames(arguments)
    sam2 = {"segmenter": "sam2", "sam2": arguments.sam2} if arguments.sam2 else {}
    services = services_for(arguments, **sam2)
    if arguments.ceiling is not None and hasattr(services.model, "ceiling_usd"):
        services.model.ceiling_usd = arguments.ceiling  # type: ignore[attr-defined]
    model = OneAnswer(services.model, out / "trace.jsonl", 60 * MINUTES)
    services = replace(services, model=model, workspace=None, asset_descriptions=None)
    _require_the_same(out, {"model": model.name, "segmenter": services.segmenter.name, "tasks": arguments.tasks})
    with contextlib.closing(services.sandbox), contextlib.suppress(_Stopped):
        for frame in frames:
            _keep(out / "scenes" / f"{frame.name}.json", model, lambda frame=frame: _scene(frame, out, services))
        _keep(out / "matching.json", model, lambda: _matching(frames, services))
        _ablation(frames, out, services, arguments.tasks)
    scenes = [found for frame in frames if (found := read_json(out / "scenes" / f"{frame.name}.json"))]
    facts = {"model": model.name, "segmenter": services.segmenter.name, "names": [frame.name for frame in frames]}
    kind, _, recorded = model_setting(arguments.model).partition(":")
    trace = Path(recorded) if kind == "replay" else out / "trace.jsonl"
    matching = (read_json(out / "matching.json") or {}).get("table")
    rows = summary(read_steps(out / "ablation", model.name))
    report = acceptance_report(facts, scenes, matching, rows, trace, model.stopped)
    write_text(out / "report.json", as_text(report))
    write_text(out / "report.html", acceptance_page(report))
    print(out / "report.html")
    if model.stopped:
        raise StudioError(f"stopped: {model.stopped} The same command goes on from here.")
    return DONE


def _frames(arguments: argparse.Namespace) -> list[Path]:
    """Return the folders of the sample scenes and of the person's frames. Raises StudioError."""
    from pipeline.resources import SAMPLE_SCENES

    known = sorted(path.parent.name for path in SAMPLE_SCENES.glob("*/expected.json"))
    if unknown := [name for name in arguments.scenes if name not in known]:
        raise StudioError(f"there is no sample scene {unknown[0]}; there are: {', '.join(known)}")
    frames = [*(SAMPLE_SCENES / name for name in arguments.scenes), *arguments.frames]
    if not frames:
        raise StudioError("nothing to measure: name sample scenes with --scenes, or frames with --frames")
    if missing := [frame for frame in frames if not frame.exists()]:
        raise StudioError(f"{missing[0]} does not exist; --frames takes folders or files of frames")
    names = [frame.name for frame in frames]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise StudioError(f"two frames are called {twice}; rename one")
    return frames


def _require_the_same(out: Path, setup: dict[str, Any]) -> None:
    """Note what a folder's results are made with. Raises StudioError if it holds those of something else."""
    from pipeline.store import read_json, write_json

    kept = read_json(out / "setup.json")
    if kept is not None and kept != setup:
        differing = next(key for key in setup if kept.get(key) != setup[key])
        raise StudioError(
            f"{out} holds an acceptance with {differing} {kept.get(differing)}, not {setup[differing]}; "
            "choose another folder"
        )
    write_json(out / "setup.json", setup)


def _keep(file: Path, model: "OneAnswer", measure: Any) -> None:
    """Measure a part and keep it, unless it is kept already. Raises _Stopped if the model answers no more."""
    from pipeline.store import read_json, write_json

    if read_json(file) is not None:
        return
    found = measure()
    if model.stopped:
        raise _Stopped
    write_json(file, found)


def _scene(frame: Path, out: Path, services: "Services") -> dict[str, Any]:
    """Return what a scene's masks, first task and subtasks came to; its project is made anew."""
    from pipeline.evaluation.acceptance import agreements, truth_masks
    from pipeline.frame import load
    from pipeline.project import Project
    from pipeline.run import run_stages
    from pipeline.solving import Attempt, solve

    folder = out / "projects" / frame.stem
    shutil.rmtree(folder, ignore_errors=True)
    found: dict[str, Any] = {"scene": frame.name, "masks": None, "task": None, "rewards": None, "failure": ""}
    project = Project.create(folder, load(frame))
    try:
        for step in run_stages(project, services, "task"):
            print(f"{frame.name}: {step.stage}: {step.message}", file=sys.stderr)
        _run_rounds(project, services)
    except StudioError as error:
        found["failure"] = str(error)
    if truth := truth_masks(frame):
        before, after = project.automatic_segments() or (), project.segments() or ()
        edits = len(project.active_decisions("mask", "merge_segments"))
        masks = {"before": agreements((one.mask for one in before), truth), "edits": edits}
        found["masks"] = masks | {"after": agreements((one.mask for one in after), truth)}
    best, task = project.best_round(), project.task()
    if best and task:
        tried = solve(best.program, folder, services.sandbox, range(LAYOUTS))
        solved = [one.solved for one in tried if isinstance(one, Attempt)]
        found["task"] = {"instruction": task.instruction, "proposed": len(project.tasks() or ())}
        found["task"] |= {"done": best.report.clean, "rounds": len(project.rounds()), "solved": solved}
        found["rewards"] = _rewards(project, services)
    return found


def _run_rounds(project: "Project", services: "Services") -> None:
    """Let the model write and repair a program for the current task, and for no other."""
    from pipeline.run import run_stage

    services = replace(services, mode="route")
    for step in run_stage(project, services, "rounds"):
        print(f"{project.folder.name}: {step.message}", file=sys.stderr)


def _rewards(project: "Project", services: "Services") -> dict[str, Any]:
    """Return how many subtasks with rewards the model names for the task, and whether they cover its goals."""
    from pipeline.learning.decomposition import decompose, missing_goals
    from pipeline.learning.subtask import LearningError
    from pipeline.models import ModelError
    from studio.sessions.project_learner import task_layouts, task_of

    try:
        layouts = task_layouts(project, services)
        parts = decompose(task_of(project), layouts, services.model)
    except (LearningError, ModelError) as error:
        return {"subtasks": 0, "dropped": 0, "covered": False, "why": str(error)}
    missing = missing_goals(parts.subtasks, layouts.base.goals)
    why = "; ".join(parts.dropped)
    return {"subtasks": len(parts.subtasks), "dropped": len(parts.dropped), "covered": not missing, "why": why}


def _matching(frames: list[Path], services: "Services") -> dict[str, Any]:
    """Return {"table"}: Table 1 on the frames that have labels of assets; null without any."""
    from pipeline.evaluation.acceptance import labelled_copy, matching_part
    from pipeline.evaluation.matcher_evaluation import MatcherEvaluation, score_matchers

    with tempfile.TemporaryDirectory(prefix="grs-") as scratch:
        labels = {one.name: labelled_copy(one, Path(scratch)) for one in frames}
        truth = {name: rows for name, rows in labels.items() if rows is not None}
        if not truth:
            return {"table": None}
        evaluation = MatcherEvaluation(
            [Path(scratch) / name for name in truth], truth, services.library, services.segmenter, services.model,
            services.features, services.encoder, Path(scratch),
        )  # fmt: skip
        table = None
        for step in _watched(score_matchers(evaluation), services.model):
            print(f"{step.done} of {step.total}: {step.message}", file=sys.stderr)
            table = step.table or table
        return {"table": matching_part(table) if table else None}


def _ablation(frames: list[Path], out: Path, services: "Services", tasks: int) -> None:
    """Run the ablation on the scenes that have a twin, or go on with it. Raises _Stopped."""
    from pipeline.evaluation import AblationOptions, AblationScene, ablate
    from pipeline.evaluation.ablation import keep_steps, read_steps
    from pipeline.project import Project
    from pipeline.run.scene_context import scene_context

    folders = [out / "projects" / frame.stem for frame in frames]
    projects = [Project.open(folder) for folder in folders if (folder / "scene.json").is_file()]
    scenes = [AblationScene(one.folder, scene_context(one, services)) for one in projects]
    folder, source = out / "ablation", services.model.name
    done, options = read_steps(folder, source), AblationOptions(ROWS, tasks, ROUNDS)
    steps = ablate(scenes, services.model, services.sandbox, options, done) if scenes else iter(())
    for step in _watched(steps, services.model):
        keep_steps(folder, source, [step])


def _watched(steps: Iterator[Any], model: Any) -> Iterator[Any]:
    """Yield steps until the model answers no more. Raises _Stopped."""
    try:
        for step in steps:
            if model.stopped:
                raise _Stopped
            yield step
    except StudioError:
        if model.stopped:
            raise _Stopped from None
        raise
