"""Build the MuJoCo model of a scene.

Geom groups: 0 for table, shelves and floor, 2 for visual geoms, 3 for collision geoms, 4 for a bin's walls. Sites of
affordances are in group 4, because MuJoCo's renderer and viewer draw the groups 0 to 2 unless told otherwise. A body's
frame is the centre of its object's size box. Contacts are stiffer than MuJoCo's default, so that resting objects sink
in by less than 0.1 mm.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.frame import Intrinsics
from pipeline.geometry import Pose, quat_about_z
from pipeline.scene.appearance import recolour
from pipeline.scene.mjcf import articulated_body, mesh_export
from pipeline.scene.mjcf.mesh_export import portable_xml
from pipeline.scene.mjcf.table_edge import LEAST_MARGIN_M, least_rectangle
from pipeline.scene.placement import Placement, Scene, SceneError, Shelf, Wall

TABLE_THICKNESS_M = 0.04
TABLE_PICTURE = "table.png"
MAIN_LIGHT = "main"
"""Name of the light that casts shadows."""
DEFAULT_LIGHT = (-0.25, -0.2, 1.0)
"""Direction towards the main light where the photograph does not tell it."""
LIGHT_DISTANCE_M = 2.1
"""Distance of the main light from the middle of the table."""
MAIN_BRIGHTNESS = 0.5
"""Of the main light where the photograph tells its direction; 1 shows a surface that faces it in its own colour."""
VISUAL_GROUP, COLLISION_GROUP, WALL_GROUP, SITE_GROUP = 2, 3, 4, 4
FOOT_HEIGHT_M = 0.004
"""Height of the flat foot of objects that would topple."""
PROP_CONTACT_BIT = 2
"""Contact bit between such a block and its object. The block is a guess, so nothing else collides with it."""


WALL_DEPTH_M = 0.1
"""Metres that a bin's wall reaches below the floor, so that what overlaps it is pushed aside and not over it."""


class Slab(NamedTuple):
    """The rectangle of the table's or a shelf's top in the world."""

    centre: np.ndarray
    """Of shape (2,), in metres."""
    half: np.ndarray
    """Half extents along its own axes, of shape (2,), in metres."""
    yaw: float
    """Of its x axis, in radians."""


class RoomLight(NamedTuple):
    """The light of a twin. Where all add to 1, a surface that faces camera and lamp has its own colour."""

    towards: np.ndarray
    """Unit vector to the main lamp, in world axes, of shape (3,)."""
    ambient: float
    """From all sides."""
    ahead: float
    """From the camera."""
    main: float
    """From the lamp."""


def build_spec(scene: Scene, visuals: bool = True, whole: Scene | None = None) -> mujoco.MjSpec:
    """Return the specification of a scene's model, its files in `spec.assets`. Raises SceneError.

    Without visuals it has collision geoms only, and articulated objects are rigid and closed. It then compiles several
    times faster. Of a scene with some of the objects, `whole` has them all: table and shelves are as large as there.
    """
    spec = mujoco.MjSpec()
    spec.modelname = "twin"
    _options(spec)
    _room(spec, whole or scene, visuals)
    for placement in scene.placements:
        _add_object(spec, placement, visuals)
        if placement.prop:
            _add_prop(spec, placement)
        for wall in (one for one in scene.walls if placement.segment_id in one.not_touched):
            body: Any = spec.body(placement.name)
            for part in (body, *body.find_all(mujoco.mjtObj.mjOBJ_BODY)):
                spec.add_exclude(name=f"{wall.name}:{part.name}", bodyname1=wall.name, bodyname2=part.name)
    if scene.intrinsics is not None:
        add_camera(spec, scene.intrinsics, scene.world_from_camera)
    return spec


def build_object(p: Placement) -> mujoco.MjSpec:
    """Return the specification of one free object on z = 0, its files in `spec.assets`. Raises SceneError."""
    spec = mujoco.MjSpec()
    spec.modelname = p.name
    _options(spec)
    standing = replace(Pose.identity(), pos=np.array([0, 0, p.size[2] / 2]))
    _add_object(spec, replace(p, fixed=False, world_from_object=standing), visuals=True)
    return spec


