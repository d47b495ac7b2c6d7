"""Finds convex parts of a mesh that is open at the top by ray casting: a floor, a ring of wedges, and its handle."""

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import trimesh
from scipy import ndimage
from trimesh.transformations import rotation_matrix

from pipeline.assets.collision.protrusions import protruding_parts
from pipeline.assets.mesh_files import load_mesh_file
from pipeline.assets.solids import RING_SECTORS, convex_hull
from pipeline.geometry import rays
from pipeline.store import made_once

if TYPE_CHECKING:
    import open3d as o3d

GRID_CELLS, HEIGHT_BANDS = 48, 3
MIN_PIT_DEPTH_RATIO = 0.3
"""Smallest depth of a pit over the height of the mesh."""
MAX_WALL_RATIO = 0.25
"""Largest thickness of the wall over the radius of the hollow."""
CACHE_VERSION = "2"
"""Version of the parts: cached parts of another version are computed again."""
QUARTER_TURNS_UP: dict[str, tuple[str, int]] = {
    "z": ("z", 0), "y": ("x", 1), "-y": ("x", 3), "-x": ("y", 1), "x": ("y", 3), "-z": ("x", 2),
}  # fmt: skip
"""By side: the axis and the number of right-handed quarter turns about it that bring the side up."""


def hollow_part_files(source: Path, folder: Path) -> tuple[Path, ...]:
    """Return the parts of a mesh file as .obj files in a folder, computed once; none if the mesh has no pit."""

    def make(part: Path) -> None:
        for number, mesh in enumerate(hollow_parts(load_mesh_file(source))):
            mesh.export(part / f"{number:02d}.obj")

    return tuple(sorted(made_once(folder, make).glob("*.obj")))


def find_opening(mesh: trimesh.Trimesh) -> tuple[str, list[trimesh.Trimesh]] | None:
    """Return the side of QUARTER_TURNS_UP that the hollow opens to, and the parts around it; None without a pit."""
    for side, (axis, quarters) in QUARTER_TURNS_UP.items():
        upright = quarter_turn_matrix(axis, quarters)
        if parts := hollow_parts(mesh.copy().apply_transform(upright)):
            return side, [part.apply_transform(upright.T) for part in parts]
    return None


def rotated_side(side: str, axis: str, quarters: int) -> str:
    """Return the side of QUARTER_TURNS_UP that a side becomes by quarter turns about an axis."""
    before = np.zeros(3)
    before["xyz".index(side[-1])] = -1 if side[0] == "-" else 1
    after = quarter_turn_matrix(axis, quarters)[:3, :3] @ before
    k = int(np.abs(after).argmax())
    return ("-" if after[k] < 0 else "") + "xyz"[k]


def quarter_turn_matrix(axis: str, quarters: int) -> np.ndarray:
    """Return the transform (4, 4) of right-handed quarter turns about an axis."""
    return rotation_matrix(quarters * np.pi / 2, np.eye(3)["xyz".index(axis)]).round(12)


def hollow_parts(mesh: trimesh.Trimesh) -> list[trimesh.Trimesh]:
    """Return a floor, RING_SECTORS wedges in HEIGHT_BANDS heights, and protrusions, in the mesh's frame.

    Empty if the mesh has no pit.
    """
    scene = rays.raycasting_scene([(mesh.vertices, mesh.faces)])
    pit = _find_pit(scene, mesh.bounds)
    if pit is None:
        return []
    middle, floor = pit
    low, high = mesh.bounds[0, 2], mesh.bounds[1, 2]
    heights = np.linspace(floor, high, HEIGHT_BANDS + 1)
    sampled_heights = np.clip(heights, floor + 0.03 * (high - floor), high - 0.03 * (high - floor))
    angle = np.linspace(0, 2 * np.pi, RING_SECTORS, endpoint=False)
    around = np.stack([np.cos(angle), np.sin(angle)], 1)
    width = float(np.ptp(mesh.bounds[:, :2], axis=0).max())
    inner, outer = _wall_radii(scene, middle, sampled_heights, around, width)
    rings = [
        [np.c_[middle + r[:, None] * around, np.full(RING_SECTORS, z)] for r in (inner[k], outer[k])]
        for k, z in enumerate(heights)
    ]
    below = mesh.vertices[mesh.vertices[:, 2] <= floor + 1e-4]
    reach = np.linalg.norm(below[:, :2] - middle, axis=1) <= outer[0].max()
    lower_rim = rings[0][1] - [0, 0, min(0.002, (floor - low) / 2 + 1e-4)]
    parts = [convex_hull(np.vstack([below[reach], rings[0][1], lower_rim]))]
    for lower, upper in pairwise(rings):
        for k in range(RING_SECTORS):
            ends = [k, (k + 1) % RING_SECTORS]
            parts.append(convex_hull(np.vstack([ring[ends] for pair in (lower, upper) for ring in pair])))
    return parts + protruding_parts(mesh, middle, heights, outer)


