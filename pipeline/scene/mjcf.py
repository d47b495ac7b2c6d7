"""The scene as a MuJoCo model. The only room that builds one from meshes.

Groups: 0 the room (table, floor), 2 what objects look like, 3 what they collide with. A body's frame is the centre of
its object's size box. Contacts are stiffer than MuJoCo's default, so that resting things sink by less than 0.1 mm.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.frame import Intrinsics
from pipeline.geometry import Pose
from pipeline.scene import articulated, meshes
from pipeline.scene.placement import Placement, Scene, SceneError

MARGIN = 0.10
"""Metres of table added around what was seen of it, so that nothing near its edge falls."""
THICKNESS = 0.04
FLOOR = -0.75
LOOK, COLLIDE = 2, 3
FOOT = 0.004
"""Height in metres of the flat foot given to things that would not stand."""
PROP = 0.5
"""Share of a thing's width and depth that the block under it has: it should not be seen, nor touch others."""
PROP_BIT = 2
"""Contact bit between such a block and what it holds: nothing else is pushed by what was only guessed."""
SOLREF, SOLIMP = (0.01, 1.0), (0.95, 0.99, 0.001, 0.5, 2.0)


def build(scene: Scene, looks: bool = True) -> mujoco.MjSpec:
    """The model of a scene, its files in `spec.assets`; compiles as it is. Raises SceneError.

    Without looks it has only what collides, in one piece and shut where it has joints, and compiles several times
    faster.
    """
    spec = mujoco.MjSpec()
    spec.modelname = "twin"
    _options(spec)
    _room(spec, scene)
    for placement in scene.placements:
        _add(spec, placement, looks)
        if placement.prop:
            _put_prop(spec, placement)
    if scene.intrinsics is not None:
        add_camera(spec, scene.intrinsics, scene.world_from_camera)
    return spec


def alone(p: Placement) -> mujoco.MjSpec:
    """One object by itself: free, its foot at z = 0, its files in `spec.assets`. Raises SceneError."""
    spec = mujoco.MjSpec()
    spec.modelname = p.name
    _options(spec)
    stands = replace(Pose.identity(), pos=np.array([0, 0, p.size[2] / 2]))
    _add(spec, replace(p, fixed=False, world_from_object=stands), looks=True)
    return spec


def compile_spec(spec: mujoco.MjSpec) -> mujoco.MjModel:
    """Compiled. Raises SceneError with MuJoCo's own words."""
    try:
        return spec.compile()
    except ValueError as error:
        raise SceneError(f"MuJoCo refuses the scene: {str(error).splitlines()[0]}") from error


def write(scene: Scene, folder: Path) -> Path:
    """folder/scene.xml with its meshes and textures beside it; what lay there of an earlier twin is removed."""
    spec = build(scene)
    compile_spec(spec)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.suffix in (".obj", ".mtl", ".png", ".xml", ".stl", ".msh", ".jpg") and old.is_file():
            old.unlink()
    for name, data in spec.assets.items():
        (folder / name).write_bytes(data)
    (folder / "scene.xml").write_text(spec.to_xml(), encoding="utf-8")
    return folder / "scene.xml"


def load_spec(folder: Path) -> mujoco.MjSpec:
    """A twin's scene.xml as a specification that can be edited and compiled again. Raises SceneError."""
    try:
        return mujoco.MjSpec.from_file(str(folder / "scene.xml"))
    except ValueError as error:
        raise SceneError(f"{folder.name}/scene.xml cannot be read: {str(error).splitlines()[0]}") from error


def add_camera(spec: mujoco.MjSpec, k: Intrinsics, world_from_camera: np.ndarray) -> None:
    """The photograph's own camera, named "photo". MuJoCo looks along -z with y up; its pixels start at their corner."""
    pose = np.asarray(world_from_camera) @ np.diag([1.0, -1, -1, 1])
    spec.worldbody.add_camera(
        name="photo",
        pos=pose[:3, 3],
        quat=_quat(pose[:3, :3]),
        resolution=[k.width, k.height],
        sensor_size=[k.width * 1e-5, k.height * 1e-5],
        focal_pixel=[k.fx, k.fy],
        principal_pixel=[k.width / 2 - k.cx - 0.5, k.height / 2 - k.cy - 0.5],  # MuJoCo counts the other way
    )
    spec.visual.global_.offwidth = max(k.width, 640)
    spec.visual.global_.offheight = max(k.height, 480)


def contact(friction: float, rolls: bool = False) -> dict:
    """The contact settings of everything here; things that roll also resist rolling, or they never come to rest."""
    return {
        "friction": [friction, 0.005, 0.001],
        "condim": 6 if rolls else 4,
        "solref": list(SOLREF),
        "solimp": list(SOLIMP),
    }