def compile_spec(spec: mujoco.MjSpec) -> mujoco.MjModel:
    """Compile a specification. Raises SceneError with MuJoCo's message."""
    try:
        return spec.compile()
    except ValueError as error:
        raise SceneError(f"MuJoCo rejects the scene: {str(error).splitlines()[0]}") from error


def write_mjcf(scene: Scene, folder: Path) -> Path:
    """Write scene.xml, its meshes and textures to `folder`, in place of an earlier twin's files; return its path."""
    spec = build_spec(scene)
    compile_spec(spec)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.suffix in (".obj", ".mtl", ".png", ".xml", ".stl", ".msh", ".jpg") and old.is_file():
            old.unlink()
    for name, data in spec.assets.items():
        (folder / name).write_bytes(data)
    (folder / "scene.xml").write_text(portable_xml(spec), encoding="utf-8")
    return folder / "scene.xml"


def load_spec(folder: Path) -> mujoco.MjSpec:
    """Return a twin's scene.xml as a specification that can be edited and compiled. Raises SceneError."""
    try:
        return mujoco.MjSpec.from_file(str(folder / "scene.xml"))
    except ValueError as error:
        raise SceneError(f"{folder.name}/scene.xml cannot be read: {str(error).splitlines()[0]}") from error


def add_camera(spec: mujoco.MjSpec, k: Intrinsics, world_from_camera: np.ndarray) -> None:
    """Add the photograph's camera, named "photo". MuJoCo's cameras look along -z with y up.

    MuJoCo measures the principal point from the image's corner, the intrinsics from the first pixel's centre.
    """
    pose = np.asarray(world_from_camera) @ np.diag([1.0, -1, -1, 1])
    spec.worldbody.add_camera(
        name="photo",
        pos=pose[:3, 3],
        quat=_quat(pose[:3, :3]),
        resolution=[k.width, k.height],
        sensor_size=[k.width * 1e-5, k.height * 1e-5],
        focal_pixel=[k.fx, k.fy],
        principal_pixel=[k.width / 2 - k.cx - 0.5, k.height / 2 - k.cy - 0.5],  # the opposite sign in MuJoCo
    )
    spec.visual.global_.offwidth = max(k.width, 640)
    spec.visual.global_.offheight = max(k.height, 480)


def _contact_settings(friction: float, rolls: bool = False) -> dict:
    """Return the contact settings of an object. One that rolls gets rolling friction, or it never comes to rest."""
    return {
        "friction": [friction, 0.005, 0.001],
        "condim": 6 if rolls else 4,
        "solref": list((0.01, 1.0)),
        "solimp": list((0.95, 0.99, 0.001, 0.5, 2.0)),
    }


def table_slab(scene: Scene) -> Slab:
    """Return the rectangle of the table: its visible outline and its margins, and all objects that no shelf carries."""
    seen = least_rectangle(scene.table)
    low, high = -seen.half - scene.table_margins[::2], seen.half + scene.table_margins[1::2]
    for p in scene.placements:
        if not any(shelf.carries(p) for shelf in scene.shelves):
            own = (p.footprint - seen.centre) @ seen.axes.T
            # so that an object at the very edge does not fall
            low, high = np.minimum(low, own.min(0) - LEAST_MARGIN_M), np.maximum(high, own.max(0) + LEAST_MARGIN_M)
    return Slab(seen.centre + (low + high) / 2 @ seen.axes, (high - low) / 2, seen.yaw)


def shelf_slab(scene: Scene, shelf: Shelf) -> Slab:
    """Return the least rectangle below the visible shelf and the objects on it. A margin would stand in others' way."""
    around = least_rectangle(np.vstack([shelf.outline, *(p.footprint for p in scene.placements if shelf.carries(p))]))
    return Slab(around.centre, around.half, around.yaw)


