"""The robot of DROID: a Franka arm with a Robotiq 2F-85, a camera on its wrist and one beside it.

The model is that of the wheel tabletask (Apache 2.0 and BSD, after MuJoCo Menagerie); droid.json holds what
`grs-studio robot add` measured on it (2026-11), with the home posture of DROID: A. Khazatsky et al., "DROID: A
Large-Scale In-the-Wild Robot Manipulation Dataset" (2024).
"""

import importlib.util
from pathlib import Path

import mujoco
import numpy as np

from pipeline.simulation.robots.description import Camera, ControlMode, RobotDescription
from pipeline.simulation.robots.reading.elements import ModelError, compiled, find_elements, read_spec
from pipeline.simulation.robots.reading.plain_model import reduce_model
from pipeline.simulation.robots.workspace import ENTRY, StoredRobot, fill_folder
from pipeline.store import made_once, read_json, user_cache_folder

NAME, MODEL, VERSION = "droid", "mujoco/robots/assets/droid/model.xml", "0.2.3"
HOME = (0.0, -0.2 * np.pi, 0.0, -0.8 * np.pi, 0.0, 0.6 * np.pi, 0.0)
RATE_HZ = 15.0
"""Of DROID's control, and of its policies' actions."""
PINCH_M = 0.159
"""Height of the pinch point above the gripper's base, whose axes are turned by a quarter."""


def droid() -> RobotDescription:
    """Return the robot of DROID. Raises ModelError where its model is not installed.

    Reducing the model takes seconds, so the result is kept in the user's cache.
    """
    stored = StoredRobot.model_validate(read_json(Path(__file__).with_name("droid.json")) | {"home": HOME})
    model = _package() / MODEL
    folder = made_once(
        user_cache_folder() / f"tabletask-{VERSION}" / NAME,
        lambda part: fill_folder(part, stored, *_reduced(stored, model)),
    )
    return RobotDescription(
        NAME, "Franka arm of DROID, 2F-85", "by friction, within reach: about a minute",
        "with the Franka arm of DROID", "oracle, Franka with a 2F-85", ENTRY, stored.arm(folder),
        cameras=tuple(Camera(**camera.model_dump()) for camera in stored.cameras),
        control_modes=tuple(
            ControlMode(control, RATE_HZ) for control in ("joint_velocity", "joint_position", "delta_end_effector")
        ),
        origin=f"tabletask {VERSION}", licence="Apache-2.0, BSD-2-Clause", folder=str(folder),
    )  # fmt: skip


def _package() -> Path:
    found = importlib.util.find_spec("tabletask")
    if found is None or not found.submodule_search_locations:
        raise ModelError("the model of droid is missing; install it by: pip install tabletask==0.2.3")
    return Path(found.submodule_search_locations[0])


def _reduced(stored: StoredRobot, file: Path) -> tuple[str, dict[str, bytes]]:
    """Return the reduced model with its pinch point as MJCF, and its mesh files by name."""
    spec, _ = read_spec(file)
    elements = find_elements(compiled(spec, file.name), file.name)
    plain = reduce_model(spec, elements, file.name, f"{NAME}.")
    made, half = mujoco.MjSpec.from_string(plain.xml, assets=plain.meshes), float(np.sqrt(0.5))
    made.body(elements.hand).add_site(name=stored.tool_site, pos=[0, 0, PINCH_M], quat=[half, 0, 0, half])
    made.compile()
    return made.to_xml(), plain.meshes