def table_slab(scene: Scene) -> tuple[np.ndarray, np.ndarray, float]:
    """Centre (2,), half extents (2,) and turn about z of the least rectangle over the seen table and all on it."""
    feet = [p.footprint for p in scene.placements]
    (x, y), (a, b), turn = cv2.minAreaRect(np.vstack([scene.table, *feet]).astype(np.float32))
    return np.array([x, y]), np.array([a, b]) / 2 + MARGIN, np.radians(turn)


def _options(spec: mujoco.MjSpec) -> None:
    spec.option.timestep = 0.002
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    # MuJoCo 4.0.0's sparse Newton solver can get its Hessian wrong (fixed in 4.0.1)
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    spec.visual.quality.shadowsize = 4096
    spec.visual.headlight.ambient = [0.45] * 3
    spec.visual.headlight.diffuse = [0.35] * 3
    spec.visual.headlight.specular = [0.05] * 3
    spec.visual.map.znear, spec.visual.map.zfar = 0.02, 12
    spec.stat.extent, spec.stat.center = 1.0, [0, 0, 0.1]


def _room(spec: mujoco.MjSpec, scene: Scene) -> None:
    spec.add_texture(name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
                     rgb1=[0.86, 0.88, 0.90], rgb2=[0.62, 0.66, 0.70], width=64, height=384)  # fmt: skip
    centre, half, turn = table_slab(scene)
    # a spot: MuJoCo's directional lights speckle large flat things with their own shadow
    spec.worldbody.add_light(type=mujoco.mjtLightType.mjLIGHT_SPOT, pos=[*(centre - [0.5, 0.4]), 2],
                             dir=[0.25, 0.2, -1], cutoff=60, exponent=1,
                             diffuse=[0.6] * 3, specular=[0.1] * 3, castshadow=True)  # fmt: skip
    table = np.append(np.asarray(scene.table_rgb) / 255, 1)
    spec.worldbody.add_geom(
        name="table", type=mujoco.mjtGeom.mjGEOM_BOX, rgba=table, pos=[*centre, -THICKNESS / 2],
        size=[*half, THICKNESS / 2], quat=[np.cos(turn / 2), 0, 0, np.sin(turn / 2)], **contact(0.8),
    )  # fmt: skip
    spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, pos=[*centre, FLOOR], size=[4, 4, 0.1],
                            rgba=[0.55, 0.56, 0.58, 1], **contact(0.8))  # fmt: skip


def _add(spec: mujoco.MjSpec, p: Placement, looks: bool) -> None:
    if not re.fullmatch(r"[\w-]+", p.name) or p.name in ("world", "table", "floor") or spec.body(p.name) is not None:
        raise SceneError(
            f'"{p.name}" cannot name a body; use letters, digits and "_", each name once, not world, table, floor'
        )
    if not (np.isfinite(p.size).all() and (p.size > 0).all() and np.isfinite(p.world_from_object.matrix).all()):
        raise SceneError(f"{p.name} has no proper size or pose; measure or move it again")
    skin = meshes.skin(p.mesh)
    if looks and p.model is not None:
        _attach(spec, p, skin)
        return
    body = spec.worldbody.add_body(name=p.name, pos=p.world_from_object.pos, quat=p.world_from_object.quat_wxyz)
    if not p.fixed:
        body.add_freejoint(name=p.name)
    # the size box decides: whatever the file's units and origin are, its box becomes the placement's
    scale = p.size / np.maximum(skin.bounds[1] - skin.bounds[0], 1e-9)
    middle = skin.bounds.mean(0)
    if looks:
        _look(spec, body, p, skin, scale, -middle * scale)
    _collide(spec, body, p, scale, middle)
    if p.model is not None:
        body.mass, body.ipos, total = articulated.shut(p)
        body.fullinertia = [*np.diag(total), total[0, 1], total[0, 2], total[1, 2]]
        body.explicitinertial = True


def _attach(spec: mujoco.MjSpec, p: Placement, skin: meshes.Skin) -> None:
    """A thing with joints; its mesh and pieces lie beside the model for what needs it in one piece."""
    files = articulated.attach(spec, p, contact(p.friction))
    files |= {f"{p.name}.obj": f"mtllib {p.name}.mtl\nusemtl skin\n".encode() + skin.obj}
    files |= {f"{p.name}.mtl": _mtl(p.name, skin.rgb or (0.5, 0.5, 0.5), skin.texture is not None)}
    if skin.texture is not None:
        files |= {f"{p.name}.png": skin.texture}
    for i, path in enumerate(p.collision or (p.mesh,)):
        files |= {f"{p.name}.{i}.obj": meshes.collider(path).obj}
    spec.assets |= files
    if p.foot:
        _put_foot(spec.body(p.name), p)


