"""`grs-studio export`: a project in another program's format."""

import argparse
import sys
from pathlib import Path

from pipeline import plugins
from studio.commands.options import DONE


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("project", type=Path, help="project folder")
    command.add_argument("--format", default="zip", choices=tuple(plugins.entries("exporters")))
    command.add_argument("--out", type=Path, required=True, help="file or folder to write")
    command.set_defaults(execute=export)


def export(arguments: argparse.Namespace) -> int:
    from pipeline.export import export_project

    for left_out in export_project(arguments.project, arguments.format, arguments.out):
        print(f"left out: {left_out}", file=sys.stderr)
    print(f"{arguments.out} written", file=sys.stderr)
    return DONE