def _options(spec: mujoco.MjSpec) -> None:
    spec.option.timestep = 0.002
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    # MuJoCo 4.0.0's sparse Newton solver can get its Hessian wrong (fixed in 4.0.1)
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    spec.visual.quality.shadowsize = 4096
    spec.visual.headlight.specular = [0.05] * 3
    spec.visual.map.znear, spec.visual.map.zfar = 0.02, 12
    spec.stat.extent, spec.stat.center = 1.0, [0, 0, 0.1]


def room_light(scene: Scene) -> RoomLight:
    """Return the light of a twin: the photograph's, or a default one."""
    if scene.light is not None:
        return RoomLight(scene.light.direction, 0.4, 0.25, MAIN_BRIGHTNESS)
    # without a known direction the room is lit from all sides, so that shadows are faint (docs/results/twin.md)
    return RoomLight(np.array(DEFAULT_LIGHT) / np.linalg.norm(DEFAULT_LIGHT), 0.65, 0.3, 0.2)


def _room(spec: mujoco.MjSpec, scene: Scene, visuals: bool) -> None:
    spec.add_texture(name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
                     rgb1=[0.86, 0.88, 0.90], rgb2=[0.62, 0.66, 0.70], width=64, height=384)  # fmt: skip
    centre = table_slab(scene).centre
    towards, ambient, ahead, main = room_light(scene)
    spec.visual.headlight.ambient, spec.visual.headlight.diffuse = [ambient] * 3, [ahead] * 3
    # a spot light: a directional light's shadows speckle large flat surfaces
    spec.worldbody.add_light(name=MAIN_LIGHT, type=mujoco.mjtLightType.mjLIGHT_SPOT, dir=-towards,
                             pos=np.append(centre, 0) + LIGHT_DISTANCE_M * towards, cutoff=60, exponent=1,
                             diffuse=[main] * 3, specular=[0.1] * 3, castshadow=True)  # fmt: skip
    table = _add_board(spec.worldbody, "table", table_slab(scene), 0.0, TABLE_THICKNESS_M)
    for shelf in scene.shelves:
        body = spec.worldbody.add_body(name=shelf.name)
        board = _add_board(body, shelf.name, shelf_slab(scene, shelf), shelf.height, shelf.thickness)
        board.rgba = np.append(np.asarray(shelf.rgb) / 255, 1)
    for wall in scene.walls:
        _add_wall(spec.worldbody.add_body(name=wall.name), wall)
    if scene.table_png is None or not visuals:
        table.rgba = np.append(np.asarray(scene.table_rgb) / 255, 1)
    else:
        table.material = _table_material(spec, scene.table_png)
    spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, pos=[*centre, -0.75], size=[4, 4, 0.1],
                            rgba=[0.55, 0.56, 0.58, 1], **_contact_settings(0.8))  # fmt: skip


def _add_board(body: mujoco.MjsBody, name: str, slab: Slab, top: float, thickness: float) -> mujoco.MjsGeom:
    """Add a level box with its top at a height in metres."""
    return body.add_geom(
        name=name, type=mujoco.mjtGeom.mjGEOM_BOX, pos=[*slab.centre, top - thickness / 2],
        size=[*slab.half, thickness / 2], quat=quat_about_z(slab.yaw), **_contact_settings(0.8),
    )  # fmt: skip


def _add_wall(body: mujoco.MjsBody, wall: Wall) -> None:
    """Add a leaning box that touches things and is not drawn: the background shows what the photograph does of it."""
    foot = least_rectangle(wall.outline)
    up = np.array([*wall.lean, 1.0])
    length = float(np.linalg.norm(up))
    along = np.append(foot.axes[int(np.argmax(foot.half))], 0.0)
    rotation = np.column_stack([along, np.cross(up / length, along), up / length])
    pos = np.append(foot.centre, 0.0) + up * (wall.height - WALL_DEPTH_M) / 2
    body.add_geom(
        name=wall.name, type=mujoco.mjtGeom.mjGEOM_BOX, pos=pos, quat=Pose.from_rotation(pos, rotation).quat_wxyz,
        size=[float(foot.half.max()), float(foot.half.min()), (wall.height + WALL_DEPTH_M) * length / 2],
        rgba=np.append(np.asarray(wall.rgb) / 255, 0.5), group=WALL_GROUP, **_contact_settings(0.8),
    )  # fmt: skip


