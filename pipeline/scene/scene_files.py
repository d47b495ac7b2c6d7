"""Read and write the twin: scene.json, and the folder scene/ with the model and its meshes."""

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.assets.asset import Joint
from pipeline.frame import Intrinsics
from pipeline.geometry import Pose
from pipeline.scene.articulation import moving_parts
from pipeline.scene.mjcf import builder
from pipeline.scene.mjcf.recorded_models import needed_files
from pipeline.scene.placement import (
    SHELF_NAME,
    TABLE_MARGIN_M,
    WALL_NAME,
    Light,
    MachinePose,
    Placement,
    Scene,
    SceneError,
    Shelf,
    TableMargins,
    Wall,
)
from pipeline.store import parse_json, write_json

_PLAIN_FIELDS = (
    "name", "segment_id", "asset_id", "scale", "mass", "friction", "category", "shape", "fill", "colour",
    "container",
    "fixed", "foot", "prop", "misfit", "mass_source", "friction_source", "length_source", "mass_range_source",
    "friction_range_source", "licence", "provenance",
    "overruled", "printed",
)  # fmt: skip
"""Fields of a placement that are JSON values already."""


def write_scene(scene: Scene, project_dir: Path) -> Scene:
    """Write scene/ and scene.json; return the scene with its meshes in the project. Raises SceneError.

    The files of recorded rollouts stay, whatever becomes of the twin.
    """
    folder = project_dir / "scene"
    staged = project_dir / ".scene"  # the meshes that are read may be those that are replaced
    shutil.rmtree(staged, ignore_errors=True)  # a killed process may have left some
    builder.write_mjcf(scene, staged)
    folder.mkdir(exist_ok=True)
    written = {new.replace(folder / new.name).name for new in list(staged.iterdir())}
    staged.rmdir()
    kept = written | needed_files(project_dir)
    for old in folder.iterdir():
        if old.is_file() and old.name not in kept:
            old.unlink()
    scene = replace(scene, placements=tuple(_with_project_files(p, folder) for p in scene.placements))
    write_json(project_dir / "scene.json", scene_to_json(scene, project_dir))
    return scene


def _with_project_files(p: Placement, folder: Path) -> Placement:
    model = None if p.model is None else folder / f"{p.name}.model.xml"
    collision = tuple(folder / f"{p.name}.{i}.obj" for i in range(len(p.collision) or 1))
    return replace(p, look=None, mesh=folder / f"{p.name}.obj", collision=collision, model=model)


def scene_to_json(scene: Scene, project_dir: Path) -> dict:
    """Return the content of scene.json, with mesh paths relative to the project's folder."""
    return {
        "world_from_camera": np.asarray(scene.world_from_camera).tolist(),
        "camera": asdict(scene.intrinsics) if scene.intrinsics else None,
        "table": np.asarray(scene.table).tolist(),
        "table_margins": list(scene.table_margins),
        "table_rgb": [int(c) for c in scene.table_rgb],
        "light": {"direction": scene.light.direction.tolist(), "spread": scene.light.spread} if scene.light else None,
        "placements": [_placement_to_json(p, project_dir) for p in scene.placements],
    } | {
        key: values
        for key, values in (
            ("shelves", [_shelf_to_json(shelf) for shelf in scene.shelves]),
            ("walls", [_wall_to_json(wall) for wall in scene.walls]),
        )
        if values
    }


def _shelf_to_json(shelf: Shelf) -> dict:
    return {
        "name": shelf.name,
        "outline": shelf.outline.tolist(),
        "height": float(shelf.height),
        "thickness": float(shelf.thickness),
        "rgb": [int(c) for c in shelf.rgb],
    }


def _wall_to_json(wall: Wall) -> dict:
    return {
        "name": wall.name,
        "outline": wall.outline.tolist(),
        "height": float(wall.height),
        "lean": [float(one) for one in wall.lean],
        "rgb": [int(c) for c in wall.rgb],
        "not_touched": list(wall.not_touched),
    }


def _shelf_from_json(data: dict) -> Shelf:
    """Inverse of `_shelf_to_json`. Raises ValueError for a name or a size that no shelf has."""
    return Shelf(*_board_from_json(data, SHELF_NAME))


