"""The twin on an OpenUSD stage: bodies, colliders, joints, materials and the camera on one stage.

Physics follows https://openusd.org/release/api/usd_physics_page_front.html. All bodies are children of /World at their
world pose, because rigid bodies must not be nested; joints connect them.
"""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdUtils
from scipy.spatial.transform import Rotation

from pipeline.export.twin_model import Body, BodyJoint, TwinModel
from pipeline.export.usd.shapes import ShapeWriter, identifier, set_pose
from pipeline.geometry import Pose
from pipeline.scene.placement import Scene
from pipeline.store import atomic_write

FOCAL_LENGTH = 24.0
"""Focal length of the camera in USD's unit; only its ratio to the aperture matters."""


def write_stage(twin: TwinModel, scene: Scene, folder: Path) -> tuple[str, ...]:
    """Write twin.usdc to a folder; return one sentence for each joint that was left out."""
    stage = Usd.Stage.CreateNew(str(folder / "twin.usdc"))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    world = UsdGeom.Xform.Define(stage, "/World")
    stage.SetDefaultPrim(world.GetPrim())
    Usd.ModelAPI(world).SetKind("component")
    _write_gravity(UsdPhysics.Scene.Define(stage, "/World/physics"), twin)
    shapes = ShapeWriter(stage, twin, folder)
    prims = {"world": world.GetPrim()}
    poses = world_poses(twin)
    for body in twin.bodies:
        if body.name != "world":
            prims[body.name] = _write_body(stage, body, poses[body.name], is_static(twin, body))
        _write_shapes(shapes, body, prims[body.name])
    left_out = write_joints(stage, twin, prims, poses)
    _filter_pairs(twin, prims)
    if scene.intrinsics is not None:
        _write_camera(stage, scene)
    stage.GetRootLayer().Save()
    return tuple(left_out)


def save_as(stage_file: Path, out: Path) -> None:
    """Save a stage and its textures under another name: in one package for .usdz, else with a folder beside it."""
    if out.suffix.lower() == ".usdz":
        with atomic_write(out) as temporary:
            package = temporary.with_suffix(".usdz")
            UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(stage_file)), str(package))
            package.replace(temporary)
        return
    layer, textures = Sdf.Layer.FindOrOpen(str(stage_file)), stage_file.parent / "textures"
    if textures.is_dir():
        beside = out.with_name(f"{out.stem}_textures")
        shutil.copytree(textures, beside, dirs_exist_ok=True)
        UsdUtils.ModifyAssetPaths(layer, lambda path: path.replace("./textures/", f"./{beside.name}/"))
    with atomic_write(out) as temporary:
        named = temporary.with_suffix(out.suffix)
        layer.Export(str(named))
        named.replace(temporary)


def world_poses(twin: TwinModel) -> dict[str, Pose]:
    """Return world_from_body of each body by name, with all joints at home."""
    poses = {"world": Pose.identity()}
    for body in twin.bodies[1:]:
        here = body.parent_from_body
        poses[body.name] = here if body.parent == "world" else poses[body.parent] @ here
    return poses


def is_static(twin: TwinModel, body: Body) -> bool:
    """Whether a body cannot move: neither it nor any of its ancestors has a joint."""
    parents = {one.name: one for one in twin.bodies}
    while not body.joints and body.name != "world":
        body = parents[body.parent]
    return body.name == "world"


def _write_gravity(physics: Any, twin: TwinModel) -> None:
    gravity = twin.model.opt.gravity
    strength = float(np.linalg.norm(gravity))
    physics.CreateGravityMagnitudeAttr(strength)
    physics.CreateGravityDirectionAttr(Gf.Vec3f(*(gravity / max(strength, 1e-12)).tolist()))


def _write_body(stage: Any, body: Body, pose: Pose, static: bool) -> Any:
    prim = UsdGeom.Xform.Define(stage, f"/World/{identifier(body.name)}").GetPrim()
    set_pose(prim, pose)
    if not static:
        UsdPhysics.RigidBodyAPI.Apply(prim)
        mass = UsdPhysics.MassAPI.Apply(prim)
        mass.CreateMassAttr(body.mass)
        mass.CreateCenterOfMassAttr(Gf.Vec3f(*body.centre.tolist()))
        mass.CreateDiagonalInertiaAttr(Gf.Vec3f(*body.moments.tolist()))
        mass.CreatePrincipalAxesAttr(Gf.Quatf(*body.principal_axes.quat_wxyz.tolist()))
    return prim


def _write_shapes(shapes: ShapeWriter, body: Body, prim: Any) -> None:
    for number, shape in enumerate(body.shapes):
        name = identifier(shape.name.replace(body.name, "shape", 1) if body.name != "world" else shape.name)
        path = prim.GetPath().AppendChild(name)
        if shapes.stage.GetPrimAtPath(path):
            path = prim.GetPath().AppendChild(f"{name}_{number}")
        shapes.write(shape, str(path))


def _filter_pairs(twin: TwinModel, prims: dict[str, Any]) -> None:
    """Keep bodies from colliding that the twin excludes: those of an articulated object that overlap at home."""
    for signature in twin.model.exclude_signature.tolist():
        first, second = (twin.bodies[number].name for number in (signature >> 16, signature & 0xFFFF))
        pairs = UsdPhysics.FilteredPairsAPI.Apply(prims[first])
        pairs.CreateFilteredPairsRel().AddTarget(prims[second].GetPath())


def _write_camera(stage: Any, scene: Scene) -> None:
    """Add the photograph's camera. USD's cameras, as MuJoCo's, look along -z with y up."""
    k = scene.intrinsics
    assert k is not None
    camera = UsdGeom.Camera.Define(stage, "/World/photo")
    turned = np.asarray(scene.world_from_camera) @ np.diag([1.0, -1, -1, 1])
    set_pose(camera.GetPrim(), Pose.from_matrix(turned))
    camera.CreateFocalLengthAttr(FOCAL_LENGTH)
    camera.CreateHorizontalApertureAttr(FOCAL_LENGTH * k.width / k.fx)
    camera.CreateVerticalApertureAttr(FOCAL_LENGTH * k.height / k.fy)
    camera.CreateHorizontalApertureOffsetAttr(FOCAL_LENGTH * (k.width / 2 - k.cx - 0.5) / k.fx)
    camera.CreateVerticalApertureOffsetAttr(FOCAL_LENGTH * (k.cy + 0.5 - k.height / 2) / k.fy)
    camera.CreateClippingRangeAttr(Gf.Vec2f(0.01, 100.0))


def write_joints(stage: Any, twin: TwinModel, prims: dict[str, Any], poses: dict[str, Pose]) -> list[str]:
    """Add a joint for each body below another one, an articulation for each object; return what was left out."""
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
