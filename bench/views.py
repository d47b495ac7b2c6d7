"""`python -m bench.views [--seeds 0-7] [--poses file|registered] [--spread 110] [--out DIR]`: three views against one.

Objects are reconstructed on drawn tables with the library withheld, from the main view alone and from three views.
Masks of the main view are the true ones; those of the others, sizes, shapes and poses are the pipeline's own. Poses
"file" are the true ones with the errors of a phone's tracking; "registered" are found. Seeds 0 to 7 are for
development, 100 to 107 were kept aside; of each set the first 40 objects count.

The error of an object is measured where the main view sees nothing of it: the mean distance of the hidden part of the
true surface to the reconstructed one, and the other way round, and the mean of both. The underside, on which it
stands, is left out.
"""

import argparse
import json
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import trimesh
from PIL import Image
from scipy.spatial.transform import Rotation

from bench import twin_drawing
from bench.reconstruction_accuracy import _world_mesh as world_mesh
from pipeline.assets import Library
from pipeline.assets.library import BUILTIN_LIBRARY
from pipeline.description import describe_all
from pipeline.errors import StudioError
from pipeline.frame import Frame, FurtherView, Observation, find_support, load
from pipeline.geometry.rays import cast_rays, raycasting_scene, surface_distance
from pipeline.scene import Scene
from pipeline.scene.place_objects import SceneInputs, place_objects
from pipeline.segmentation import Segment
from pipeline.views import carry_masks, register_view
from sample_scenes import make_scenes as studio

OBJECTS = 40
MIN_PIXELS = 200
"""Pixels of the main view from which an object counts."""
TRACKING_ERROR = 0.005, 0.5
"""Standard deviations of a pose from a file: metres and degrees, of the order that ARKit has over a table."""
UNDERSIDE_M = 0.002


@dataclass(frozen=True, eq=False)
class DrawnTable:
    """A table photographed from three sides."""

    scene: Scene
    """The truth, with the main camera."""
    frames: tuple[Frame, ...]
    """The main one first."""
    poses: tuple[np.ndarray, ...]
    """True world_from_camera, of shape (4, 4)."""
    labels: tuple[np.ndarray, ...]
    """True segment ids, of shape (H, W)."""


def draw(seed: int, spread: float, library: Library, folder: Path) -> DrawnTable:
    """Return the table of a seed; its further cameras stand `spread` degrees to the right and left of the main one."""
    rng = np.random.default_rng([3900, seed])
    kind = twin_drawing.KINDS[seed % len(twin_drawing.KINDS)]
    recipe = replace(twin_drawing.random_recipe(kind, rng), wall=None)
    assets = twin_drawing._random_assets(rng, library, folder / "meshes", 6)
    scene = twin_drawing.arrange_scene(kind, recipe, assets, rng)
    frames, poses, labels = [], [], []
    for number, side in enumerate((0, 1, -1)):
        turn = side * (spread + rng.uniform(-15, 15))
        more = {"distance": rng.uniform(0.7, 1.0), "elevation": rng.uniform(32, 58)} if side else {}
        camera = replace(recipe, azimuth=recipe.azimuth + turn, **more)
        seen = replace(scene, world_from_camera=studio.camera_pose(camera))
        home = folder / str(number)
        if not (home / "truth" / "masks.png").exists():
            twin_drawing.photograph_scene(seen, camera, np.random.default_rng([3901, seed, number]), home)
        frames.append(load(home))
        poses.append(seen.world_from_camera)
        labels.append(np.asarray(Image.open(home / "truth" / "masks.png")))
    return DrawnTable(scene, tuple(frames), tuple(poses), tuple(labels))


def further_views(table: DrawnTable, segments: list[Segment], poses: str, seed: int) -> tuple[FurtherView, ...]:
    """Return the further views with their poses and masks; one whose registration is refused is printed and left."""
    rng, main = np.random.default_rng([3902, seed]), table.frames[0]
    found = []
    for number in (1, 2):
        start = np.linalg.inv(table.poses[0]) @ table.poses[number]
        true = start.copy()
        start[:3, 3] += rng.normal(0, TRACKING_ERROR[0], 3)
        turn = Rotation.from_rotvec(rng.normal(0, np.radians(TRACKING_ERROR[1]), 3)).as_matrix()
        start[:3, :3] = turn @ start[:3, :3]
        began = time.perf_counter()
        try:
            view = register_view(main, table.frames[number], start if poses == "file" else None)
        except StudioError as error:
            print(f"{seed:3} view {number} refused in {time.perf_counter() - began:.1f} s: {error}", flush=True)
            continue
        gap = np.linalg.inv(true) @ view.main_from_camera
        print(
            f"{seed:3} view {number} {view.source}: off by {1e3 * np.linalg.norm(gap[:3, 3]):.1f} mm, "
            f"{np.degrees(np.arccos(np.clip((np.trace(gap[:3, :3]) - 1) / 2, -1, 1))):.2f} degrees; agrees "
            f"{view.agreement:.2f}; {time.perf_counter() - began:.1f} s",
            flush=True,
        )
        found.append((table.frames[number], view.main_from_camera))
    views = carry_masks(main, find_support(main), segments, found)
    for view in views:
        (labels,) = (t for frame, t in zip(table.frames, table.labels, strict=True) if frame is view.frame)
        for segment in segments:
            mine, true = view.mask(segment.id), labels == segment.id
            union = (mine | true).sum()
            print(f"{seed:3}   mask of {segment.id}: IoU {(mine & true).sum() / max(union, 1):.2f} of {true.sum()} px")
    return views


