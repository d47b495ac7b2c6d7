"""Convex parts for collision: of hollow meshes by ray casting (floor, wedges, handle), of others by CoACD."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import trimesh
from scipy import ndimage
from scipy.interpolate import RegularGridInterpolator
from trimesh.transformations import rotation_matrix

from pipeline.assets.mesh_files import load_mesh_file
from pipeline.assets.solids import RING_SECTORS, convex_hull
from pipeline.geometry import rays
from pipeline.store import made_once

if TYPE_CHECKING:
    import open3d as o3d

GRID_CELLS, HEIGHT_BANDS = 48, 3
CACHE_VERSION = "2"
"""Version of the parts: cached parts of another version are computed again."""
QUARTER_TURNS_UP: dict[str, tuple[str, int]] = {
    "z": ("z", 0), "y": ("x", 1), "-y": ("x", 3), "-x": ("y", 1), "x": ("y", 3), "-z": ("x", 2),
}  # fmt: skip
"""By side: the axis and the number of right-handed quarter turns about it that bring the side up."""

MAX_ANGLE_RAD = np.deg2rad(100)
"""Angle around the wall from which a protrusion is a rim or a foot, not a handle."""

MAX_MEAN_HULL_GAP = 0.03
"""Mean distance from the hull to the mesh over the mesh's mean extent, up to which the hull suffices."""
MAX_HULL_GAP = 0.2
"""The same for the largest distance: the hull of a ring closes its hole."""


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
    return parts + _protruding_parts(mesh, middle, heights, outer)


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
    # Smallest depth of a pit over the height of the mesh
    deep = top < high[2] - 0.3 * (high[2] - low[2])
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
    # 0.25: largest thickness of the wall over the radius of the hollow
    return inner, np.clip(outer, inner + 0.0015, inner * (1 + 0.25) + 0.002)


def _protruding_parts(
    mesh: trimesh.Trimesh, middle: np.ndarray, heights: np.ndarray, outer: np.ndarray
) -> list[trimesh.Trimesh]:
    """Return convex parts, in the mesh's frame, of what lies outside a wall.

    Args:
        mesh: The hollow object, upright.
        middle: Centre of the hollow, shape (2,), in metres.
        heights: Increasing, shape (H,), in metres.
        outer: Radius of the wall around `middle` at each height in D directions, the first along x, shape (H, D).
    """
    welded = trimesh.Trimesh(mesh.vertices, mesh.faces)
    welded.merge_vertices(merge_tex=True, merge_norm=True)
    # Distance from the wall beyond which a point protrudes, over the wall's radius there
    out = _clearance(welded.vertices, middle, heights, outer) > 0.06
    width = float(welded.extents[:2].min())
    parts: list[trimesh.Trimesh] = []
    for part in _components(welded, np.flatnonzero(out[welded.faces].any(axis=1))):
        offsets = part.vertices[:, :2] - middle
        # 0.12: longest side over the object's width, below which a protrusion is a bump of the wall
        if part.extents.max() > 0.12 * width and _angular_extent(offsets) < MAX_ANGLE_RAD:
            parts += _merge_convex(list(_slices(part, offsets)))
    return parts


