"""The twin as OpenUSD, opened by usd-core."""

import json

import mujoco
import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics, UsdShade, UsdValidation

from pipeline.export import export_project
from pipeline.geometry import transform
from pipeline.scene.scene_files import read_scene


@pytest.fixture(scope="module")
def folder(twin_folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("stage") / "twin"
    left_out = export_project(twin_folder, "usd", out)
    assert len(left_out) == 1 and "lights" in left_out[0]
    return out


@pytest.fixture(scope="module")
def stage(folder):
    return Usd.Stage.Open(str(folder / "twin.usdc"))


def world_from(prim):
    return np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.Default())).T


def test_poses_units_and_masses_are_the_twins(twin_folder, stage, twin):
    for p in json.loads((twin_folder / "scene.json").read_text())["placements"]:
        pose = world_from(stage.GetPrimAtPath(f"/World/{p['name']}"))
        quat = np.zeros(9)
        mujoco.mju_quat2Mat(quat, np.array(p["world_from_object"]["quat_wxyz"]))
        assert np.abs(pose[:3, 3] - p["world_from_object"]["pos"]).max() < 1e-6, p["name"]
        assert np.abs(pose[:3, :3] - quat.reshape(3, 3)).max() < 1e-6, p["name"]
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1 and UsdPhysics.GetStageKilogramsPerUnit(stage) == 1
    moving = [p for p in stage.Traverse() if p.HasAPI(UsdPhysics.RigidBodyAPI)]
    fixed = stage.GetPrimAtPath("/World/picture")
    assert fixed and not fixed.HasAPI(UsdPhysics.RigidBodyAPI) and len(moving) == twin.nbody - 2
    for b in range(1, twin.nbody):
        name = twin.body(b).name.replace("/", "_")
        prim = stage.GetPrimAtPath(f"/World/{name}")
        if prim.HasAPI(UsdPhysics.RigidBodyAPI):
            mass = UsdPhysics.MassAPI(prim)
            assert mass.GetMassAttr().Get() == pytest.approx(twin.body_mass[b], rel=1e-6)
            assert np.array(mass.GetDiagonalInertiaAttr().Get()) == pytest.approx(twin.body_inertia[b], rel=1e-5)
            assert not any(p.HasAPI(UsdPhysics.RigidBodyAPI) for p in prim.GetAllChildren())


def test_colliders_are_convex_with_the_twins_friction_and_the_stage_is_valid(stage, twin):
    colliders = [p for p in stage.Traverse() if p.HasAPI(UsdPhysics.CollisionAPI)]
    assert len(colliders) == int(((twin.geom_contype | twin.geom_conaffinity) > 0).sum())
    for prim in colliders:
        if prim.IsA(UsdGeom.Mesh):
            assert UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Get() == "convexHull"
        material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
        assert 0 < UsdPhysics.MaterialAPI(material.GetPrim()).GetDynamicFrictionAttr().Get() <= 1.5
    for prim in (p for p in stage.Traverse() if p.IsA(UsdGeom.Mesh)):
        mesh = UsdGeom.Mesh(prim)
        corners = np.array(mesh.GetPointsAttr().Get())[np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)]
        normals = np.array(mesh.GetNormalsAttr().Get())
        area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert mesh.GetNormalsInterpolation() == "uniform"
        assert (normals * area).sum(1) == pytest.approx(np.linalg.norm(area, axis=1), rel=1e-3, abs=1e-9)
    registry = UsdValidation.ValidationRegistry()
    context = UsdValidation.ValidationContext(registry.GetOrLoadAllValidators())
    found = [f"{e.GetName()}: {e.GetMessage()}" for e in context.Validate(stage) if not e.HasNoError()]
    assert found == []


def test_the_bodies_that_joints_connect_are_one_articulation_an_object(stage):
    roots = {p.GetName() for p in stage.Traverse() if p.HasAPI(UsdPhysics.ArticulationRootAPI)}
    joints = [UsdPhysics.Joint(p) for p in stage.Traverse() if p.IsA(UsdPhysics.Joint)]
    owner = {j.GetBody1Rel().GetTargets()[0]: j.GetBody0Rel().GetTargets()[0] for j in joints}
    for body in tuple(owner):
        while body in owner and owner[body].name != "World":
            body = owner[body]
        assert body.name in roots, body
    assert joints and len(roots) < len(joints), "one for several joints of an object"


