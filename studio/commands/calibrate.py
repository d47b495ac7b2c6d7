"""`grs-studio calibrate`: estimate a model's physical parameters from episodes."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from studio.commands.options import DONE
from studio.commands.robot_episodes.episode import EPISODES, print_notes

if TYPE_CHECKING:
    from pipeline.calibration import Calibration, EstimatedParameter
    from pipeline.divergence import Episode
    from pipeline.project import Project

SOURCE = "calibration"
"""Source of a mass or a friction that a calibration found."""


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("model", type=Path, metavar="PROJECT|MODEL", help="MJCF file, or a project with a solution")
    episode = f"episode with actions ({EPISODES}; .csv has none)"
    command.add_argument("episodes", type=Path, nargs="+", metavar="EPISODE", help=episode)
    command.add_argument(
        "--held-out", type=Path, nargs="+", default=[], metavar="EPISODE", help="episodes to measure the result on"
    )
    command.add_argument(
        "--parameters",
        type=Path,
        metavar="FILE.json",
        help='{"parameters": [{"joint": name, "field": "damping"}, ...]} (docs/real_robots.md); default: damping and '
        "friction loss of the measured joints, mass and friction of the objects that the episodes follow",
    )
    command.add_argument(
        "--out", type=Path, required=True, help="folder for calibration.json, calibrated.xml, report.html"
    )
    command.set_defaults(execute=calibrate)


def calibrate(arguments: argparse.Namespace) -> int:
    """Write the calibration, and record it as decisions if the model is a project's."""
    from pipeline import calibration
    from pipeline.divergence import read_episode

    project = _project(arguments.model)
    source = project.folder / "scene" / "solution.xml" if project else arguments.model
    spec, model = calibration.read_model(source)
    episodes, held_out = ([read_episode(path) for path in paths] for paths in (arguments.episodes, arguments.held_out))
    if arguments.parameters:
        parameters = calibration.read_parameters(arguments.parameters, model)
    else:
        parameters = calibration.require_distinct(calibration.measured_parameters(model, episodes))
    result = None
    for step in calibration.calibrate(model, parameters, episodes, held_out):
        if isinstance(step, calibration.Calibration):
            result = step
        else:
            print(f"iteration {step.number}: error {step.rmse * 1000:.2f} mrad", file=sys.stderr)
    assert result is not None
    if project:
        project.begin_writing()  # refused before anything is written if another process writes
    calibration.write_calibration(result, spec, model, source, arguments.out)
    if project:
        _record(project, result, episodes)
    print_notes(*episodes, *held_out)
    print("\n".join(calibration.summary_lines(result)), file=sys.stderr)
    return DONE


def _project(path: Path) -> "Project | None":
    """Return the project of a folder; None for a file."""
    from pipeline.calibration import CalibrationError
    from pipeline.project import Project

    if not path.is_dir():
        return None
    project = Project.open(path)
    if not (project.folder / "scene" / "solution.xml").is_file():
        raise CalibrationError(f"{path.name} has no solution, so its twin has no robot; solve its task first")
    return project


def _record(project: "Project", result: "Calibration", episodes: "Sequence[Episode]") -> None:
    """Record the identified parameters as decisions: one for the robot, one for each object."""
    scene = project.scene()
    ids = {p.name: p.segment_id for p in (scene.placements if scene else ())}
    found = [one for one in result.estimates if one.identifiable]
    robot = [_row(one) for one in found if one.parameter.element not in ids]
    source = ", ".join(episode.source for episode in episodes)[:200]
    decisions: list[tuple[str, dict[str, Any]]] = []
    if robot:
        decisions.append(("calibrate", {"parameters": robot, "source": source}))
    for name in dict.fromkeys(one.parameter.element for one in found if one.parameter.element in ids):
        decisions.append(("physics", _physics(project, ids[name], [e for e in found if e.parameter.element == name])))
    if decisions:
        project.decide_together(decisions)


def _row(one: "EstimatedParameter") -> dict[str, Any]:
    parameter = one.parameter
    return {
        "kind": parameter.kind, "element": parameter.element, "field": parameter.field, "value": one.value,
        "low": one.low, "high": one.high,
    }  # fmt: skip


def _physics(project: "Project", id: int, found: "Sequence[EstimatedParameter]") -> dict[str, Any]:
    """Return the data of a decision "physics"; what was not identified stays as it was decided before."""
    from pipeline.scene.overrides import DECISION_KINDS, Override, overrides_from_decisions

    before = overrides_from_decisions(project.active_decisions(*DECISION_KINDS)).get(id, Override())
    data: dict[str, Any] = {"id": id, "mass": before.mass, "friction": before.friction, "source": SOURCE}
    for one in found:
        if one.parameter.field in ("mass", "friction"):
            data[one.parameter.field] = one.value
            data[f"{one.parameter.field}_range"] = [one.low, one.high]
    return data
