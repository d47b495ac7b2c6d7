"""Apply a condition to a twin: the scene with other objects, and a folder that programs run on."""

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.assets import Library
from pipeline.assets.asset import Asset
from pipeline.geometry import Pose
from pipeline.scene import Placement, Scene
from pipeline.scene.mjcf.builder import MAIN_BRIGHTNESS
from pipeline.scene.scene_files import write_scene
from pipeline.simulation import free_space
from pipeline.simulation.cameras import FILE as CAMERAS
from pipeline.simulation.objects import Object, Region, hull
from pipeline.store import write_json, write_text
from pipeline.variation.condition import PICTURE, Condition

PICTURE_FILE = "picture.json"
"""What a condition changes of all cameras' pictures; cameras.json keeps the cameras that a person placed."""
GAP_M = 0.008
"""Kept between objects that pose noise moves."""


def varied_scene(scene: Scene, condition: Condition, library: Library | None) -> Scene:
    """Return the scene under a condition. An object that would touch another one keeps its place.

    Masses and frictions are those of the condition; an object's bottom stays where it is.
    """
    placements = [_varied(p, condition, library) for p in scene.placements]
    for number, before in enumerate(scene.placements):
        shift = [condition.values.get(f"{before.name}.{axis}") for axis in ("x", "y", "yaw")]
        if shift[0] is None:
            continue
        others = placements[:number] + placements[number + 1 :]
        moved = _moved(placements[number], *(float(value) for value in shift))  # type: ignore[arg-type]
        if _is_free(moved, others, scene):
            placements[number] = moved
    for number in range(1, int(condition.values["distractors"]) + 1):
        assert library is not None
        extra = _distractor(number, library[str(condition.values[f"distractor_{number}"])], placements, scene)
        placements += [extra] if extra else []
    return replace(scene, placements=tuple(placements))


def _varied(p: Placement, condition: Condition, library: Library | None) -> Placement:
    values = condition.values
    asset_id = values.get(f"{p.name}.asset", p.asset_id)
    if library is not None and asset_id and asset_id != p.asset_id:
        p = _with_asset(p, library[str(asset_id)])
    factor = float(values.get(f"{p.name}.size", 1.0))
    if factor != 1:
        p = _lifted(p.resized(factor), p)
    mass, friction = (values.get(f"{p.name}.{name}") for name in ("mass", "friction"))
    return p if mass is None else replace(p, mass=float(mass), friction=float(friction or p.friction))


def _with_asset(p: Placement, asset: Asset) -> Placement:
    """Return an object as another asset of the same volume, upright, with its name."""
    scale = float(np.clip((np.prod(p.size) / np.prod(asset.size)) ** (1 / 3), 0.5, 2.0))
    changed = replace(
        p, asset_id=asset.id, scale=scale, size=asset.size * scale, mesh=asset.mesh, collision=asset.collision,
        model=None, joints=(), licence=asset.licence, provenance=asset.provenance, foot=False, machine_pose=None,
        recolour=None, printed=False, look=None, affordances={},
    )  # fmt: skip
    return _lifted(changed, p)


def _lifted(changed: Placement, before: Placement) -> Placement:
    """Return the changed object with the bottom of the former one."""
    pose = changed.world_from_object
    up = np.array([0, 0, before.bottom - changed.bottom])
    return replace(changed, world_from_object=Pose(pose.pos + up, pose.quat_wxyz))


def _moved(p: Placement, x: float, y: float, yaw: float) -> Placement:
    pose = p.world_from_object
    turn = Rotation.from_euler("z", yaw) * Rotation.from_quat(pose.quat_wxyz, scalar_first=True)
    return replace(p, world_from_object=Pose(pose.pos + np.array([x, y, 0.0]), turn.as_quat(scalar_first=True)))


def _is_free(p: Placement, others: Sequence[Placement], scene: Scene) -> bool:
    """Whether an object stands on the visible table and apart from all others, seen from above."""
    table, outline = Region(hull(scene.table)), hull(p.footprint)
    if table.depth(outline).min() < 0 or (free_space.clearance(outline, scene.shelves) < GAP_M).any():
        return False
    for other in others:
        blocked = Region(
            hull((hull(other.footprint)[:, None] - (outline - p.world_from_object.pos[:2])).reshape(-1, 2))
        )
        if float(blocked.distance(p.world_from_object.pos[:2])) < GAP_M:
            return False
    return True


