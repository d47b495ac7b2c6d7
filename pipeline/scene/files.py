"""The twin on disk: scene.json, and scene/ with the model and its meshes."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.assets.asset import Joint
from pipeline.frame import Intrinsics
from pipeline.geometry import Pose
from pipeline.scene import mjcf
from pipeline.scene.parts import parts_of
from pipeline.scene.placement import Found, Placement, Scene, SceneError
from pipeline.store import write_json

_PLAIN = ("name", "segment_id", "asset_id", "scale", "mass", "friction", "category", "shape", "colour", "container",
          "fixed", "foot", "prop", "misfit", "mass_source", "friction_source", "licence", "provenance")  # fmt: skip
"""Fields of a placement that are JSON values as they are."""


def write_scene(scene: Scene, project_dir: Path) -> Scene:
    """Write scene/ and scene.json; the same scene again, its meshes now the project's own. Raises SceneError."""
    folder = project_dir / "scene"
    staged = project_dir / ".scene"  # the meshes read may be the very ones that are replaced
    mjcf.write(scene, staged)
    folder.mkdir(exist_ok=True)
    written = {new.replace(folder / new.name).name for new in list(staged.iterdir())}
    staged.rmdir()
    for old in folder.iterdir():
        if old.is_file() and old.name not in written:
            old.unlink()
    kept = replace(scene, placements=tuple(_own(p, folder) for p in scene.placements))
    write_json(project_dir / "scene.json", scene_to_json(kept, project_dir))
    return kept


def _own(p: Placement, folder: Path) -> Placement:
    pieces = range(len(p.collision) or 1)
    model = None if p.model is None else folder / f"{p.name}.model.xml"
    collision = tuple(folder / f"{p.name}.{i}.obj" for i in pieces)
    return replace(p, mesh=folder / f"{p.name}.obj", collision=collision, model=model)


def scene_to_json(scene: Scene, project_dir: Path) -> dict:
    """The contract's scene.json and what else a scene needs, mesh paths relative to the project's folder."""
    return {
        "world_from_camera": np.asarray(scene.world_from_camera).tolist(),
        "camera": asdict(scene.intrinsics) if scene.intrinsics else None,
        "table": np.asarray(scene.table).tolist(),
        "table_rgb": [int(c) for c in scene.table_rgb],
        "placements": [_placement_to_json(p, project_dir) for p in scene.placements],
    }


def _placement_to_json(p: Placement, project_dir: Path) -> dict:
    return (
        {k: getattr(p, k) for k in _PLAIN}
        | {
            "size": np.asarray(p.size).tolist(),
            "world_from_object": _pose_to_json(p.world_from_object),
            "mass_range": list(p.mass_range),
            "friction_range": list(p.friction_range),
            "also": list(p.also),
            "found": _pose_to_json(p.found.world_from_object) | {"scale": p.found.scale} if p.found else None,
            "rgb": [int(c) for c in p.rgb],
            "mesh": _relative(p.mesh, project_dir),
            "collision": [_relative(c, project_dir) for c in p.collision],
        }
        | ({"model": _relative(p.model, project_dir), "joints": _joints_to_json(p)} if p.model else {})
    )


def _pose_to_json(pose: Pose) -> dict:
    return {"pos": pose.pos.tolist(), "quat_wxyz": pose.quat_wxyz.tolist()}


def _pose_from_json(data: dict) -> Pose:
    return Pose(np.array(data["pos"], float), np.array(data["quat_wxyz"], float))


def _relative(path: Path, project_dir: Path) -> str:
    return path.relative_to(project_dir).as_posix() if path.is_relative_to(project_dir) else path.as_posix()


def read_scene(project_dir: Path) -> Scene:
    """The scene of a project folder. Raises SceneError."""
    try:
        data = json.loads((project_dir / "scene.json").read_text(encoding="utf-8"))
        return Scene(
            world_from_camera=np.array(data["world_from_camera"], float),
            table=np.array(data["table"], float),
            table_rgb=tuple(data["table_rgb"]),
            placements=tuple(_placement_from_json(p, project_dir) for p in data["placements"]),
            intrinsics=Intrinsics(**data["camera"]) if data.get("camera") else None,
        )
    except FileNotFoundError as error:
        raise SceneError(f"{project_dir.name} has no scene.json; build the scene first") from error
    except (ValueError, KeyError, TypeError) as error:
        raise SceneError(f"{project_dir.name}/scene.json is damaged ({error!r}); build the scene again") from error


def _placement_from_json(data: dict, project_dir: Path) -> Placement:
    found = data.get("found")
    return Placement(
        **{k: data[k] for k in _PLAIN if k in data},
        size=np.array(data["size"], float),
        world_from_object=_pose_from_json(data["world_from_object"]),
        mass_range=tuple(data.get("mass_range", (0.0, 0.0))),
        friction_range=tuple(data.get("friction_range", (0.0, 0.0))),
        found=Found(_pose_from_json(found), float(found["scale"])) if found else None,
        also=tuple(data.get("also", ())),
        rgb=tuple(data["rgb"]),
        mesh=project_dir / data["mesh"],
        collision=tuple(project_dir / c for c in data["collision"]),
        model=project_dir / data["model"] if data.get("model") else None,
        joints=_joints_from_json(data["name"], data.get("joints", ()), float(data["scale"])),
    )


def _joints_to_json(p: Placement) -> list[dict]:
    """Named as in scene.xml, where the object's own names stand behind its name; all are shut, at 0.

    "called" is what a person calls the part that moves; its axis and its box are in the object's axes, shut.
    """
    known = {one.joint: one for one in parts_of(p)}
    return [
        {"name": f"{p.name}/{one.name}", "kind": one.kind, "part": f"{p.name}/{part.body}", "value": 0.0,
         "range": [end * _grown(p, one) if np.isfinite(end) else None for end in one.range],
         "called": part.name, "end": part.end, "lever": part.lever,
         **{key: getattr(part, key).tolist() for key in ("axis", "anchor", "centre", "size")}}
        for one in p.joints if (part := known.get(one.name))
    ]  # fmt: skip


def _grown(p: Placement, joint: Joint) -> float:
    return p.scale if joint.kind == "slide" else 1.0


def _joints_from_json(name: str, rows: Iterable[Mapping[str, Any]], scale: float) -> tuple[Joint, ...]:
    def ends(row: Mapping[str, Any]) -> tuple[float, float]:
        by = scale if row["kind"] == "slide" else 1.0
        low, high = (
            sign * np.inf if end is None else end / by for sign, end in zip((-1, 1), row["range"], strict=True)
        )
        return float(low), float(high)

    bare = {key: [str(row[key]).removeprefix(f"{name}/") for row in rows] for key in ("name", "part")}
    return tuple(
        Joint(joint, row["kind"], ends(row), part)
        for joint, part, row in zip(bare["name"], bare["part"], rows, strict=True)
    )
