"""Convex pieces of a mesh that is open at the top: a floor and a ring of wedges, felt out by rays; and its handle."""

import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import trimesh
from scipy import ndimage
from trimesh.transformations import rotation_matrix

from pipeline.assets.mesh import load_file
from pipeline.assets.protruding import protruding_pieces
from pipeline.assets.shapes import RING, hull

if TYPE_CHECKING:
    import open3d as o3d

GRID, BANDS = 48, 3
DEPTH = 0.3
"""Share of the height that a pit is deep at the least."""
THICKEST = 0.25
"""The wall's thickness as a share of the hollow's radius, at most."""
FORM = "2"
"""Of the pieces: those kept in another are made anew."""
UPWARDS: dict[str, tuple[str, int]] = {
    "z": ("z", 0), "y": ("x", 1), "-y": ("x", 3), "-x": ("y", 1), "x": ("y", 3), "-z": ("x", 2),
}  # fmt: skip
"""The axis, and how many quarter turns about it by the right hand, that bring each side up."""


def hollow_files(source: Path, folder: Path) -> tuple[Path, ...]:
    """The pieces of a mesh file as .obj files in a folder, computed once; none where the mesh has no pit."""
    if not folder.exists():
        part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        for number, piece in enumerate(hollow_pieces(load_file(source))):
            piece.export(part / f"{number:02d}.obj")
        try:
            part.rename(folder)
        except OSError:  # another process was first
            shutil.rmtree(part, ignore_errors=True)
    return tuple(sorted(folder.glob("*.obj")))


def opening(mesh: trimesh.Trimesh) -> tuple[str, list[trimesh.Trimesh]] | None:
    """The side that its hollow opens to, of UPWARDS, and the pieces around it; None where it has no pit."""
    for side, (axis, quarters) in UPWARDS.items():
        upright = quarter_turn(axis, quarters)
        if pieces := hollow_pieces(mesh.copy().apply_transform(upright)):
            return side, [piece.apply_transform(upright.T) for piece in pieces]
    return None


def turned(side: str, axis: str, quarters: int) -> str:
    """Which of UPWARDS a side becomes by quarter turns about an axis."""
    before = np.zeros(3)
    before["xyz".index(side[-1])] = -1 if side[0] == "-" else 1
    after = quarter_turn(axis, quarters)[:3, :3] @ before
    k = int(np.abs(after).argmax())
    return ("-" if after[k] < 0 else "") + "xyz"[k]


def quarter_turn(axis: str, quarters: int) -> np.ndarray:
    """(4, 4), by the right hand."""
    return rotation_matrix(quarters * np.pi / 2, np.eye(3)["xyz".index(axis)]).round(12)


def hollow_pieces(mesh: trimesh.Trimesh) -> list[trimesh.Trimesh]:
    """A floor, RING wedges in BANDS heights, and what sticks out of them, in the mesh's frame."""
    import open3d as o3d  # takes a second: not at start-up

    scene = o3d.t.geometry.RaycastingScene()
    scene.add_triangles(
        o3d.core.Tensor.from_numpy(mesh.vertices.astype(np.float32)),
        o3d.core.Tensor.from_numpy(mesh.faces.astype(np.uint32)),
    )
    pit = _pit(scene, mesh.bounds)
    if pit is None:
        return []
    middle, floor = pit
    low, high = mesh.bounds[0, 2], mesh.bounds[1, 2]
    heights = np.linspace(floor, high, BANDS + 1)
    felt = np.clip(heights, floor + 0.03 * (high - floor), high - 0.03 * (high - floor))
    angle = np.linspace(0, 2 * np.pi, RING, endpoint=False)
    around = np.stack([np.cos(angle), np.sin(angle)], 1)
    inner, outer = _walls(scene, middle, felt, around, float(np.ptp(mesh.bounds[:, :2], axis=0).max()))
    rings = [
        [np.c_[middle + r[:, None] * around, np.full(RING, z)] for r in (inner[k], outer[k])]
        for k, z in enumerate(heights)
    ]
    below = mesh.vertices[mesh.vertices[:, 2] <= floor + 1e-4]
    reach = np.linalg.norm(below[:, :2] - middle, axis=1) <= outer[0].max()
    pieces = [hull(np.vstack([below[reach], rings[0][1], rings[0][1] - [0, 0, min(0.002, (floor - low) / 2 + 1e-4)]]))]
    for lower, upper in pairwise(rings):
        for k in range(RING):
            ends = [k, (k + 1) % RING]
            pieces.append(hull(np.vstack([ring[ends] for pair in (lower, upper) for ring in pair])))
    return pieces + protruding_pieces(mesh, middle, heights, outer)


