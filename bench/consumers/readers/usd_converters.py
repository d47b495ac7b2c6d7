"""Converters of MJCF and URDF to USD, which Isaac Sim calls for its imports: CONVERTER FOLDER NAMES."""

import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics, UsdShade
from shapes import box_of, placed, points


def _matrix(prim) -> np.ndarray:
    return np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.Default())).T


def _shape_points(prim) -> np.ndarray:
    if prim.IsA(UsdGeom.Mesh):
        own = np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get(), float)
    else:
        kind = prim.GetTypeName().lower()
        values = {
            name: prim.GetAttribute(name).Get() for name in ("size", "radius", "height") if prim.GetAttribute(name)
        }
        if kind == "cube":
            own = points("box", [values["size"] / 2] * 3)
        else:
            own = points(kind, [values["radius"], values.get("height", 0) / 2])
    matrix = _matrix(prim)
    return own @ matrix[:3, :3].T + matrix[:3, 3]


def _friction(prim) -> float | None:
    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
    value = material and UsdPhysics.MaterialAPI(material.GetPrim()).GetDynamicFrictionAttr().Get()
    return None if value is None else float(value)


def _bodies_of(stage, root) -> list:
    """Return the rigid bodies that hang on a root by joints, and the root."""
    parents = {}
    for prim in stage.Traverse():
        if prim.IsA(UsdPhysics.PrismaticJoint) or prim.IsA(UsdPhysics.RevoluteJoint) or prim.IsA(UsdPhysics.FixedJoint):
            ends = [
                list(one.GetTargets())
                for one in (UsdPhysics.Joint(prim).GetBody0Rel(), UsdPhysics.Joint(prim).GetBody1Rel())
            ]
            if ends[0] and ends[1]:
                parents[ends[1][0]] = ends[0][0]
    found = {root.GetPath()}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return [stage.GetPrimAtPath(path) for path in sorted(found)]


def _object(stage, root) -> dict:
    bodies = _bodies_of(stage, root)
    paths = [body.GetPath() for body in bodies]
    masses = [UsdPhysics.MassAPI(body).GetMassAttr().Get() for body in bodies if body.HasAPI(UsdPhysics.MassAPI)]
    every = Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies())
    shapes = [
        p for p in every if p.HasAPI(UsdPhysics.CollisionAPI) and any(p.GetPath().HasPrefix(path) for path in paths)
    ]
    own = [p for p in shapes if p.GetParent() == root]
    joints = [p for p in stage.Traverse() if p.IsA(UsdPhysics.PrismaticJoint) or p.IsA(UsdPhysics.RevoluteJoint)]
    ends = [UsdPhysics.Joint(joint).GetBody1Rel().GetTargets()[0] for joint in joints]
    found = {
        "mass": float(sum(masses)),
        "start": _matrix(root)[:3, 3].tolist(),
        "joints": sum(e in paths for e in ends),
    }
    found["friction"] = _friction(own[0]) if own else None
    if shapes:
        found["box"] = box_of(np.concatenate([_shape_points(shape) for shape in shapes]))
    return found


def _named(stage, name: str):
    prims = [prim for prim in stage.Traverse() if prim.IsA(UsdGeom.Xform)]
    return next((prim for prim in prims if name in (prim.GetName(), prim.GetDisplayName())), None)


def mujoco(folder: Path, names: list[str], out: str):
    from mujoco_usd_converter import Converter

    stage = Usd.Stage.Open(Converter().convert(str(folder / "scene.xml"), out).path)
    found = {name: _named(stage, name) for name in names}
    return version("mujoco-usd-converter"), {name: _object(stage, root) for name, root in found.items() if root}


def urdf(folder: Path, names: list[str], out: str):
    """Convert each object's URDF, and put it where poses.json says."""
    from urdf_usd_converter import Converter

    found = {}
    for one in json.loads((folder / "poses.json").read_text())["objects"]:
        if one["name"] in names:
            target = Path(out) / one["link"]
            stage = Usd.Stage.Open(Converter().convert(str(folder / one["urdf"]), str(target)).path)
            converted = _object(stage, _named(stage, one["link"]))
            converted["start"] = placed(np.array([converted["start"]]), one["pos"], one["quat_wxyz"])[0].tolist()
            del converted["friction"]  # a URDF has none but in the tags of other simulators
            converted.pop("box", None)  # in the object's frame
            found[one["name"]] = converted
    return version("urdf-usd-converter"), found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print("\n" + json.dumps(globals()[sys.argv[1]](Path(sys.argv[2]), json.loads(sys.argv[3]), folder)))
