"""Finds what protrudes from the wall of a hollow object, a handle or a spout, and slices it into convex parts.

One hull of the whole handle would close it: nothing could be hung by it or put through it.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import trimesh
from scipy.interpolate import RegularGridInterpolator

from pipeline.assets.solids import convex_hull

SLICES = 8
"""Number of slices along the longer direction of a protrusion, before parts are merged."""
MIN_CLEARANCE_RATIO = 0.06
"""Distance from the wall beyond which a point protrudes, over the wall's radius there."""
MIN_EXTENT_RATIO = 0.12
"""Longest side over the object's width, below which a protrusion is a bump of the wall."""
MAX_ANGLE_RAD = np.deg2rad(100)
"""Angle around the wall from which a protrusion is a rim or a foot, not a handle."""
MAX_MERGED_VOLUME_RATIO = 1.1
"""Volume of the hull of two parts over the sum of theirs, up to which they are merged."""


def protruding_parts(
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
    out = _clearance(welded.vertices, middle, heights, outer) > MIN_CLEARANCE_RATIO
    width = float(welded.extents[:2].min())
    parts: list[trimesh.Trimesh] = []
    for part in _components(welded, np.flatnonzero(out[welded.faces].any(axis=1))):
        offsets = part.vertices[:, :2] - middle
        if part.extents.max() > MIN_EXTENT_RATIO * width and _angular_extent(offsets) < MAX_ANGLE_RAD:
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
    ends = np.linspace((part.vertices @ along).min(), (part.vertices @ along).max(), SLICES + 1)
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
            if both.volume < MAX_MERGED_VOLUME_RATIO * (other.volume + part.volume):
                merged[k] = both
                break
        else:
            merged.append(part)
    return merged