def measure(
    table: DrawnTable, views: tuple[FurtherView, ...], segments: list[Segment], folder: Path
) -> dict[int, float]:
    """Return the error of each object in metres, by segment id, with these further views."""
    frame, support = table.frames[0], find_support(table.frames[0])
    descriptions = describe_all(frame, support, segments, views)
    observation = Observation(frame, support, views)
    twin = place_objects(SceneInputs(observation, segments, descriptions, (), Library(()), folder))
    true = {p.segment_id: world_mesh(p) for p in table.scene.placements}
    errors = {}
    for p in twin.placements:
        made = world_mesh(p).apply_transform(table.scene.world_from_camera @ np.linalg.inv(twin.world_from_camera))
        errors[p.segment_id] = hidden_error(true, p.segment_id, made, table.scene.world_from_camera[:3, 3])
        print(f"      {p.segment_id} {p.provenance}: {1e3 * errors[p.segment_id]:.1f} mm", flush=True)
    return errors


def hidden_error(true: dict[int, trimesh.Trimesh], id: int, made: trimesh.Trimesh, camera: np.ndarray) -> float:
    """Return the mean distance in metres between the surfaces where a camera at (3,) sees nothing of them."""
    a, others = true[id], [mesh for other, mesh in true.items() if other != id]
    low = float(a.bounds[0, 2]) + UNDERSIDE_M
    return (_hidden_gap(a, made, others, camera, low) + _hidden_gap(made, a, others, camera, low)) / 2


def _hidden_gap(
    a: trimesh.Trimesh, b: trimesh.Trimesh, others: list[trimesh.Trimesh], camera: np.ndarray, low: float
) -> float:
    points = trimesh.sample.sample_surface(a, 4000, seed=0)[0]
    points = points[points[:, 2] > low]
    scene = raycasting_scene([(mesh.vertices, mesh.faces) for mesh in (a, *others)])
    hidden = cast_rays(scene, camera, points - camera).distance < 0.995
    return float(surface_distance(raycasting_scene([(b.vertices, b.faces)]), points[hidden]).mean())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0-7")
    parser.add_argument("--poses", choices=("file", "registered"), default="file")
    parser.add_argument("--spread", type=float, default=110.0)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "grs_views")
    arguments = parser.parse_args()
    first, last = map(int, arguments.seeds.split("-"))
    library = Library.open([BUILTIN_LIBRARY])
    rows: list[tuple[int, int, float, float]] = []
    for seed in range(first, last + 1):
        folder = arguments.out / f"table_{seed}_{arguments.spread:.0f}"
        table = draw(seed, arguments.spread, library, folder)
        ids = [p.segment_id for p in table.scene.placements if (table.labels[0] == p.segment_id).sum() > MIN_PIXELS]
        segments = [Segment(id, table.labels[0] == id) for id in ids]
        views = further_views(table, segments, arguments.poses, seed)
        alone = measure(table, (), segments, folder / "one")
        fused = measure(table, views, segments, folder / "three")
        rows += [(seed, id, alone[id], fused[id]) for id in alone if id in fused]
        print(report(rows[:OBJECTS]), flush=True)
    name = f"rows_{arguments.seeds}_{arguments.poses}_{arguments.spread:.0f}.json"
    (arguments.out / name).write_text(json.dumps(rows))
    return 0


def report(rows: list[tuple[int, int, float, float]]) -> str:
    """Return the change of the mean error, with a bootstrap interval over tables."""
    tables = sorted({row[0] for row in rows})
    by_table = {t: np.array([row[2:] for row in rows if row[0] == t]) for t in tables}
    rng, changes = np.random.default_rng(0), []
    for _ in range(2000):
        drawn = np.concatenate([by_table[t] for t in rng.choice(tables, len(tables))])
        changes.append(drawn[:, 1].mean() / drawn[:, 0].mean() - 1)
    values = 1e3 * np.array([row[2:] for row in rows])
    (one, three), (m1, m3) = values.mean(0), np.median(values, axis=0)
    low, high = np.quantile(changes, [0.025, 0.975])
    better = float((values[:, 1] < values[:, 0]).mean())
    return (
        f"{len(rows)} objects: hidden surface {one:.2f} -> {three:.2f} mm, {three / one - 1:+.0%} "
        f"[{low:+.0%}, {high:+.0%}]; median {m1:.2f} -> {m3:.2f}; better in {better:.0%}"
    )


if __name__ == "__main__":
    sys.exit(main())
