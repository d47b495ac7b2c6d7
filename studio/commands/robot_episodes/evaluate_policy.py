"""`grs-studio evaluate-policy`: let policies control the twin's robot under the same conditions."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import grs_studio
from studio.commands.options import DONE, add_library, add_unprotected, require_packages

if TYPE_CHECKING:
    from pipeline.closed_loop.episodes import PolicyEpisode


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument(
        "task", type=Path, metavar="PROJECT|EXPORT", help="solved project, or its export in format gymnasium, unpacked"
    )
    command.add_argument(
        "--policy",
        required=True,
        action="append",
        metavar="POLICY",
        help="demonstration, hold, learned, FILE.py:FUNCTION, http://HOST:PORT/PATH, or openpi://, groot://, "
        "lerobot:// or vla-eval:// with HOST:PORT (docs/policies.md); give it twice to compare two",
    )
    command.add_argument(
        "--out", type=Path, required=True, help="folder for evaluation.json, report.html and episodes/"
    )
    command.add_argument(
        "--count",
        type=int,
        default=0,
        help="conditions to draw, as grs-studio vary does (default: the solution's layouts)",
    )
    command.add_argument("--seed", type=int, default=0, help="of the drawn conditions (default %(default)s)")
    command.add_argument(
        "--uncertainty",
        action="store_true",
        help="try each drawn condition twice: with the twin as measured, and within what is uncertain of it",
    )
    command.add_argument("--robot", default="", help="robot under drawn conditions (default that of the solution)")
    command.add_argument(
        "--jobs", type=int, default=0, help="episodes at a time, of policies that allow several (default one a core)"
    )
    command.add_argument("--seconds", type=float, default=30.0, help="simulated, of an episode (default %(default)s)")
    command.add_argument("--images", action="store_true", help="send the picture of the photograph's camera, too")
    command.add_argument(
        "--real", type=Path, metavar="DIR", help="folder of real episodes, each named after its layout: 000.npz, ..."
    )
    command.add_argument("--camera", default="", metavar="NAME", help="film each episode from this camera, to films/")
    command.add_argument(
        "--ray", default="", metavar="ADDRESS", help="Ray cluster to run on, HOST:PORT or auto (docs/projects.md)"
    )
    add_library(command)
    add_unprotected(command)
    command.set_defaults(execute=evaluate_policy)


def evaluate_policy(arguments: argparse.Namespace) -> int:
    """Keep each episode as it ends, then write the summary; a repeated command goes on where it was stopped."""
    require_packages("gymnasium", "gymnasium")
    from pipeline.closed_loop.evaluation_report import summary_lines

    if "learned" in arguments.policy:
        require_packages("learn", "gymnasium", "stable_baselines3")

    def say(policy: str, episode: "PolicyEpisode") -> None:
        verdict = f"solved after {episode.seconds:.1f} s" if episode.success else f"not solved: {episode.reason}"
        print(f"{policy}, {episode.condition}: {verdict}", file=sys.stderr)

    names = (
        "out", "count", "seed", "uncertainty", "robot", "seconds", "images", "jobs", "real", "camera", "library",
        "unprotected", "ray",
    )  # fmt: skip
    chosen = {name: getattr(arguments, name) for name in names}
    data = grs_studio.evaluate_policy(arguments.task, *arguments.policy, **chosen, on_episode=say)
    print("\n".join(summary_lines(data)), file=sys.stderr)
    return DONE
