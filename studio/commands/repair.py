"""`grs-studio repair`: run the router on any program, as *Run from here* does in the app."""

import argparse
import contextlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import StudioError
from studio.commands.options import DONE, add_model, add_unprotected, services_for

if TYPE_CHECKING:
    from pipeline.project import Project

MODES = ("route", "repair", "none")


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("program", type=Path, help="folder that holds simulation.py and checks.py")
    command.add_argument("--scene", type=Path, required=True, help="project folder that holds the twin")
    command.add_argument("--task", required=True, help="the task in plain words")
    command.add_argument("--out", type=Path, required=True, help="folder for rounds/000/ ... and the trace")
    command.add_argument(
        "--mode",
        default="route",
        choices=MODES,
        help="what is repaired: either side, the simulation only, or nothing (default %(default)s)",
    )
    command.add_argument("--rounds", type=int, default=8, help="at most (default %(default)s)")
    add_model(command)
    add_unprotected(command)
    command.set_defaults(execute=repair)


def repair(arguments: argparse.Namespace) -> int:
    """Write each round to --out and print {"route", "rounds", "first_route"}."""
    from pipeline.models.stage_model import StageModel
    from pipeline.models.trace.recorder import TracingModel
    from pipeline.project import Project
    from pipeline.router import (
        RouteContext,
        RouteOptions,
        RouteStart,
        changes_told,
        next_round_number,
        route,
        write_round,
    )
    from pipeline.run.cut_off import doubtful_objects
    from pipeline.run.scene_context import scene_context
    from pipeline.run.solved_examples import solved_examples
    from pipeline.simulation import kit
    from pipeline.simulation.program import read_program
    from pipeline.tasks import understand_instruction

    if arguments.rounds < 1:
        raise StudioError(f"--rounds is {arguments.rounds}; give 1 or more")
    program, project = read_program(arguments.program), _project_with_twin(Project.open(arguments.scene))
    services, routes = services_for(arguments), list[str]()
    with contextlib.closing(services.sandbox):
        context = scene_context(project, services)
        model = StageModel(TracingModel(services.model, arguments.out / "trace.jsonl"), "route", context)
        scene, text = kit.Scene.load(project.folder), project.text_in_current_names(arguments.task)
        task = understand_instruction(text, scene, model, context.notes)
        examples, doubtful = solved_examples(project, services, task), doubtful_objects(project, scene)
        knows = RouteContext(context.notes, examples, doubtful)
        options = RouteOptions(
            arguments.mode, arguments.rounds, context=knows if model.has_language else RouteContext()
        )
        start = RouteStart(project.program_in_current_names(program), number=next_round_number(arguments.out))
        for one in route(task, project.folder, model, services.sandbox, options, start):
            write_round(replace(one, task=task.instruction), arguments.out)
            print(f"round {one.number}: {one.reason}", file=sys.stderr)
            for change in changes_told(one.report):
                print(f"changed from the photograph: {change}", file=sys.stderr)
            routes.append(one.route)
    print(json.dumps({"route": routes[-1], "rounds": len(routes), "first_route": routes[0]}))
    return DONE


def _project_with_twin(project: "Project") -> "Project":
    if project.scene() is None:
        folder = project.folder
        raise StudioError(f"{folder} has no scene yet; run grs-studio run FRAME --out {folder} --until scene")
    return project