def _table_material(spec: mujoco.MjSpec, png: bytes) -> str:
    """Add the material that shows a picture once on the table's top; return its name."""
    spec.assets |= {TABLE_PICTURE: png}
    spec.add_texture(name="table", type=mujoco.mjtTexture.mjTEXTURE_2D, file=TABLE_PICTURE)
    material = spec.add_material(name="table", specular=0.1, shininess=0.2)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "table"
    return material.name


def _add_object(spec: mujoco.MjSpec, p: Placement, visuals: bool) -> None:
    if not re.fullmatch(r"[\w-]+", p.name) or p.name in ("world", "table", "floor") or spec.body(p.name) is not None:
        raise SceneError(
            f'"{p.name}" cannot name a body; use letters, digits and "_", each name once, not world, table, floor'
        )
    if not (np.isfinite(p.size).all() and (p.size > 0).all() and np.isfinite(p.world_from_object.matrix).all()):
        raise SceneError(f"{p.name} has no valid size or pose; measure or move it again")
    visual = recolour.visual_mesh(p.mesh, p.recolour if visuals else None)
    if p.look is not None:
        visual = replace(visual, obj=p.look.obj, texture=p.look.texture, rgb=(1.0, 1.0, 1.0))
    if visuals and p.model is not None:
        _add_articulated(spec, p, visual)
        return
    body = spec.worldbody.add_body(name=p.name, pos=p.world_from_object.pos, quat=p.world_from_object.quat_wxyz)
    if not p.fixed:
        body.add_freejoint(name=p.name)
    # whatever the units and origin of the file are, its box becomes the placement's size box
    scale = p.size / np.maximum(visual.bounds[1] - visual.bounds[0], 1e-9)
    centre = visual.bounds.mean(0)
    if visuals:
        _add_visual(spec, body, p, visual, scale)
    _add_collision(spec, body, p, scale, centre)
    for name, point in p.affordances.items():
        body.add_site(name=f"{p.name}:{name}", pos=point, size=[0.005] * 3, group=SITE_GROUP)
    if p.model is not None:
        closed = articulated_body.closed_inertia(p)
        inertia = closed.inertia
        body.mass, body.ipos = closed.mass, closed.centre
        body.fullinertia = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        body.explicitinertial = True


def _add_articulated(spec: mujoco.MjSpec, p: Placement, visual: mesh_export.VisualMesh) -> None:
    """Add an object with joints. Its rigid mesh and collision pieces are written too, for whoever needs them."""
    files = articulated_body.attach_model(spec, p, _contact_settings(p.friction))
    files |= {f"{p.name}.obj": f"mtllib {p.name}.mtl\nusemtl skin\n".encode() + visual.obj}
    files |= {f"{p.name}.mtl": _mtl(p.name, visual.rgb or (0.5, 0.5, 0.5), visual.texture is not None)}
    if visual.texture is not None:
        files |= {f"{p.name}.png": visual.texture}
    for i, path in enumerate(p.collision or (p.mesh,)):
        files |= {f"{p.name}.{i}.obj": mesh_export.collider(path).obj}
    spec.assets |= files
    if p.foot:
        _add_foot(spec.body(p.name), p)


