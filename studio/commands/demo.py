"""`grs-studio demo`: the studio with the guided demo."""

import argparse
from functools import partial
from pathlib import Path

from studio.commands import serve

PAGE = "?demo=1"


def add_to(commands: "argparse._SubParsersAction") -> None:
    """Add the subcommand."""
    command = commands.add_parser("demo", help="a guided demo in the browser: a sample from photograph to solved task")
    command.add_argument("--port", type=int, default=argparse.SUPPRESS, help="port to listen on (default 7860)")
    command.add_argument(
        "--workspace",
        type=Path,
        default=argparse.SUPPRESS,
        help="folder of projects (default GRS_WORKSPACE, else ./workspace)",
    )
    command.set_defaults(execute=partial(serve.serve, page=PAGE))
