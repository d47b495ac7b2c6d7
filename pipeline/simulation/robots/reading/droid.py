"""The robot of DROID: a Franka arm with a Robotiq 2F-85, a camera on its wrist and one beside it.

The model is that of the wheel tabletask (Apache 2.0 and BSD, after MuJoCo Menagerie); droid.json holds what
`grs-studio robot add` measured on it (2026-11), with the home posture of DROID: A. Khazatsky et al., "DROID: A
Large-Scale In-the-Wild Robot Manipulation Dataset" (2024).
"""

import functools
import importlib.util
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np

from pipeline.simulation.robots.description import COLLISION_GROUP, VISUAL_GROUP, Camera, ControlMode, RobotDescription
from pipeline.simulation.robots.reading.elements import ModelError, compiled, find_elements, read_spec
from pipeline.simulation.robots.reading.plain_model import PlainModel, reduce_model
from pipeline.simulation.robots.workspace import ENTRY, StoredRobot
from pipeline.store import read_json

NAME, MODEL = "droid", "mujoco/robots/assets/droid/model.xml"
HOME = (0.0, -0.2 * np.pi, 0.0, -0.8 * np.pi, 0.0, 0.6 * np.pi, 0.0)
RATE_HZ = 15.0
"""Of DROID's control, and of its policies' actions."""
PINCH_M = 0.159
"""Height of the pinch point above the gripper's base, whose axes are turned by a quarter."""


def droid() -> RobotDescription:
    """Return the robot of DROID. Raises ModelError where its model is not installed."""
    folder = _package()
    stored = StoredRobot.model_validate(read_json(Path(__file__).with_name("droid.json")))
    arm = replace(stored.arm(folder), read=_read, meshes=_meshes, home=HOME, meshes_prefix=f"{NAME}.")
    return RobotDescription(
        NAME, "Franka arm of DROID, 2F-85", "by friction, within reach: about a minute",
        "with the Franka arm of DROID", "oracle, Franka with a 2F-85", ENTRY, arm,
        cameras=tuple(Camera(**camera.model_dump()) for camera in stored.cameras),
        control_modes=tuple(
            ControlMode(control, RATE_HZ) for control in ("joint_velocity", "joint_position", "delta_end_effector")
        ),
        origin="tabletask 0.2.3", licence="Apache-2.0, BSD-2-Clause",
    )  # fmt: skip


def _package() -> Path:
    found = importlib.util.find_spec("tabletask")
    if found is None or not found.submodule_search_locations:
        raise ModelError("the model of droid is missing; install it by: pip install tabletask==0.2.3")
    return Path(found.submodule_search_locations[0])


@functools.cache
def _plain(visual: bool) -> PlainModel:
    """Return the reduced model; without what is only seen, which takes most of the time, or with it."""
    file = _package() / MODEL
    spec, _ = read_spec(file)
    if not visual:
        for geom in [geom for geom in spec.geoms if not (geom.contype or geom.conaffinity)]:
            spec.delete(geom)
        used = {geom.meshname for geom in spec.geoms}
        for mesh in [mesh for mesh in spec.meshes if mesh.name not in used]:
            spec.delete(mesh)
    elements = find_elements(compiled(spec, file.name), file.name)
    plain = reduce_model(spec, elements, file.name, f"{NAME}.")
    made = mujoco.MjSpec.from_string(plain.xml, assets=plain.meshes)
    half = float(np.sqrt(0.5))
    made.body(elements.hand).add_site(name="grs_pinch", pos=[0, 0, PINCH_M], quat=[half, 0, 0, half])
    made.compile()
    return replace(plain, xml=made.to_xml())


def _read(visual: bool) -> mujoco.MjSpec:
    plain = _plain(visual)
    spec = mujoco.MjSpec.from_string(plain.xml, assets=plain.meshes)
    for geom in list(spec.geoms):
        if geom.group != (VISUAL_GROUP if visual else COLLISION_GROUP):
            spec.delete(geom)
    used = {geom.meshname for geom in spec.geoms}
    for mesh in [mesh for mesh in spec.meshes if mesh.name not in used]:
        spec.delete(mesh)
    return spec


def _meshes(visual: bool) -> dict[str, bytes]:
    suffix = ".stl" if visual else ".obj"
    return {name: data for name, data in _plain(visual).meshes.items() if name.endswith(suffix)}