def _look(spec, body, p: Placement, skin: meshes.Skin, scale: np.ndarray, pos: np.ndarray) -> None:
    colour = skin.rgb or tuple(c / 255 for c in p.rgb)
    spec.assets |= {f"{p.name}.obj": f"mtllib {p.name}.mtl\nusemtl skin\n".encode() + skin.obj}
    spec.assets |= {f"{p.name}.mtl": _mtl(p.name, colour, skin.texture is not None)}
    spec.add_mesh(name=p.name, file=f"{p.name}.obj", scale=scale, inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL)
    material = spec.add_material(name=p.name, specular=0.2, shininess=0.3, rgba=[*colour, 1])
    if skin.texture is not None:
        spec.assets |= {f"{p.name}.png": skin.texture}
        spec.add_texture(name=p.name, type=mujoco.mjtTexture.mjTEXTURE_2D, file=f"{p.name}.png")
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = p.name
    body.add_geom(name=f"{p.name}:look", type=mujoco.mjtGeom.mjGEOM_MESH, meshname=p.name, material=p.name, pos=pos,
                  group=LOOK, contype=0, conaffinity=0, mass=0)  # fmt: skip


def _collide(spec, body, p: Placement, scale: np.ndarray, middle: np.ndarray) -> None:
    pieces = [meshes.collider(path) for path in p.collision or (p.mesh,)]
    total, mass = sum(piece.volume for piece in pieces), p.mass * (0.7 if p.foot else 1.0)
    for i, piece in enumerate(pieces):
        settings = contact(p.friction, rolls=piece.kind == "sphere" or (piece.kind == "cylinder" and len(pieces) == 1))
        settings |= {
            "name": f"{p.name}:{i}",
            "mass": mass * piece.volume / total,
            "group": COLLIDE,
            "rgba": [0.2, 0.6, 0.9, 0.5],
        }
        spec.assets |= {f"{p.name}.{i}.obj": piece.obj}
        half = (piece.bounds[1] - piece.bounds[0]) * scale / 2
        at = (piece.bounds.mean(0) - middle) * scale
        match piece.kind:
            case "box":
                body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=half, pos=at, **settings)
            case "cylinder":
                body.add_geom(
                    type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[half[:2].mean(), half[2], 0], pos=at, **settings
                )
            case "sphere":
                body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[half.mean(), 0, 0], pos=at, **settings)
            case "mesh":
                spec.add_mesh(name=f"{p.name}:{i}", file=f"{p.name}.{i}.obj", scale=scale, maxhullvert=64,
                              inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX)  # fmt: skip
                body.add_geom(
                    type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"{p.name}:{i}", pos=-middle * scale, **settings
                )
    if p.foot:
        _put_foot(body, p)


def _put_foot(body: mujoco.MjsBody, p: Placement) -> None:
    half = np.append(p.size[:2] / 2, FOOT / 2)
    body.add_geom(name=f"{p.name}:foot", type=mujoco.mjtGeom.mjGEOM_BOX, size=half, mass=0.3 * p.mass,
                  pos=[0, 0, (FOOT - p.size[2]) / 2], group=COLLIDE, rgba=[0.9, 0.6, 0.2, 0.5],
                  **contact(p.friction))  # fmt: skip


def _put_prop(spec: mujoco.MjSpec, p: Placement) -> None:
    (x, y), (a, b), turn = cv2.minAreaRect(p.footprint.astype(np.float32))
    turn, half = np.radians(turn) / 2, PROP * np.array([a, b]) / 2
    spec.worldbody.add_geom(
        name=f"{p.name}:prop", type=mujoco.mjtGeom.mjGEOM_BOX, pos=[x, y, p.prop / 2], size=[*half, p.prop / 2],
        quat=[np.cos(turn), 0, 0, np.sin(turn)], rgba=[0.6, 0.6, 0.62, 1],
        **contact(p.friction) | {"contype": PROP_BIT, "conaffinity": 0},
    )  # fmt: skip
    for geom in spec.body(p.name).geoms:
        if geom.conaffinity:
            geom.conaffinity |= PROP_BIT


def _mtl(name: str, rgb: Sequence[float], textured: bool) -> bytes:
    """What MuJoCo leaves unread, and every other program needs to find the texture."""
    texture = f"map_Kd {name}.png\n" if textured else ""
    return f"newmtl skin\nKd {rgb[0]:.4f} {rgb[1]:.4f} {rgb[2]:.4f}\n{texture}".encode()


def _quat(rotation: np.ndarray) -> np.ndarray:
    return Rotation.from_matrix(rotation).as_quat(scalar_first=True)
