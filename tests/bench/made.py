"""How near a thing made from the view comes to the thing: library assets drawn on a table, then withheld.

    python -m tests.bench.made [--library PATH ...] [--camera perfect|noisy] [--every N] [--out DIR]

Masks are the true ones; shape, size and pose are the pipeline's own. Means of |surface to surface| both ways in
millimetres, in per cent of the thing's longest side, and the volume's factor either way.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trimesh
from PIL import Image

from pipeline.assets import Asset, Library
from pipeline.description import describe_all
from pipeline.frame import find_support, load
from pipeline.scene import meshes
from pipeline.scene.placement import Placement
from pipeline.scene.placing import place
from pipeline.segmentation import Segment
from tests.bench import twin_drawing as drawing

SHELF = 6
"""Things on one table."""
KINDS = {
    "bottles": ("bottle", "carton"), "mugs and cups": ("mug", "cup", "wineglass", "teapot"), "bowls": ("bowl", "plate"),
    "boxes": ("box", "cube", "block", "book"), "cans and tubes": ("can", "cylinder", "ball"),
    "tools": ("tool", "pan", "glasses"),
}  # fmt: skip


@dataclass(frozen=True)
class Made:
    """One thing and what was made of it."""

    kind: str
    name: str
    way: str
    gap: float
    """Mean distance between the surfaces, both ways, in millimetres."""
    share: float
    """The same in per cent of the longest side."""
    volume: float
    """Factor between the volumes, at least 1."""
    seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, action="append")
    parser.add_argument("--camera", choices=("perfect", "noisy"), default="noisy")
    parser.add_argument("--every", type=int, default=1, help="only every Nth asset")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "grs_made")
    arguments = parser.parse_args()
    library = Library.open(arguments.library)
    fit = [a for a in library if max(a.size) < 0.3 and min(a.size) > 0.012 and a.model is None]
    made: list[Made] = []
    for number, start in enumerate(range(0, len(fit), SHELF * arguments.every)):
        made += measure(fit[start : start + SHELF], number, arguments.out, arguments.camera == "noisy")
    print("\n".join(table(made)))
    return 0


def measure(assets: list[Asset], number: int, folder: Path, noisy: bool) -> list[Made]:
    """One table of things that nobody knows."""
    rng = np.random.default_rng([7, number])
    recipe = drawing.recipe_of("lying" if number % 3 == 2 else "apart", rng)
    scene = drawing.scene_of(recipe.name, recipe, assets, rng)
    frame_folder = folder / f"table_{number}"
    drawing.photographed(scene, recipe, rng, frame_folder, noisy)
    frame, support = load(frame_folder), find_support(load(frame_folder))
    labels = np.asarray(Image.open(frame_folder / "truth" / "masks.png"))
    shown = {p.segment_id: p for p in scene.placements if (labels == p.segment_id).sum() > 200}
    segments = [Segment(id, labels == id) for id in shown]
    told = describe_all(frame, support, segments)
    began = time.perf_counter()
    twin = place(frame, support, segments, told, (), Library(()), frame_folder / "made")
    seconds = (time.perf_counter() - began) / max(len(shown), 1)
    found = {p.segment_id: p for p in twin.placements}
    same = np.linalg.inv(twin.world_from_camera)
    categories = {a.id: a.category for a in assets}
    rows = [
        _compared(true, found[id], scene.world_from_camera @ same, categories[true.asset_id or ""], seconds)
        for id, true in shown.items()
        if id in found
    ]
    for row in rows:
        print(
            f"{number:3} {row.name:26} {row.way:40} {row.gap:6.1f} mm {row.share:6.1f} %  x{row.volume:.2f}", flush=True
        )
    return rows


def _compared(true: Placement, made: Placement, true_from_made: np.ndarray, category: str, seconds: float) -> Made:
    a, b = _world_mesh(true), _world_mesh(made)
    b.apply_transform(true_from_made)
    there, back = _gaps(a, b), _gaps(b, a)
    gap = 1e3 * float(there.mean() + back.mean()) / 2
    factor = _volume(made, b) / max(_volume(true, a), 1e-9)
    kind = next((name for name, words in KINDS.items() if category in words), "other")
    share = 0.1 * gap / float(true.size.max())
    return Made(kind, true.asset_id or "", made.provenance, gap, share, max(factor, 1 / max(factor, 1e-9)), seconds)


def _world_mesh(p: Placement) -> trimesh.Trimesh:
    mesh = meshes.load(p.mesh)
    mesh = trimesh.Trimesh(mesh.vertices - mesh.bounds.mean(0), mesh.faces, process=False)
    mesh.apply_scale(p.size / mesh.extents)
    return mesh.apply_transform(p.world_from_object.matrix)


def _gaps(a: trimesh.Trimesh, b: trimesh.Trimesh) -> np.ndarray:
    """Distances in metres of points on a's surface to b's, of shape (N,)."""
    import open3d

    points = trimesh.sample.sample_surface(a, 3000, seed=0)[0]
    scene = open3d.t.geometry.RaycastingScene()
    scene.add_triangles(
        open3d.core.Tensor.from_numpy(b.vertices.astype(np.float32)),
        open3d.core.Tensor.from_numpy(b.faces.astype(np.uint32)),
    )
    return scene.compute_distance(open3d.core.Tensor.from_numpy(points.astype(np.float32))).numpy()


def _volume(p: Placement, mesh: trimesh.Trimesh) -> float:
    """In cubic metres: of its convex pieces, scaled alike, else of its hull."""
    if not p.collision:
        return float(mesh.convex_hull.volume)
    extents = meshes.load(p.mesh).extents
    return float(sum(trimesh.load_mesh(piece).convex_hull.volume for piece in p.collision) * np.prod(p.size / extents))


def table(made: list[Made]) -> list[str]:
    """Markdown, as docs/twin.md shows it."""
    lines = [
        "| things | n | surface, mean mm | of the longest side, median % | volume, median factor |",
        "| --- | --- | --- | --- | --- |",
    ]
    for kind in [*KINDS, "other", ""]:
        rows = [m for m in made if kind in ("", m.kind)]
        if rows:
            lines.append(
                f"| {kind or 'all'} | {len(rows)} | {np.mean([m.gap for m in rows]):.1f} | "
                f"{np.median([m.share for m in rows]):.1f} | {np.median([m.volume for m in rows]):.2f} |"
            )
    return [*lines, f"seconds a thing: {np.mean([m.seconds for m in made]):.2f}"]


if __name__ == "__main__":
    sys.exit(main())