def test_a_drawer_and_a_door_move_along_their_joints_to_their_limits(stage, twin):
    for name, value in (("cabinet/upper", 0.1), ("oven/flap", -0.7)):
        joint = next(
            p for p in stage.Traverse()
            if p.IsA(UsdPhysics.Joint)
            and str(UsdPhysics.Joint(p).GetBody1Rel().GetTargets()[0]).endswith(name.replace("/", "_"))
        )  # fmt: skip
        data = mujoco.MjData(twin)
        own = twin.joint(int(twin.body_jntadr[twin.body(name).id]))
        data.qpos[own.qposadr[0]] = value
        mujoco.mj_forward(twin, data)
        expected = np.eye(4)
        expected[:3, :3], expected[:3, 3] = data.body(name).xmat.reshape(3, 3), data.body(name).xpos
        assert np.abs(moved(stage, joint, value) - expected).max() < 1e-5, name
        unit = 1.0 if joint.IsA(UsdPhysics.PrismaticJoint) else np.pi / 180
        limits = joint.GetAttribute("physics:lowerLimit").Get(), joint.GetAttribute("physics:upperLimit").Get()
        assert np.array(limits) * unit == pytest.approx(own.range, abs=1e-5)


def moved(stage, prim, value):
    """Return the pose of a joint's second body when the joint is at `value`, in radians or metres."""
    joint, frames = UsdPhysics.Joint(prim), []
    for number in (0, 1):
        frame = np.eye(4)
        quat = getattr(joint, f"GetLocalRot{number}Attr")().Get()
        mujoco.mju_quat2Mat(flat := np.zeros(9), np.array([quat.GetReal(), *quat.GetImaginary()], float))
        frame[:3, :3], frame[:3, 3] = flat.reshape(3, 3), getattr(joint, f"GetLocalPos{number}Attr")().Get()
        frames.append(frame)
    motion = np.eye(4)
    if prim.IsA(UsdPhysics.PrismaticJoint):
        motion[0, 3] = value
    else:
        c, s = np.cos(value), np.sin(value)
        motion[1:3, 1:3] = [[c, -s], [s, c]]
    first = world_from(stage.GetPrimAtPath(joint.GetBody0Rel().GetTargets()[0]))
    return first @ frames[0] @ motion @ np.linalg.inv(frames[1])


def test_the_textured_box_is_drawn_with_its_texture_and_the_camera_sees_as_the_photographs(folder, stage, twin_folder):
    shown = next(p for p in stage.GetPrimAtPath("/World/picture").GetAllChildren() if p.IsA(UsdGeom.Mesh)
                 and UsdGeom.Imageable(p).ComputePurpose() == "default")  # fmt: skip
    material, _ = UsdShade.MaterialBindingAPI(shown).ComputeBoundMaterial()
    samplers = [UsdShade.Shader(p) for p in material.GetPrim().GetChildren()]
    files = [s.GetInput("file").Get() for s in samplers if s.GetIdAttr().Get() == "UsdUVTexture"]
    assert len(files) == 1 and files[0].resolvedPath and (folder / files[0].path).is_file()
    st = UsdGeom.PrimvarsAPI(shown).GetPrimvar("st")
    assert st.GetInterpolation() == "faceVarying"
    assert len(st.Get()) == len(UsdGeom.Mesh(shown).GetFaceVertexIndicesAttr().Get())
    scene = read_scene(twin_folder)
    k = scene.intrinsics
    assert k is not None
    point = np.array([0.05, -0.1, 0.04])
    seen = transform(np.linalg.inv(scene.world_from_camera), point)
    column, row = k.fx * seen[0] / seen[2] + k.cx, k.fy * seen[1] / seen[2] + k.cy
    camera = UsdGeom.Camera(stage.GetPrimAtPath("/World/photo")).GetCamera(Usd.TimeCode.Default())
    matrix = camera.frustum.ComputeViewMatrix() * camera.frustum.ComputeProjectionMatrix()
    projected = matrix.Transform(Gf.Vec3d(*point))
    assert (projected[0] + 1) / 2 * k.width - 0.5 == pytest.approx(column, abs=0.01)
    assert (1 - projected[1]) / 2 * k.height - 0.5 == pytest.approx(row, abs=0.01)
