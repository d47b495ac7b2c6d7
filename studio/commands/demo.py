"""`grs-studio demo`: the studio with the guided demo, of a sample scene or of a frame of one's own."""

import argparse
import os
from pathlib import Path
from urllib.parse import quote

import grs_studio
from pipeline.errors import StudioError
from pipeline.resources import SAMPLE_SCENES
from studio.commands import serve


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("--port", type=int, default=argparse.SUPPRESS, help="port to listen on (default 7860)")
    command.add_argument(
        "--workspace",
        type=Path,
        default=argparse.SUPPRESS,
        help="folder of projects (default GRS_WORKSPACE, else ./workspace)",
    )
    shown = command.add_mutually_exclusive_group()
    shown.add_argument("--scene", metavar="NAME", help="sample scene that is shown (default blocks)")
    shown.add_argument(
        "--frame", type=Path, metavar="PATH", help="frame of your own; becomes a project of the workspace"
    )
    command.set_defaults(execute=demo)


def demo(arguments: argparse.Namespace) -> int:
    """Serve until interrupted, with the demo of a sample, or of a frame that is made a project first."""
    if arguments.frame:
        return serve.serve(arguments, f"?demo=project:{quote(_project_of(arguments), safe='')}")
    samples = sorted(folder.name for folder in SAMPLE_SCENES.iterdir() if (folder / "camera.json").is_file())
    if arguments.scene and arguments.scene not in samples:
        raise StudioError(f"there is no sample scene {arguments.scene}; there are: {', '.join(samples)}")
    return serve.serve(arguments, f"?demo=scene:{arguments.scene}" if arguments.scene else "?demo=1")


def _project_of(arguments: argparse.Namespace) -> str:
    """Return the name of a new project of the workspace with the frame. Raises StudioError."""
    from pipeline.project import safe_name

    frame = grs_studio.load(arguments.frame)
    workspace = Path(arguments.workspace or os.environ.get("GRS_WORKSPACE") or "workspace")
    name = stem = safe_name(arguments.frame.resolve().stem) or "frame"
    for number in range(2, 1000):
        if not (workspace / name).exists():
            break
        name = f"{stem}_{number}"
    for _ in grs_studio.run(frame, workspace / name, until="frame"):
        pass
    return name