def _distractor(number: int, asset: Asset, placements: Sequence[Placement], scene: Scene) -> Placement | None:
    """Return a distractor on the free place of the table that is farthest from everything; None without a place."""
    obstacles = [as_object(p) for p in placements]
    radius = float(np.hypot(*asset.size[:2]) / 2)
    places = free_space.free_places(Region(hull(scene.table)), [*obstacles, *scene.shelves], radius, GAP_M)
    if not len(places):
        return None
    xy = places[int(free_space.clearance(places, obstacles).argmax())]
    return Placement(
        # Segment id of the first distractor; segments of masks are numbered from 1
        name=f"distractor_{number}", segment_id=10_000 + number, asset_id=asset.id, scale=1.0, size=asset.size,
        world_from_object=Pose(np.array([*xy, asset.size[2] / 2]), np.array([1.0, 0, 0, 0])), mesh=asset.mesh,
        collision=asset.collision, mass=asset.mass, friction=asset.friction, category=asset.category,
        shape="irregular", container=asset.container, licence=asset.licence, provenance=asset.provenance,
    )  # fmt: skip


def as_object(p: Placement) -> Object:
    """Return a placement as the kit knows it, without its parts."""
    pose, outline = p.world_from_object, hull(p.footprint)
    return Object(
        p.name, p.category, p.shape, p.colour, p.rgb, p.size, pose.pos, pose.quat_wxyz, outline, p.top, p.bottom,
        fill=p.fill,
    )  # fmt: skip


def write_varied(project_dir: Path, scene: Scene, condition: Condition, folder: Path) -> str:
    """Write the twin under a condition to a folder, as programs read it; return the digest of its start.

    The digest covers scene.json and every byte of scene/. Raises SceneError, StoreError.
    """
    write_start(project_dir, scene, folder)
    set_visuals(folder / "scene" / "scene.xml", condition)
    write_json(folder / PICTURE_FILE, {name: condition.values[f"picture.{name}"] for name in PICTURE})
    return start_digest(folder)


def write_start(project_dir: Path, scene: Scene, folder: Path) -> None:
    """Write a changed twin of a project to a folder, as programs read it. Raises SceneError, StoreError."""
    folder.mkdir(parents=True, exist_ok=True)
    write_scene(scene, folder)
    for name in ("descriptions.json", CAMERAS):
        if (project_dir / name).is_file():
            shutil.copyfile(project_dir / name, folder / name)


def start_digest(folder: Path) -> str:
    """Return a hash of all files of a start, by name and content, and of the state that MuJoCo compiles from them."""
    model = mujoco.MjModel.from_xml_path(str(folder / "scene" / "scene.xml"))
    hasher = hashlib.blake2b(digest_size=16)
    for path in (folder / "scene.json", *sorted((folder / "scene").iterdir())):
        hasher.update(path.name.encode() + b"\0" + hashlib.blake2b(path.read_bytes()).digest())
    hasher.update(model.qpos0.tobytes())
    return hasher.hexdigest()


def set_visuals(path: Path, condition: Condition) -> None:
    """Set lamp, camera and table texture in scene.xml. scene.json keeps the camera that the robot believes in."""
    values = condition.values
    spec = mujoco.MjSpec.from_file(str(path))
    change = float(values["light"]) - 1
    for lamp in spec.lights:
        # where the lamp is weak the ambient light changes too, so that the sum changes as much as with a full lamp
        headlight = spec.visual.headlight
        headlight.ambient = np.asarray(headlight.ambient) + change * (MAIN_BRIGHTNESS - np.asarray(lamp.diffuse))
        lamp.diffuse = np.asarray(lamp.diffuse) * (1 + change)
    for camera in spec.cameras:
        camera.pos = np.asarray(camera.pos) + [float(values[f"camera.{axis}"]) for axis in "xyz"]
        noise = Rotation.from_rotvec([float(values[f"camera.{axis}"]) for axis in ("tilt", "pan", "roll")])
        turn = Rotation.from_quat(camera.quat, scalar_first=True) * noise
        camera.quat = turn.as_quat(scalar_first=True)
    if values["table"] != "plain":
        _add_texture(spec, str(values["table"]))
    write_text(path, spec.to_xml())


def _add_texture(spec: mujoco.MjSpec, kind: str) -> None:
    table = spec.geom("table")
    rgb = np.array(table.rgba[:3])
    pattern = {"checker": mujoco.mjtBuiltin.mjBUILTIN_CHECKER, "gradient": mujoco.mjtBuiltin.mjBUILTIN_GRADIENT}[kind]
    spec.add_texture(
        name="table_pattern", type=mujoco.mjtTexture.mjTEXTURE_2D, builtin=pattern, rgb1=rgb,
        rgb2=np.clip(0.6 * rgb + 0.15, 0, 1), width=256, height=256,
    )  # fmt: skip
    material = spec.add_material(name="table_pattern", texrepeat=[8, 8], texuniform=False)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "table_pattern"
    table.material, table.rgba = "table_pattern", [1, 1, 1, 1]
