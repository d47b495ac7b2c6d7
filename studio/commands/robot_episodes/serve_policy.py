"""`grs-studio serve-policy`: serve a LeRobot policy from the Python in which lerobot is installed."""

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn


def add_to(commands: "argparse._SubParsersAction") -> None:
    """Add the subcommand."""
    command = commands.add_parser("serve-policy", help="serve a LeRobot policy for evaluate-policy and vary")
    command.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="folder pretrained_model of lerobot-train")
    command.add_argument(
        "--python", default=sys.executable, metavar="PYTHON", help="in which lerobot is installed (default this one)"
    )
    command.add_argument("--port", type=int, default=8000, help="0 takes a free one (default %(default)s)")
    command.add_argument("--device", default="cpu", help="cpu or cuda (default %(default)s)")
    command.set_defaults(execute=serve_policy)


def serve_policy(arguments: argparse.Namespace) -> NoReturn:
    """Become the server, so that whatever ends this command ends it. Raises PolicyError."""
    from pipeline.closed_loop import PolicyError, lerobot_server

    if shutil.which(arguments.python) is None:
        raise PolicyError(f"{arguments.python} is no Python; give --python a virtual environment's bin/python")
    options = ["--port", str(arguments.port), "--device", arguments.device]
    command = [arguments.python, "-I", lerobot_server.__file__, str(arguments.checkpoint), *options]
    sys.stdout.flush()
    os.execvp(command[0], command)