def _cast(scene: "o3d.t.geometry.RaycastingScene", start: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Distances (N,), infinite where nothing is hit, of rays from `start` (N, 3) in the direction `along` (N, 3)."""
    import open3d as o3d

    return scene.cast_rays(o3d.core.Tensor.from_numpy(np.hstack([start, along]).astype(np.float32)))["t_hit"].numpy()


def _pit(scene: "o3d.t.geometry.RaycastingScene", bounds: np.ndarray) -> tuple[np.ndarray, float] | None:
    """The middle (2,) of the largest hollow seen from above that is closed all around, and its floor's height."""
    low, high = bounds
    x, y = np.linspace(low[0], high[0], GRID), np.linspace(low[1], high[1], GRID)
    grid = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
    start = np.c_[grid, np.full(len(grid), high[2] + 0.1)]
    top = start[:, 2] - _cast(scene, start, np.broadcast_to([0.0, 0, -1], start.shape))
    top = np.where(np.isfinite(top), top, -np.inf).reshape(GRID, GRID)
    deep = top < high[2] - DEPTH * (high[2] - low[2])
    labels = np.zeros((GRID + 2, GRID + 2), np.int32)
    count = int(ndimage.label(np.pad(deep, 1, constant_values=True), output=labels))  # type: ignore[arg-type]
    labels = labels[1:-1, 1:-1]
    outside = set(np.unique(labels[~np.isfinite(top)])) | set(
        np.unique(np.r_[labels[0], labels[-1], labels[:, 0], labels[:, -1]])
    )
    sizes = {k: np.count_nonzero(labels == k) for k in range(1, count + 1) if k not in outside}
    if not sizes or max(sizes.values()) < 0.05 * GRID**2:
        return None
    inside = labels == max(sizes, key=lambda k: sizes[k])
    return grid[inside.ravel()].mean(axis=0), float(np.quantile(top[inside], 0.1))


def _walls(
    scene: "o3d.t.geometry.RaycastingScene", middle: np.ndarray, heights: np.ndarray, around: np.ndarray, far: float
) -> tuple[np.ndarray, np.ndarray]:
    """Radii of the wall's inner and outer side at each height and direction, each of shape (heights, RING)."""
    shape = (len(heights), len(around))
    along = np.broadcast_to(np.c_[around, np.zeros(len(around))], (*shape, 3)).reshape(-1, 3)
    start = np.concatenate(
        [np.broadcast_to(middle, (*shape, 2)), np.broadcast_to(heights[:, None, None], (*shape, 1))], -1
    )
    start = start.reshape(-1, 3)
    inner = _cast(scene, start, along).reshape(shape)
    outer = 2 * far - _cast(scene, start + 2 * far * along, -along).reshape(shape)
    usual = np.median(inner[np.isfinite(inner)]) if np.isfinite(inner).any() else far / 2
    inner = np.where(np.isfinite(inner), inner, usual)
    outer = np.where(np.isfinite(outer), outer, inner)
    wall = np.median(outer - inner, axis=1, keepdims=True)
    outer = np.where(outer - inner > 2 * wall + 0.002, inner + wall, outer)  # a handle is no wall
    return inner, np.clip(outer, inner + 0.0015, inner * (1 + THICKEST) + 0.002)
