"""`grs-studio run`: from a frame to a solution, stage by stage, in a project folder."""

import argparse
import sys
from pathlib import Path

import grs_studio
from pipeline import plugins
from pipeline.simulation.robots import ROBOTS
from studio.commands.options import (
    DONE,
    add_library,
    add_model,
    add_segmenter,
    add_unprotected,
    model_setting,
)

STAGES = ("frame", "segments", "descriptions", "matches", "scene", "task", "rounds", "solution")


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("frame", type=Path)
    command.add_argument("--out", type=Path, required=True, help="project folder to create, or to continue")
    command.add_argument("--index", type=int, default=0, help="which frame of a recording (default %(default)s)")
    command.add_argument(
        "--views", metavar="N,M", help="further frames of the recording, or paths of frames, that show the same table"
    )
    command.add_argument(
        "--ground", metavar="N", help="surface that carries the objects, as run lists them, or several, such as 1,2"
    )
    command.add_argument("--until", default="solution", choices=STAGES, help="last stage to run (default %(default)s)")
    add_model(command)
    add_segmenter(command)
    command.add_argument(
        "--keep-all", action="store_true", help="keep every mask of SAM 2, parts of objects too, as in the paper"
    )
    add_library(command)
    command.add_argument("--robot", choices=tuple(ROBOTS), help="robot that performs the tasks (default gripper)")
    command.add_argument(
        "--camera", metavar="NAME", help="camera of the film: wrist, or a placed one (default the photograph's)"
    )
    command.add_argument(
        "--matcher", choices=tuple(plugins.entries("matchers")), help="what chooses the assets (default all)"
    )
    command.add_argument("--task", help="the task in plain words (default: the first proposed task)")
    command.add_argument("--seed", type=int, default=0, help="first of the seeds to solve (default %(default)s)")
    add_unprotected(command)
    command.set_defaults(execute=run)


def _views(arguments: argparse.Namespace) -> tuple:
    """Return the further views of `--views`. Raises FrameError."""
    from pipeline.project.project_views import read_views

    return tuple(read_views(arguments.frame, arguments.index, arguments.views)) if arguments.views else ()


def run(arguments: argparse.Namespace) -> int:
    """Print each step of the run, or of its continuation."""
    line, continued = "", (arguments.out / "project.json").exists()
    frame = None if continued else grs_studio.load(arguments.frame, arguments.index)
    views = _views(arguments)
    names = ("segmenter", "keep_all", "matcher", "robot", "camera", "unprotected")
    settings = {name: getattr(arguments, name) for name in names}
    settings |= {"model": model_setting(arguments.model), "library": tuple(arguments.library)}
    for step in grs_studio.run(
        frame, arguments.out, arguments.until, arguments.task, ground=arguments.ground, views=views,
        seed=arguments.seed, **settings,
    ):  # fmt: skip
        previous, line = line, f"{step.stage}: {step.message}"
        if line != previous:  # a step may only have moved its progress bar
            print(line, file=sys.stderr)
    return DONE
