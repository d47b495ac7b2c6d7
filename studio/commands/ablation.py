"""`grs-studio ablation`: the paper's ablation of the router (GRS, Zook et al. 2024), on any scenes."""

import argparse
import contextlib
import copy
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import StudioError
from studio.commands.options import DONE, add_model, add_unprotected, services_for

if TYPE_CHECKING:
    from pipeline.evaluation import AblationScene
    from pipeline.models import Model
    from pipeline.project import Project
    from pipeline.run import Services

ROWS = ("none-text", "none", "repair", "route", "route-text")


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("scenes", type=Path, nargs="+", help="frames, or project folders that hold a twin")
    command.add_argument("--out", type=Path, required=True, help="folder for tables, chart, trace and new projects")
    command.add_argument("--tasks", type=int, default=8, help="tasks of each scene, at most (default %(default)s)")
    command.add_argument("--rounds", type=int, default=8, help="rounds of each task, at most (default %(default)s)")
    command.add_argument(
        "--modes",
        nargs="+",
        choices=ROWS,
        help="rows of the table; -text: without pictures (default: all that the model can tell apart)",
    )
    command.add_argument("--judge", action="store_true", help="score whether proposals suit their scene; 3 scenes")
    add_model(command)
    add_unprotected(command)
    command.set_defaults(execute=ablation)


def ablation(arguments: argparse.Namespace) -> int:
    """Run the ablation, or go on with a stopped one in the same folder."""
    from pipeline.evaluation import AblationOptions, AblationTrial, ablate, write_ablation
    from pipeline.evaluation.ablation import keep_steps, read_steps
    from pipeline.evaluation.ablation_report import markdown
    from pipeline.models import has_vision, label_of
    from pipeline.models.budget import CeilingReached, format_usd
    from pipeline.models.trace.recorder import TracingModel

    services, out = services_for(arguments), arguments.out
    rows = arguments.modes or (ROWS if has_vision(services.model) else ("none", "repair", "route"))
    source, stopped = label_of(services.model), ""
    steps = read_steps(out, source)
    if steps:
        print(f"continuing the ablation in {out}: {len(steps)} steps are done", file=sys.stderr)
    with contextlib.closing(services.sandbox):
        scenes = [ablation_scene(path, out, services, arguments.judge) for path in arguments.scenes]
        model = TracingModel(_with_rest_of_ceiling(services.model, out, out), out / "trace.jsonl")
        options = AblationOptions(tuple(rows), arguments.tasks, arguments.rounds)
        try:
            for step in ablate(scenes, model, services.sandbox, options, steps):
                keep_steps(out, source, [step])
                steps.append(step)
                if isinstance(step, AblationTrial):
                    result = "crashed" if step.crashed else f"reward {step.reward:.2f}"
                    print(f"{step.scene}: {step.task}, {step.mode}: {result}: {step.why}", file=sys.stderr)
        except CeilingReached as error:
            stopped = f"Stopped at the cost ceiling: {error} The same command goes on from here."
    cost = f"Cost of all calls: {format_usd(model.budget.spent_usd)}." if model.budget.spent_usd else ""
    table = write_ablation(steps, out, source, " ".join(filter(None, (cost, stopped))))
    print(markdown(table))
    if stopped:
        raise StudioError(stopped)
    return DONE


def ablation_scene(path: Path, out: Path, services: "Services", judge: bool) -> "AblationScene":
    """Return a scene as the app's stages show it to the model."""
    from pipeline.evaluation import AblationScene
    from pipeline.evaluation.scene_judge import JudgedScene
    from pipeline.models import has_vision
    from pipeline.run.scene_context import scene_context
    from pipeline.run.solved_examples import solved_examples

    project = project_with_twin(path, out, services)
    captions = [one.caption for one in project.descriptions() or () if one.is_object]
    photograph = project.frame.rgb if has_vision(services.model) else None
    judged = JudgedScene(project.folder.name, captions, photograph) if judge else None
    context = scene_context(project, services)
    return AblationScene(project.folder, context, lambda task: solved_examples(project, services, task), judged)


def project_with_twin(path: Path, out: Path, services: "Services") -> "Project":
    """Return the project at `path`, or one in `out` made from the frame there up to its twin."""
    from pipeline.frame import load
    from pipeline.project import Project
    from pipeline.run import run_stages

    if (path / "scene.json").is_file():
        return Project.open(path)
    folder = path if (path / "project.json").is_file() else out / "projects" / path.resolve().stem
    project = Project.open(folder) if (folder / "project.json").is_file() else Project.create(folder, load(path))
    if folder.is_relative_to(out):
        services = replace(services, model=_with_rest_of_ceiling(services.model, out, folder))
    for step in run_stages(project, services, "scene"):
        print(f"{folder.name}: {step.stage}: {step.message}", file=sys.stderr)
    return project


def _with_rest_of_ceiling(model: "Model", out: Path, folder: Path) -> "Model":
    """Return the model with the part of its cost ceiling that the other traces in `out` leave for this folder's."""
    from pipeline.models.budget import spent_usd
    from pipeline.models.trace.recorder import read_trace

    ceiling = getattr(model, "ceiling_usd", None)
    if ceiling is None:
        return model
    traces = {out / "trace.jsonl", *out.glob("projects/*/trace.jsonl")} - {folder / "trace.jsonl"}
    rest: Any = copy.copy(model)
    rest.ceiling_usd = max(0.0, ceiling - sum(spent_usd(read_trace(trace)) for trace in traces))
    return rest
