"""Joints of the twin as USD physics joints."""

from typing import Any

import numpy as np
from pxr import Gf, UsdGeom, UsdPhysics
from scipy.spatial.transform import Rotation

from pipeline.export.twin_model import Body, BodyJoint, TwinModel
from pipeline.export.usd.prims import identifier
from pipeline.geometry import Pose


def write_joints(stage: Any, twin: TwinModel, prims: dict[str, Any], poses: dict[str, Pose]) -> list[str]:
    """Add a joint for each body below another one, all of an object one articulation; return one sentence for each joint that was left out."""
    left_out, by_name = [], {body.name: body for body in twin.bodies}
    for body in twin.bodies[1:]:
        if body.is_free or (body.parent == "world" and not body.joints):
            continue
        left_out += [f"{joint.name}: {body.name} keeps only its last joint" for joint in body.joints[:-1]]
        _write_joint(stage, body, prims, poses)
        root = body
        while root.parent != "world":
            root = by_name[root.parent]
        UsdPhysics.ArticulationRootAPI.Apply(prims[root.name])
    return left_out


def _write_joint(stage: Any, body: Body, prims: dict[str, Any], poses: dict[str, Pose]) -> None:
    joint = body.joints[-1] if body.joints else None
    UsdGeom.Scope.Define(stage, "/World/joints")
    path = f"/World/joints/{identifier(joint.name if joint else f'{body.name}_fixed')}"
    kinds = {"slide": UsdPhysics.PrismaticJoint, "hinge": UsdPhysics.RevoluteJoint, "ball": UsdPhysics.SphericalJoint}
    made = (kinds[joint.kind] if joint else UsdPhysics.FixedJoint).Define(stage, path)
    made.CreateBody0Rel().SetTargets([prims[body.parent].GetPath()])
    made.CreateBody1Rel().SetTargets([prims[body.name].GetPath()])
    anchor = joint.anchor if joint else np.zeros(3)
    turn = _x_to(joint.axis) if joint else Pose.identity()
    body_from_joint = Pose(anchor, turn.quat_wxyz)
    parent_from_joint = poses[body.parent].inverse() @ poses[body.name] @ body_from_joint
    for number, pose in enumerate((parent_from_joint, body_from_joint)):
        getattr(made, f"CreateLocalPos{number}Attr")(Gf.Vec3f(*pose.pos.tolist()))
        getattr(made, f"CreateLocalRot{number}Attr")(Gf.Quatf(*pose.quat_wxyz.tolist()))
    if joint is not None and joint.kind in ("slide", "hinge"):
        _limit(made, joint)


def _limit(made: Any, joint: BodyJoint) -> None:
    """Set axis, limits and damping; USD measures angles in degrees."""
    unit = np.degrees(1.0) if joint.kind == "hinge" else 1.0
    made.CreateAxisAttr("X")
    if joint.limits is not None:
        made.CreateLowerLimitAttr(float(joint.limits[0] * unit))
        made.CreateUpperLimitAttr(float(joint.limits[1] * unit))
    drive = UsdPhysics.DriveAPI.Apply(made.GetPrim(), "angular" if joint.kind == "hinge" else "linear")
    drive.CreateStiffnessAttr(0.0)
    drive.CreateDampingAttr(joint.damping / unit)


def _x_to(axis: np.ndarray) -> Pose:
    """Return a pose at the origin whose x axis points along `axis` (3,)."""
    turn = Rotation.align_vectors(axis[None], np.array([[1.0, 0, 0]]))[0]
    return Pose.from_rotation(np.zeros(3), turn.as_matrix())
