"""`grs-studio episode`: write any episode, a round or a solution as .csv, .npz or a LeRobot dataset."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from studio.commands.options import DONE

if TYPE_CHECKING:  # a second to import
    from pipeline.divergence import Episode

EPISODES = ".csv, .npz, .bag, .mcap, a LeRobot v3 or ROS 2 folder, a project or one of its rounds"
"""What an argument EPISODE takes."""


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("episode", type=Path, metavar="EPISODE", help=EPISODES)
    command.add_argument(
        "--out", type=Path, required=True, help=".npz, .csv (times and positions), or a LeRobot folder"
    )
    command.set_defaults(execute=episode)


def episode(arguments: argparse.Namespace) -> int:
    from pipeline.divergence import read_episode, write_episode

    found = read_episode(arguments.episode)
    write_episode(found, arguments.out)
    print_notes(found)
    print(f"{arguments.out} written: {len(found.times)} samples of {len(found.names)} joints", file=sys.stderr)
    return DONE


def print_notes(*episodes: "Episode") -> None:
    """Print which topics of logs were taken."""
    for found in episodes:
        if found.note:
            print(found.note, file=sys.stderr)
