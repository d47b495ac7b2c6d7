"""`grs-studio align`: where the camera and the robot's base stand in the twin's world."""

import argparse
import json
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from studio.commands.options import DONE

if TYPE_CHECKING:
    from pipeline.alignment import CameraAlignment, CameraClicks, RobotAlignment
    from pipeline.project import Project
    from pipeline.scene import Scene


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("project", type=Path, metavar="PROJECT", help="project with a twin")
    command.add_argument(
        "--points",
        type=Path,
        required=True,
        metavar="FILE.json",
        help='{"points": [{"pixel": [u, v], "world": [x, y, z]}, ...]}, at least 4 (docs/real_robots.md)',
    )
    command.add_argument(
        "--robot-base",
        type=Path,
        metavar="FILE.json",
        help="the base's pose, a hand-eye calibration, or clicks on the gripper at known joint angles",
    )
    command.add_argument(
        "--out", type=Path, help="folder for overlay.png and alignment.json (default PROJECT/alignment)"
    )
    command.add_argument("--take", action="store_true", help="record the poses as decisions, which undo takes back")
    command.set_defaults(execute=align)


def align(arguments: argparse.Namespace) -> int:
    """Print the poses with their uncertainty, write the overlay, and record them if asked to."""
    from pipeline.alignment import AlignmentError, align_on_twin, read_clicks, read_robot_base
    from pipeline.project import Project
    from pipeline.store import write_json

    project = Project.open(arguments.project)
    scene = project.scene()
    if scene is None:
        raise AlignmentError(f"{arguments.project.name} has no twin yet; build it: grs-studio run ... --until scene")
    clicks = read_clicks(arguments.points, scene)
    alone, camera = align_on_twin(project.frame, project.support, project.segments() or (), scene, clicks)
    base = None
    if arguments.robot_base:
        base = read_robot_base(arguments.robot_base, camera.world_from_camera, project.frame.intrinsics)
    if arguments.take:
        project.begin_writing()  # refused before anything is written if another process writes
    folder = arguments.out or project.folder / "alignment"
    data = _to_json(alone, camera, base) | {"overlay": str(folder / "overlay.png")}
    _write_overlay(project, scene, clicks, camera, base, folder)
    write_json(folder / "alignment.json", data)
    if arguments.take:
        _take(project, camera, base)
    print(json.dumps(data, indent=1))
    print(_summary(camera), _advice(arguments.take, folder), sep="\n", file=sys.stderr)
    return DONE


def _to_json(alone: "CameraAlignment", camera: "CameraAlignment", base: "RobotAlignment | None") -> dict[str, Any]:
    import numpy as np

    def numbers(values: Any, digits: int = 6) -> Any:
        return np.round(values, digits).tolist()

    data: dict[str, Any] = {
        name: {
            "world_from_camera": numbers(one.world_from_camera, 9),
            "rotation_std_deg": numbers(one.rotation_std_deg, 4),
            "position_std_m": numbers(one.position_std_m),
            "residuals_px": numbers(one.residuals_px, 2),
            "evidence": list(one.evidence),
        }
        for name, one in (("camera", camera), ("camera_from_clicks", alone))
    }
    if base is not None:
        data["robot"] = {"world_from_base": numbers(base.world_from_base, 9)}
        if base.covariance is not None:
            std = np.sqrt(np.diag(base.covariance))
            data["robot"] |= {
                "rotation_std_deg": numbers(np.degrees(std[:3]), 4),
                "position_std_m": numbers(std[3:]),
                "residuals_px": numbers(base.residuals_px, 2),
            }
    return data


def _write_overlay(
    project: "Project", scene: "Scene", clicks: "CameraClicks", camera: "CameraAlignment",
    base: "RobotAlignment | None", folder: Path,
) -> None:  # fmt: skip
    import numpy as np

    from pipeline.alignment import draw_overlay
    from pipeline.store import write_bytes

    before = np.asarray(scene.world_from_camera)
    panels = [("before: the twin's camera", before), ("after: aligned", camera.world_from_camera)]
    where = None if base is None else base.world_from_base
    write_bytes(folder / "overlay.png", draw_overlay(project.frame, scene, panels, clicks, where))


def _take(project: "Project", camera: "CameraAlignment", base: "RobotAlignment | None") -> None:
    """Record the camera's pose, and the base's if there is one."""
    decisions: list[tuple[str, dict[str, Any]]] = [
        ("camera_pose", {"world_from_camera": camera.world_from_camera.tolist(), "source": ", ".join(camera.evidence)})
    ]
    if base is not None:
        decisions.append(("robot_base", {"world_from_base": base.world_from_base.tolist()}))
    group = {"together": secrets.token_hex(4)}  # one Undo takes back both
    project.decide_together([(kind, data | group) for kind, data in decisions])


def _summary(camera: "CameraAlignment") -> str:
    turn, shift = camera.rotation_std_deg.max(), camera.position_std_m.max() * 1000
    worst = int(camera.residuals_px.argmax())
    return (
        f"camera: standard deviation up to {turn:.2f} degrees and {shift:.1f} mm; click {worst + 1} is "
        f"{camera.residuals_px[worst]:.1f} px off, the most"
    )


def _advice(taken: bool, folder: Path) -> str:
    if taken:
        return "The poses are recorded; the twin is to be built again (Undo takes them back)."
    return f"Look at {folder / 'overlay.png'}; --take records the poses."