def _ray_distances(scene: "o3d.t.geometry.RaycastingScene", start: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return distances (N,) of rays from `start` (N, 3) along `along` (N, 3); infinite without a hit."""
    return rays.cast_rays(scene, start, along).distance


def _find_pit(scene: "o3d.t.geometry.RaycastingScene", bounds: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return the centre (2,) of the largest pit seen from above with a closed wall, and the height of its floor."""
    low, high = bounds
    x, y = np.linspace(low[0], high[0], GRID_CELLS), np.linspace(low[1], high[1], GRID_CELLS)
    grid = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
    start = np.c_[grid, np.full(len(grid), high[2] + 0.1)]
    top = start[:, 2] - _ray_distances(scene, start, np.broadcast_to([0.0, 0, -1], start.shape))
    top = np.where(np.isfinite(top), top, -np.inf).reshape(GRID_CELLS, GRID_CELLS)
    deep = top < high[2] - MIN_PIT_DEPTH_RATIO * (high[2] - low[2])
    labels = np.zeros((GRID_CELLS + 2, GRID_CELLS + 2), np.int32)
    count = int(ndimage.label(np.pad(deep, 1, constant_values=True), output=labels))  # type: ignore[arg-type]
    labels = labels[1:-1, 1:-1]
    outside = set(np.unique(labels[~np.isfinite(top)])) | set(
        np.unique(np.r_[labels[0], labels[-1], labels[:, 0], labels[:, -1]])
    )
    sizes = {k: np.count_nonzero(labels == k) for k in range(1, count + 1) if k not in outside}
    if not sizes or max(sizes.values()) < 0.05 * GRID_CELLS**2:
        return None
    inside = labels == max(sizes, key=lambda k: sizes[k])
    return grid[inside.ravel()].mean(axis=0), float(np.quantile(top[inside], 0.1))


def _wall_radii(
    scene: "o3d.t.geometry.RaycastingScene", middle: np.ndarray, heights: np.ndarray, around: np.ndarray, far: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the inner and outer radius of the wall at each height and direction, shape (heights, RING_SECTORS)."""
    shape = (len(heights), len(around))
    along = np.broadcast_to(np.c_[around, np.zeros(len(around))], (*shape, 3)).reshape(-1, 3)
    start = np.concatenate(
        [np.broadcast_to(middle, (*shape, 2)), np.broadcast_to(heights[:, None, None], (*shape, 1))], -1
    )
    start = start.reshape(-1, 3)
    inner = _ray_distances(scene, start, along).reshape(shape)
    outer = 2 * far - _ray_distances(scene, start + 2 * far * along, -along).reshape(shape)
    usual = np.median(inner[np.isfinite(inner)]) if np.isfinite(inner).any() else far / 2
    inner = np.where(np.isfinite(inner), inner, usual)
    outer = np.where(np.isfinite(outer), outer, inner)
    wall = np.median(outer - inner, axis=1, keepdims=True)
    outer = np.where(outer - inner > 2 * wall + 0.002, inner + wall, outer)  # not the wall but a handle
    return inner, np.clip(outer, inner + 0.0015, inner * (1 + MAX_WALL_RATIO) + 0.002)
