"""`grs-studio episode`: write any episode, a round or a solution as .csv, .npz or a LeRobot dataset."""

import argparse
import sys
from pathlib import Path

from studio.commands.options import DONE


def add_to(commands: "argparse._SubParsersAction") -> None:
    """Add the subcommand."""
    command = commands.add_parser(
        "episode", help="write a solution, a round or another episode as .csv, .npz or LeRobot"
    )
    command.add_argument("episode", type=Path, metavar="EPISODE", help="project, round, .csv, .npz, LeRobot v3 folder")
    command.add_argument(
        "--out", type=Path, required=True, help=".npz, .csv (times and positions), or a LeRobot folder"
    )
    command.set_defaults(execute=episode)


def episode(arguments: argparse.Namespace) -> int:
    from pipeline.divergence import read_episode, write_episode

    found = read_episode(arguments.episode)
    write_episode(found, arguments.out)
    print(f"{arguments.out} written: {len(found.times)} samples of {len(found.names)} joints", file=sys.stderr)
    return DONE
