"""`grs-studio run`: from a frame to a solution, stage by stage, in a project folder."""

import argparse
import contextlib
import sys
from pathlib import Path

from pipeline import plugins
from pipeline.errors import StudioError
from pipeline.simulation.robots import ROBOTS
from studio.commands.options import DONE, add_library, add_model, add_segmenter, add_unprotected, services_for

STAGES = ("frame", "segments", "descriptions", "matches", "scene", "task", "rounds", "solution")


def add_to(commands: "argparse._SubParsersAction") -> None:
    """Add the subcommand."""
    command = commands.add_parser("run", help="from a frame to a solution, or to an earlier stage")
    command.add_argument("frame", type=Path)
    command.add_argument("--out", type=Path, required=True, help="project folder to create, or to continue")
    command.add_argument("--index", type=int, default=0, help="which frame of a recording (default %(default)s)")
    command.add_argument(
        "--ground", metavar="N", help="surface that carries the objects, as run lists them, or several, such as 1,2"
    )
    command.add_argument("--until", default="solution", choices=STAGES, help="last stage to run (default %(default)s)")
    add_model(command)
    add_segmenter(command)
    add_library(command)
    command.add_argument("--robot", choices=tuple(ROBOTS), help="robot that performs the tasks (default gripper)")
    command.add_argument(
        "--matcher", choices=tuple(plugins.entries("matchers")), help="what chooses the assets (default all)"
    )
    command.add_argument("--task", help="the task in plain words (default: the first proposed task)")
    command.add_argument("--seed", type=int, default=0, help="first of the seeds to solve (default %(default)s)")
    add_unprotected(command)
    command.set_defaults(execute=run)


def run(arguments: argparse.Namespace) -> int:
    from pipeline.frame import load
    from pipeline.matching import why_unavailable
    from pipeline.project import Project
    from pipeline.run import run_stages
    from pipeline.run.object_confidence import measure_confidences
    from studio.scene.ground_choice import describe_grounds, ground_decision, grounds_of_numbers

    out: Path = arguments.out
    continued = (out / "project.json").exists()
    frame = None if continued else load(arguments.frame, arguments.index)
    services = services_for(
        arguments, arguments.seed, segmenter=arguments.segmenter, matcher=arguments.matcher, robot=arguments.robot
    )
    stage, line = "frame", ""
    with contextlib.closing(services.sandbox):
        if reason := why_unavailable(services.matcher, services.model, services.encoder):
            raise StudioError(f"the matcher {services.matcher} {reason}")
        project = Project.open(out) if frame is None else Project.create(out, frame)
        project.begin_writing()
        for warning in project.warnings:
            print(f"project: {warning}", file=sys.stderr)
        if continued:
            print(f"continuing the project in {out}", file=sys.stderr)
        for note in project.frame.notes:
            print(f"frame: {note}", file=sys.stderr)
        if arguments.ground is not None:
            pixels = grounds_of_numbers(project.frame, arguments.ground)
            if [project.frame.ground_pixel, *project.frame.also_ground_pixels] != [tuple(pixel) for pixel in pixels]:
                project.decide("ground", **ground_decision(project.frame, pixels))
        if grounds := describe_grounds(project.frame):
            print(f"ground: {grounds}", file=sys.stderr)
        for note in project.support.notes if project.frame.also_ground_pixels else ():
            print(f"ground: {note}", file=sys.stderr)
        for path, reason in services.library.skipped:
            print(f"library: {path} skipped: {reason}", file=sys.stderr)
        try:
            for step in run_stages(project, services, arguments.until, arguments.task):
                stage, previous, line = step.stage, line, f"{step.stage}: {step.message}"
                if line != previous:  # a step may only have moved its progress bar
                    print(line, file=sys.stderr)
        except StudioError as error:
            raise StudioError(f"stopped at {stage}: {error}") from error
        measure_confidences(project)  # for the board
    return DONE