def _add_visual(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, p: Placement, visual: mesh_export.VisualMesh, scale: np.ndarray
) -> None:
    pos = -visual.bounds.mean(0) * scale
    colour = visual.rgb or tuple(c / 255 for c in p.rgb)
    spec.assets |= {f"{p.name}.obj": f"mtllib {p.name}.mtl\nusemtl skin\n".encode() + visual.obj}
    spec.assets |= {f"{p.name}.mtl": _mtl(p.name, colour, visual.texture is not None)}
    spec.add_mesh(name=p.name, file=f"{p.name}.obj", scale=scale, inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL)
    material = spec.add_material(name=p.name, specular=0.2, shininess=0.3, rgba=[*colour, 1])
    if visual.texture is not None:
        spec.assets |= {f"{p.name}.png": visual.texture}
        spec.add_texture(name=p.name, type=mujoco.mjtTexture.mjTEXTURE_2D, file=f"{p.name}.png")
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = p.name
    body.add_geom(name=f"{p.name}:look", type=mujoco.mjtGeom.mjGEOM_MESH, meshname=p.name, material=p.name, pos=pos,
                  group=VISUAL_GROUP, contype=0, conaffinity=0, mass=0)  # fmt: skip


def _add_collision(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, p: Placement, scale: np.ndarray, centre: np.ndarray
) -> None:
    colliders = [mesh_export.collider(path) for path in p.collision or (p.mesh,)]
    total, mass = sum(collider.volume for collider in colliders), p.mass * (0.7 if p.foot else 1.0)
    for i, collider in enumerate(colliders):
        settings = _contact_settings(
            p.friction, rolls=collider.kind == "sphere" or (collider.kind == "cylinder" and len(colliders) == 1)
        )
        settings |= {
            "name": f"{p.name}:{i}",
            "mass": mass * collider.volume / total,
            "group": COLLISION_GROUP,
            "rgba": [0.2, 0.6, 0.9, 0.5],
        }
        spec.assets |= {f"{p.name}.{i}.obj": collider.obj}
        half = (collider.bounds[1] - collider.bounds[0]) * scale / 2
        at = (collider.bounds.mean(0) - centre) * scale
        match collider.kind:
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
                    type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"{p.name}:{i}", pos=-centre * scale, **settings
                )
    if p.foot:
        _add_foot(body, p)


def _add_foot(body: mujoco.MjsBody, p: Placement) -> None:
    half = np.append(p.size[:2] / 2, FOOT_HEIGHT_M / 2)
    body.add_geom(name=f"{p.name}:foot", type=mujoco.mjtGeom.mjGEOM_BOX, size=half, mass=0.3 * p.mass,
                  pos=[0, 0, (FOOT_HEIGHT_M - p.size[2]) / 2], group=COLLISION_GROUP, rgba=[0.9, 0.6, 0.2, 0.5],
                  **_contact_settings(p.friction))  # fmt: skip


def _add_prop(spec: mujoco.MjSpec, p: Placement) -> None:
    (x, y), (a, b), angle = cv2.minAreaRect(p.footprint.astype(np.float32))
    # Width and depth of the block under an object, relative to the object's: it should be hidden and touch no other
    half = 0.5 * np.array([a, b]) / 2
    spec.worldbody.add_geom(
        name=f"{p.name}:prop", type=mujoco.mjtGeom.mjGEOM_BOX, pos=[x, y, p.prop / 2], size=[*half, p.prop / 2],
        quat=quat_about_z(np.radians(angle)), rgba=[0.6, 0.6, 0.62, 1],
        **_contact_settings(p.friction) | {"contype": PROP_CONTACT_BIT, "conaffinity": 0},
    )  # fmt: skip
    for geom in spec.body(p.name).geoms:
        if geom.conaffinity:
            geom.conaffinity |= PROP_CONTACT_BIT


def _mtl(name: str, rgb: Sequence[float], textured: bool) -> bytes:
    """Return an MTL file. MuJoCo ignores it, but other programs need it to find the texture."""
    texture = f"map_Kd {name}.png\n" if textured else ""
    return f"newmtl skin\nKd {rgb[0]:.4f} {rgb[1]:.4f} {rgb[2]:.4f}\n{texture}".encode()


def _quat(rotation: np.ndarray) -> np.ndarray:
    return Rotation.from_matrix(rotation).as_quat(scalar_first=True)
