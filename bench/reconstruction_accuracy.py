"""Accuracy of reconstructed objects: library assets on a drawn table, with the library withheld.

    python -m bench.reconstruction_accuracy [--library PATH ...] [--camera perfect|noisy] [--every N] [--first N]
        [--out DIR]

Masks are the true ones; shape, size and pose are the pipeline's own. Reports the mean distance between the surfaces,
both ways, in millimetres and in per cent of the object's longest side, the ratio of the volumes, and the difference of
colour where the camera did not see the object.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import trimesh
from PIL import Image

from bench import twin_drawing
from pipeline.assets import Asset, Library
from pipeline.description import describe_all
from pipeline.frame import Observation, find_support, load
from pipeline.geometry.rays import cast_rays, closest_points, raycasting_scene, surface_distance
from pipeline.scene.mjcf import mesh_export
from pipeline.scene.place_objects import SceneInputs, place_objects
from pipeline.scene.placement import Placement
from pipeline.segmentation import Segment

OBJECTS_PER_TABLE = 6
KINDS = {
    "bottles": ("bottle", "carton"),
    "mugs and cups": ("mug", "cup", "wineglass", "teapot"),
    "bowls": ("bowl", "plate"),
    "boxes": ("box", "cube", "block", "book"),
    "cans and tubes": ("can", "cylinder", "ball"),
    "tools": ("tool", "pan", "glasses"),
}


@dataclass(frozen=True)
class ReconstructionError:
    """One object and the error of its reconstruction."""

    kind: str
    name: str
    method: str
    gap: float
    """Mean distance between the surfaces, both ways, in millimetres."""
    share: float
    """The same in per cent of the longest side."""
    volume: float
    """Ratio of the volumes, at least 1."""
    unseen_colour: float
    """Mean difference of colour (CIE76) from the nearest true surface, over the points that the camera did not see."""
    unseen_palette: float
    """The same between the sets of colours, wherever each is."""
    seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, action="append")
    parser.add_argument("--camera", choices=("perfect", "noisy"), default="noisy")
    parser.add_argument("--every", type=int, default=1, help="only every Nth table")
    parser.add_argument("--first", type=int, default=0, help="number of the first table (default %(default)s)")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "grs_made")
    arguments = parser.parse_args()
    library = Library.open(arguments.library)
    fit = [a for a in library if max(a.size) < 0.3 and min(a.size) > 0.012 and a.model is None]
    errors: list[ReconstructionError] = []
    for number, start in enumerate(
        range(OBJECTS_PER_TABLE * arguments.first, len(fit), OBJECTS_PER_TABLE * arguments.every)
    ):
        errors += measure(fit[start : start + OBJECTS_PER_TABLE], number, arguments.out, arguments.camera == "noisy")
    print("\n".join(table(errors)))
    return 0


def measure(assets: list[Asset], number: int, folder: Path, noisy: bool) -> list[ReconstructionError]:
    """Reconstruct the objects of one table."""
    rng = np.random.default_rng([7, number])
    recipe = twin_drawing.random_recipe("lying" if number % 3 == 2 else "apart", rng)
    scene = twin_drawing.arrange_scene(recipe.name, recipe, assets, rng)
    frame_folder = folder / f"table_{number}"
    twin_drawing.photograph_scene(scene, recipe, rng, frame_folder, noisy)
    frame, support = load(frame_folder), find_support(load(frame_folder))
    labels = np.asarray(Image.open(frame_folder / "truth" / "masks.png"))
    shown = {p.segment_id: p for p in scene.placements if (labels == p.segment_id).sum() > 200}
    segments = [Segment(id, labels == id) for id in shown]
    descriptions = describe_all(frame, support, segments)
    inputs = SceneInputs(Observation(frame, support), segments, descriptions, (), Library(()), frame_folder / "made")
    began = time.perf_counter()
    twin = place_objects(inputs)
    seconds = (time.perf_counter() - began) / max(len(shown), 1)
    placed = {p.segment_id: p for p in twin.placements}
    camera_from_made = np.linalg.inv(twin.world_from_camera)
    categories = {a.id: a.category for a in assets}
    rows = [
        _compare(true, placed[id], scene.world_from_camera, camera_from_made, categories[true.asset_id or ""], seconds)
        for id, true in shown.items()
        if id in placed
    ]
    for row in rows:
        print(
            f"{number:3} {row.name:26} {row.method:40} {row.gap:6.1f} mm {row.share:6.1f} %  x{row.volume:.2f} "
            f"{row.unseen_colour:5.1f} {row.unseen_palette:5.1f}",
            flush=True,
        )
    return rows


def _compare(
    true: Placement, made: Placement, camera: np.ndarray, camera_from_made: np.ndarray, category: str, seconds: float
) -> ReconstructionError:
    a, b = _world_mesh(true), _world_mesh(made)
    b.apply_transform(camera @ camera_from_made)
    gap = 1e3 * float(_gaps(a, b).mean() + _gaps(b, a).mean()) / 2
    unseen = _unseen_colours(a, b, camera[:3, 3])
    ratio = _volume(made, b) / max(_volume(true, a), 1e-9)
    kind = next((name for name, words in KINDS.items() if category in words), "other")
    share = 0.1 * gap / float(true.size.max())
    return ReconstructionError(
        kind,
        true.asset_id or "",
        made.provenance,
        gap,
        share,
        max(ratio, 1 / max(ratio, 1e-9)),
        *unseen,
        seconds,
    )


def _unseen_colours(true: trimesh.Trimesh, made: trimesh.Trimesh, camera: np.ndarray) -> tuple[float, float]:
    """Return how different the colours are (CIE76) where the camera sees nothing of `made`: at each point, and as sets.

    The second sorts each channel first, so that it does not matter where a colour is. The photograph's light is taken
    off: `made` gets the gain by which the points that the camera sees have the true mean colour.
    """
    points, faces = trimesh.sample.sample_surface(made, 4000, seed=0)[:2]
    hidden = cast_rays(raycasting_scene([(made.vertices, made.faces)]), camera, points - camera).distance < 0.98
    nearest, true_faces = closest_points(raycasting_scene([(true.vertices, true.faces)]), points)
    of_made, of_true = _colours(made, faces, points), _colours(true, true_faces, nearest)
    if not hidden.any() or hidden.all():
        return float("nan"), float("nan")
    gain = of_true[~hidden].mean(0) / np.maximum(of_made[~hidden].mean(0), 1)
    made_lab, true_lab = (
        cv2.cvtColor((colours[hidden][None].clip(0, 255) / 255).astype(np.float32), cv2.COLOR_RGB2LAB)[0]
        for colours in (of_made * gain, of_true)
    )
    as_sets = np.abs(np.sort(made_lab, axis=0) - np.sort(true_lab, axis=0)).mean(0)
    return float(np.linalg.norm(made_lab - true_lab, axis=1).mean()), float(np.linalg.norm(as_sets))


def _colours(mesh: trimesh.Trimesh, faces: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the colours (N, 3), 0 to 255, of points on faces of a mesh."""
    visual: Any = mesh.visual
    if getattr(visual, "uv", None) is None:
        return np.asarray(visual.face_colors)[faces, :3].astype(float)
    image = getattr(visual.material, "baseColorTexture", None) or visual.material.image
    barycentric = trimesh.triangles.points_to_barycentric(mesh.triangles[faces], points)
    uv = np.einsum("nk,nkc->nc", barycentric, visual.uv[mesh.faces[faces]])
    return trimesh.visual.color.uv_to_color(uv, image)[:, :3].astype(float)