def _wall_from_json(data: dict) -> Wall:
    """Inverse of `_wall_to_json`. Raises ValueError for a name or a size that no wall has."""
    x, y = map(float, data["lean"])
    if not np.isfinite([x, y]).all():
        raise ValueError("the lean of a wall is not finite")
    return Wall(*_board_from_json(data, WALL_NAME), (x, y), tuple(int(id) for id in data["not_touched"]))


def _board_from_json(data: dict, start: str) -> tuple[str, np.ndarray, float, tuple[int, int, int]]:
    """Return name, outline (N, 2), height in metres and colour of a shelf or wall whose name begins with `start`."""
    outline, height = np.array(data["outline"], float), float(data["height"])
    red, green, blue = (int(channel) for channel in data["rgb"])
    number = str(data["name"]).removeprefix(start)
    shaped = outline.ndim == 2 and outline.shape[1] == 2 and len(outline) >= 3
    if not (number.isdigit() and shaped and np.isfinite(outline).all() and 0 < height < np.inf):
        raise ValueError("a shelf or wall has no name, outline or height")
    return f"{start}{number}", outline, height, (red, green, blue)


def _placement_to_json(p: Placement, project_dir: Path) -> dict:
    return (
        {k: getattr(p, k) for k in _PLAIN_FIELDS}
        | {
            "size": np.asarray(p.size).tolist(),
            "world_from_object": _pose_to_json(p.world_from_object),
            "mass_range": list(p.mass_range),
            "friction_range": list(p.friction_range),
            "length_range": list(p.length_range),
            "also": list(p.aliases),
            "found": _pose_to_json(p.machine_pose.world_from_object) | {"scale": p.machine_pose.scale}
            if p.machine_pose
            else None,
            "rgb": [int(c) for c in p.rgb],
            "recolour": [int(c) for c in p.recolour] if p.recolour else None,
            "mesh": _relative(p.mesh, project_dir),
            "collision": [_relative(c, project_dir) for c in p.collision],
        }
        | ({"model": _relative(p.model, project_dir), "joints": _joints_to_json(p)} if p.model else {})
        | ({"affordances": {k: v.tolist() for k, v in p.affordances.items()}} if p.affordances else {})
    )


def _pose_to_json(pose: Pose) -> dict:
    return {"pos": pose.pos.tolist(), "quat_wxyz": pose.quat_wxyz.tolist()}


def _pose_from_json(data: dict) -> Pose:
    return Pose(np.array(data["pos"], float), np.array(data["quat_wxyz"], float))


def _relative(path: Path, project_dir: Path) -> str:
    return path.relative_to(project_dir).as_posix() if path.is_relative_to(project_dir) else path.as_posix()


def read_scene(project_dir: Path) -> Scene:
    """Return the scene of a project's folder. Raises SceneError."""
    try:
        data = parse_json((project_dir / "scene.json").read_text(encoding="utf-8"))
        return Scene(
            world_from_camera=np.array(data["world_from_camera"], float),
            table=np.array(data["table"], float),
            table_rgb=tuple(data["table_rgb"]),
            placements=tuple(_placement_from_json(p, project_dir) for p in data["placements"]),
            intrinsics=Intrinsics(**data["camera"]) if data.get("camera") else None,
            table_png=picture.read_bytes()
            if (picture := project_dir / "scene" / builder.TABLE_PICTURE).exists()
            else None,
            light=_light_from_json(data.get("light")),
            shelves=tuple(_shelf_from_json(shelf) for shelf in data.get("shelves", ())),
            walls=tuple(_wall_from_json(wall) for wall in data.get("walls", ())),
            table_margins=_margins_from_json(data.get("table_margins", [TABLE_MARGIN_M] * 4)),
        )
    except FileNotFoundError as error:
        raise SceneError(f"{project_dir.name} has no scene.json; build the scene first") from error
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:120]
        raise SceneError(f"{project_dir.name}/scene.json is damaged ({reason}); build the scene again") from error


