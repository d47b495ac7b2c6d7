"""`grs-studio report`: a batch as one HTML file."""

import argparse
import sys
from pathlib import Path

from studio.commands.options import DONE


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("batch", type=Path, help="folder of a batch")
    command.add_argument("--out", type=Path, required=True, help="HTML file to write")
    command.set_defaults(execute=report)


def report(arguments: argparse.Namespace) -> int:
    from studio.batch.report import write_report

    write_report(arguments.batch, arguments.out)
    print(f"{arguments.out} written", file=sys.stderr)
    return DONE