def _world_mesh(p: Placement) -> trimesh.Trimesh:
    mesh = mesh_export.read_mesh(p.mesh)
    mesh = mesh.copy()
    mesh.apply_translation(-mesh.bounds.mean(0))
    mesh.apply_scale(p.size / mesh.extents)
    return mesh.apply_transform(p.world_from_object.matrix)


def _gaps(a: trimesh.Trimesh, b: trimesh.Trimesh) -> np.ndarray:
    """Return the distances in metres of points on the surface of `a` to that of `b`, of shape (N,)."""
    points = trimesh.sample.sample_surface(a, 3000, seed=0)[0]
    return surface_distance(raycasting_scene([(b.vertices, b.faces)]), points)


def _volume(p: Placement, mesh: trimesh.Trimesh) -> float:
    """Return the volume in cubic metres of an object's convex pieces, or of its hull if it has none."""
    if not p.collision:
        return float(mesh.convex_hull.volume)
    extents = mesh_export.read_mesh(p.mesh).extents
    return float(sum(trimesh.load_mesh(path).convex_hull.volume for path in p.collision) * np.prod(p.size / extents))


def table(errors: list[ReconstructionError]) -> list[str]:
    """Return a Markdown table, as in docs/results/twin.md."""
    lines = [
        "| objects | n | surface, mean mm | of the longest side, median % | volume, median factor "
        "| unseen colour, mean | its palette |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for kind in [*KINDS, "other", ""]:
        rows = [e for e in errors if kind in ("", e.kind)]
        if rows:
            lines.append(
                f"| {kind or 'all'} | {len(rows)} | {np.mean([e.gap for e in rows]):.1f} | "
                f"{np.median([e.share for e in rows]):.1f} | {np.median([e.volume for e in rows]):.2f} | "
                f"{np.nanmean([e.unseen_colour for e in rows]):.1f} | "
                f"{np.nanmean([e.unseen_palette for e in rows]):.1f} |"
            )
    return [*lines, f"seconds per object: {np.mean([e.seconds for e in errors]):.2f}"]


if __name__ == "__main__":
    sys.exit(main())