def _clearance(points: np.ndarray, middle: np.ndarray, heights: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """Return how far points (N, 3) lie outside the wall, over its radius, shape (N,)."""
    x, y = (points[:, :2] - middle).T
    directions = np.linspace(0, 2 * np.pi, outer.shape[1] + 1)
    wall = RegularGridInterpolator((heights, directions), np.c_[outer, outer[:, :1]])
    radius = wall(np.c_[np.clip(points[:, 2], heights[0], heights[-1]), np.arctan2(y, x) % (2 * np.pi)])
    return np.hypot(x, y) / np.maximum(radius, 1e-9) - 1


def _components(mesh: trimesh.Trimesh, faces: np.ndarray) -> list[trimesh.Trimesh]:
    """Return the connected surfaces that faces (F,) of a mesh form."""
    chosen = trimesh.Trimesh(mesh.vertices, mesh.faces[faces], process=False)
    groups = trimesh.graph.connected_components(chosen.face_adjacency, nodes=np.arange(len(faces)))
    parts = chosen.submesh(groups, append=False) if len(faces) else []
    return parts if isinstance(parts, list) else [parts]


def _angular_extent(offsets: np.ndarray) -> float:
    """Return the angle that offsets (N, 2) from one point span."""
    turns = np.sort(np.arctan2(offsets[:, 1], offsets[:, 0]))
    return float(2 * np.pi - np.diff(np.r_[turns, turns[0] + 2 * np.pi]).max())


def _slices(part: trimesh.Trimesh, offsets: np.ndarray) -> Iterator[trimesh.Trimesh]:
    """Yield hulls of slices along z, or from the wall outwards if the protrusion is longer that way."""
    radial = np.r_[offsets.mean(axis=0), 0.0] / max(float(np.linalg.norm(offsets.mean(axis=0))), 1e-9)
    directions = [np.array([0.0, 0, 1]), radial]
    along = max(directions, key=lambda direction: float(np.ptp(part.vertices @ direction)))
    # Number of slices along the longer direction of a protrusion, before parts are merged
    ends = np.linspace((part.vertices @ along).min(), (part.vertices @ along).max(), 8 + 1)
    heights = (part.vertices @ along)[part.faces]
    for low, high in pairwise(ends):
        for section in _components(part, np.flatnonzero((heights.max(axis=1) > low) & (heights.min(axis=1) < high))):
            if (hull := _part_hull(_section_points(section, along, low, high))) is not None:
                yield hull


def _section_points(mesh: trimesh.Trimesh, along: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return the mesh's vertices between two planes, and where edges cross the planes, shape (N, 3)."""
    start, end = mesh.vertices[mesh.edges_unique].transpose(1, 0, 2)
    first, last = start @ along, end @ along
    points = [mesh.vertices[(mesh.vertices @ along >= low) & (mesh.vertices @ along <= high)]]
    for height in (low, high):
        crosses = (first - height) * (last - height) < 0
        share = ((height - first[crosses]) / (last - first)[crosses])[:, None]
        points.append(start[crosses] * (1 - share) + end[crosses] * share)
    return np.vstack(points)


def _part_hull(points: np.ndarray) -> trimesh.Trimesh | None:
    """Return the hull of points (N, 3); None if they are too few or lie in a plane."""
    if len(points) < 4 or np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[-1] < 1e-5:
        return None
    return convex_hull(points)


def _merge_convex(parts: list[trimesh.Trimesh]) -> list[trimesh.Trimesh]:
    """Return the parts, each merged with an earlier one if the two form a convex part."""
    merged: list[trimesh.Trimesh] = []
    for part in parts:
        for k, other in enumerate(merged):
            both = convex_hull(np.vstack([other.vertices, part.vertices]))
            # Volume of the hull of two parts over the sum of theirs, up to which they are merged
            if both.volume < 1.1 * (other.volume + part.volume):
                merged[k] = both
                break
        else:
            merged.append(part)
    return merged


def is_nearly_convex(mesh: trimesh.Trimesh) -> bool:
    """Return whether the hull lies close to the mesh, except over gaps in the surface."""
    scene = rays.raycasting_scene([(mesh.vertices, mesh.faces)])
    points = np.asarray(trimesh.sample.sample_surface(mesh.convex_hull, 2000, seed=0)[0])
    distance = rays.surface_distance(scene, points)
    mean = float(mesh.extents.mean())
    return bool(
        distance.mean() < MAX_MEAN_HULL_GAP * mean and (distance.max() < MAX_HULL_GAP * mean or not mesh.is_watertight)
    )


def decompose(mesh: trimesh.Trimesh, max_parts: int = 16) -> list[trimesh.Trimesh]:
    """Return at most `max_parts` convex parts. docs/results/library.md has measurements.

    A watertight mesh is decimated and decomposed as it is: remeshing takes most of the time and thickens thin walls.
    If the parts then miss some of the surface, because components intersect, it is remeshed after all.
    """
    thin = _decimate(mesh, 1000)
    parts = _run_coacd(thin, max_parts, "off") if thin.is_watertight and thin.volume > 0 else []
    # Mean distance from the surface to the parts that cover it, over the mesh's mean extent, at max_parts
    if parts and _uncovered_gap(mesh, parts) < 0.01:
        return parts
    return _run_coacd(_decimate(mesh, 1500), max_parts, "on")


def _decimate(mesh: trimesh.Trimesh, faces: int) -> trimesh.Trimesh:
    import open3d as o3d

    dense = o3d.geometry.TriangleMesh(o3d.utility.Vector3dVector(mesh.vertices), o3d.utility.Vector3iVector(mesh.faces))
    thin = dense.simplify_quadric_decimation(faces) if len(mesh.faces) > faces else dense
    return trimesh.Trimesh(np.asarray(thin.vertices), np.asarray(thin.triangles), process=False)


def _run_coacd(mesh: trimesh.Trimesh, max_parts: int, remeshing: str) -> list[trimesh.Trimesh]:
    import coacd

    coacd.set_log_level("error")
    parts = coacd.run_coacd(
        coacd.Mesh(mesh.vertices, mesh.faces), threshold=0.08, max_convex_hull=max_parts, mcts_iterations=12,
        mcts_nodes=6, mcts_max_depth=2, resolution=500, seed=1, preprocess_mode=remeshing, preprocess_resolution=30,
    )  # fmt: skip
    return [trimesh.Trimesh(corners, sides).convex_hull for corners, sides in parts]


def _uncovered_gap(mesh: trimesh.Trimesh, parts: list[trimesh.Trimesh]) -> float:
    """Return the mean distance of the surface outside all parts, over the mesh's mean extent."""
    points = np.asarray(trimesh.sample.sample_surface(mesh, 1000, seed=0)[0])
    planes = [(part.face_normals, part.triangles_center) for part in parts]
    outside = [(points @ normals.T - (normals * at).sum(axis=1)).max(axis=1) for normals, at in planes]
    return float(np.maximum(np.min(outside, axis=0), 0).mean() / mesh.extents.mean())
