"""`grs-studio replay-actions`: drive the twin's robot with an episode's actions, and measure the divergence."""

import argparse
import sys
from pathlib import Path

from studio.commands.options import DONE
from studio.commands.robot_episodes.episode import EPISODES, print_notes


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("project", type=Path, metavar="PROJECT|MODEL", help="project with a solution, or an MJCF file")
    command.add_argument(
        "episode", type=Path, metavar="EPISODE", help=f"episode with actions ({EPISODES}; .csv has none)"
    )
    command.add_argument("--out", type=Path, required=True, help="folder for episode.npz, comparison.json, report.html")
    command.set_defaults(execute=replay_actions)


def replay_actions(arguments: argparse.Namespace) -> int:
    """Write what the twin did as episode.npz, and its comparison with the episode."""
    from pipeline.calibration import read_model
    from pipeline.calibration.replay import at_base, decided_values, replay, within
    from pipeline.divergence import compare, read_episode, summary_lines, to_json, write_comparison, write_episode
    from pipeline.project import Project

    source, model = arguments.project, None
    if source.is_dir():
        project = Project.open(source)
        source = project.folder / "scene" / "solution.xml"
        decided = [decision.data["parameters"] for decision in project.active_decisions("calibrate")]
        model = decided_values(read_model(source)[1], decided)
        for decision in project.active_decisions("robot_base")[-1:]:
            model = at_base(model, decision.data["world_from_base"])
    else:
        model = read_model(source)[1]
    real = read_episode(arguments.episode)
    sim = replay(model, real)
    comparison = compare(within(real, sim.names), sim, None, "none")
    write_episode(sim, arguments.out / "episode.npz")
    write_comparison(comparison, arguments.out)
    print_notes(real)
    print("\n".join(summary_lines(to_json(comparison))), file=sys.stderr)
    return DONE
