"""Names and poses of prims."""

from typing import Any

from pxr import Gf, Tf, UsdGeom

from pipeline.geometry import Pose


def identifier(name: str) -> str:
    """Return a valid name of a prim."""
    return Tf.MakeValidIdentifier(name)


def set_pose(prim: Any, pose: Pose) -> None:
    """Set the pose of a prim relative to its parent, in double precision."""
    xform = UsdGeom.Xformable(prim)
    xform.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*pose.pos.tolist()))
    xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(*pose.quat_wxyz.tolist()))
