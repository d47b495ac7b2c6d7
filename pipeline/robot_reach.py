"""What a robot reaches over the table of a project, what it cannot pick up there, and a picture of it at its home."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from PIL import Image

from pipeline.scene import SceneError
from pipeline.scene.rendering import render_model
from pipeline.simulation import kit
from pipeline.simulation.graspability import reasons_not_picked, settled
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots import robot_kind
from pipeline.simulation.robots.pair.pair_mount import PairMount
from pipeline.solving import SolvingError, save_model
from pipeline.store import digest, read_json, write_json

PICTURE_SIZE = (480, 320)
"""Width and height of the picture in pixels."""


@dataclass(frozen=True, eq=False)
class RobotReach:
    """One robot over one table."""

    bases: np.ndarray
    """World x and y of its bases in metres, of shape (B, 2)."""
    rings: np.ndarray
    """Least and largest distance from each base at which it sets objects down, in metres, of shape (B, 2)."""
    reasons: Mapping[str, str]
    """Why it cannot pick up an object, by name; without those that it can."""
    key: str
    """Name of the picture, for `rehearsal.picture_path`."""


def robot_reach(robot: str, project_dir: Path) -> RobotReach:
    """Return what an arm or pair of robots.ROBOTS reaches; saved in the project as tasks/<key>.json and <key>.png.

    Raises RobotError, KitError.
    """
    scene_text = (project_dir / "scene.json").read_text("utf-8")
    key = digest("reach", scene_text, robot)
    file = project_dir / "tasks" / f"{key}.json"
    saved = read_json(file)
    if saved is None:
        saved = _measured(robot, project_dir, key)
        write_json(file, saved)
    return RobotReach(np.array(saved["bases"]), np.array(saved["rings"]), saved["why"], key)


def _measured(robot: str, project_dir: Path, key: str) -> dict:
    """Return {"bases", "rings", "why"} of a robot, and save its picture."""
    kind, scene = robot_kind(robot), kit.Scene.load(project_dir)
    mount = kind.make(False).mount(scene.objects, scene.footprint, scene.away)
    physics = settled(scene, robot)
    with suppress(SceneError, SolvingError, ValueError, OSError):  # the picture is optional
        _save_picture(physics, project_dir, key)
    bases = mount.bases if isinstance(mount, PairMount) else np.array([] if mount is None else [mount.base])
    return {
        "bases": bases.tolist(),
        "rings": [list(arm.reach.places) for arm in kind.arms],
        "why": reasons_not_picked(scene, physics),
    }


def _save_picture(physics: Physics, project_dir: Path, key: str) -> None:
    """Render the robot at the table, seen by the camera of the photograph."""
    path = save_model(physics.world.xml, project_dir, f"robot_{key}")
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    finally:
        path.unlink()
    if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, "photo") >= 0:
        rendered = render_model(model, PICTURE_SIZE, "photo", physics.data.qpos)
        (project_dir / "tasks").mkdir(exist_ok=True)
        Image.fromarray(rendered.rgb).save(project_dir / "tasks" / f"{key}.png")