def _margins_from_json(data: list) -> TableMargins:
    """Return the table's margins. Raises ValueError for what is no distance up to a metre."""
    a, b, c, d = map(float, data)
    if not all(0 <= margin <= 1 for margin in (a, b, c, d)):
        raise ValueError("a margin of the table is no distance")
    return a, b, c, d


def _rgb_from_json(data: list | None) -> tuple[int, int, int] | None:
    if data is None:
        return None
    red, green, blue = (int(channel) for channel in data)
    return red, green, blue


def _light_from_json(data: dict | None) -> Light | None:
    """Return the light; None if it was not estimated. Raises ValueError for a direction of no length."""
    if data is None:
        return None
    direction = np.array(data["direction"], float)
    length = float(np.linalg.norm(direction))
    if direction.shape != (3,) or not 1e-6 < length < np.inf:
        raise ValueError("the light has no direction")
    return Light(direction / length, float(data["spread"]))


def _placement_from_json(data: dict, project_dir: Path) -> Placement:
    found, aliases = data.get("found"), data.get("also", ())
    if not isinstance(data["segment_id"], int) or not all(isinstance(name, str) for name in (data["name"], *aliases)):
        raise TypeError("the name or segment of an object is of another type")
    return Placement(
        **{k: data[k] for k in _PLAIN_FIELDS if k in data},
        size=np.array(data["size"], float),
        world_from_object=_pose_from_json(data["world_from_object"]),
        mass_range=tuple(data.get("mass_range", (0.0, 0.0))),
        friction_range=tuple(data.get("friction_range", (0.0, 0.0))),
        length_range=tuple(data.get("length_range", (0.0, 0.0))),
        machine_pose=MachinePose(_pose_from_json(found), float(found["scale"])) if found else None,
        aliases=tuple(aliases),
        rgb=tuple(data["rgb"]),
        recolour=_rgb_from_json(data.get("recolour")),
        mesh=project_dir / data["mesh"],
        collision=tuple(project_dir / c for c in data["collision"]),
        model=project_dir / data["model"] if data.get("model") else None,
        joints=_joints_from_json(data["name"], data.get("joints", ()), float(data["scale"])),
        affordances=_affordances_from_json(data.get("affordances", {})),
    )


def _affordances_from_json(data: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the affordances of a placement. Raises ValueError for a name or point that none has."""
    points = {name: np.array(point, float) for name, point in data.items()}
    if not all(re.fullmatch(r"\w+", name) and p.shape == (3,) and np.isfinite(p).all() for name, p in points.items()):
        raise ValueError("an affordance has no name or point")
    return points


def _joints_to_json(p: Placement) -> list[dict]:
    """Return the joints of a placement, named "<object>/<joint>" as in scene.xml, all closed at 0.

    "called" is the name of the moving part for people. Its axis and its box are in the object's axes, closed.
    """
    parts = {part.joint: part for part in moving_parts(p)}
    return [
        {"name": f"{p.name}/{joint.name}", "kind": joint.kind, "part": f"{p.name}/{part.body}", "value": 0.0,
         "range": [end * _unit_scale(joint.kind, p.scale) if np.isfinite(end) else None for end in joint.range],
         "called": part.name, "end": part.end, "lever": part.lever,
         **{key: getattr(part, key).tolist() for key in ("axis", "anchor", "centre", "size")}}
        for joint in p.joints if (part := parts.get(joint.name))
    ]  # fmt: skip


def _unit_scale(kind: str, scale: float) -> float:
    """Return by how much a joint's range grows with the object: a slide's in metres does, a hinge's does not."""
    return scale if kind == "slide" else 1.0


def _joints_from_json(name: str, rows: Iterable[Mapping[str, Any]], scale: float) -> tuple[Joint, ...]:
    """Inverse of `_joints_to_json` for the object `name`."""

    def joint_range(row: Mapping[str, Any]) -> tuple[float, float]:
        factor = _unit_scale(row["kind"], scale)
        low, high = (
            sign * np.inf if end is None else end / factor for sign, end in zip((-1, 1), row["range"], strict=True)
        )
        return float(low), float(high)

    def own_name(text: Any) -> str:
        return str(text).removeprefix(f"{name}/")

    return tuple(Joint(own_name(row["name"]), row["kind"], joint_range(row), own_name(row["part"])) for row in rows)
