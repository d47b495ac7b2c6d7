"""`grs-studio splats`: draw the background or an object of a twin by Gaussian splats."""

import argparse
import sys
from pathlib import Path

from studio.commands.options import DONE


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("project", type=Path, metavar="PROJECT", help="project with a twin")
    command.add_argument("file", type=Path, metavar="FILE", help=".ply of 3DGS, .spz or .splat")
    command.add_argument("--object", metavar="NAME", default="", help="the object they draw (default: the background)")
    command.add_argument(
        "--place",
        default="photo",
        metavar="WHERE",
        help="where a background stands: photo (its camera's axes; default), world, or FILE.json with a 4x4 matrix",
    )
    command.set_defaults(execute=splats)


def splats(arguments: argparse.Namespace) -> int:
    """Read and place the splats, and record the choice, which Undo takes back."""
    import numpy as np

    from pipeline.project import Project
    from pipeline.project.project_splats import PLACES, take_splats
    from pipeline.scene.splats.read_splats import SplatError
    from pipeline.store import read_json

    place = arguments.place
    if place not in PLACES:
        try:
            place = np.array(read_json(Path(place)), float)
        except (ValueError, TypeError):
            raise SplatError(f"{arguments.place} holds no matrix of 4 x 4 numbers") from None
    project = Project.open(arguments.project)
    data = take_splats(project, arguments.file, arguments.object, place)
    project.decide("splats", **data)
    print(f"{arguments.object or 'the background'} is drawn by {data['name']}: {data['source']}", file=sys.stderr)
    return DONE
