"""What sticks out of a hollow thing's wall, a handle or a spout: cut across into slices, each in its own hull.

A hull of the whole handle would close it: nothing could be hung by it, and no finger put through.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import trimesh
from scipy.interpolate import RegularGridInterpolator

from pipeline.assets.shapes import hull

SLICES = 8
"""Across the longer way of what sticks out; neighbours that make one convex piece are joined again."""
CLEAR = 0.06
"""How far from the wall something sticks out, as a share of the wall's radius there."""
LEAST = 0.12
"""Its longest side as a share of the thing's width, below which it is a bump of the wall."""
AROUND = np.deg2rad(100)
"""The angle around the wall from which on it is no handle but a rim or a foot."""
JOINED = 1.1
"""Volume of the hull of two pieces over theirs, up to which the two are one."""


def protruding_pieces(
    mesh: trimesh.Trimesh, middle: np.ndarray, heights: np.ndarray, outer: np.ndarray
) -> list[trimesh.Trimesh]:
    """Convex pieces, in the mesh's frame, of what lies outside of a wall.

    Args:
        mesh: the whole thing, upright.
        middle: of its hollow, of shape (2,), in metres.
        heights: rising, of shape (H,), in metres.
        outer: the wall's radius around `middle` at each height in D directions, the first along x, of shape (H, D).
    """
    welded = trimesh.Trimesh(mesh.vertices, mesh.faces)
    welded.merge_vertices(merge_tex=True, merge_norm=True)
    out = _beyond(welded.vertices, middle, heights, outer) > CLEAR
    width = float(welded.extents[:2].min())
    pieces: list[trimesh.Trimesh] = []
    for part in _components(welded, np.flatnonzero(out[welded.faces].any(axis=1))):
        away = part.vertices[:, :2] - middle
        if part.extents.max() > LEAST * width and _angle(away) < AROUND:
            pieces += _joined(list(_slices(part, away)))
    return pieces


def _beyond(points: np.ndarray, middle: np.ndarray, heights: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """How far beyond the wall points (N, 3) are, as a share of its radius, of shape (N,)."""
    x, y = (points[:, :2] - middle).T
    directions = np.linspace(0, 2 * np.pi, outer.shape[1] + 1)
    wall = RegularGridInterpolator((heights, directions), np.c_[outer, outer[:, :1]])
    radius = wall(np.c_[np.clip(points[:, 2], heights[0], heights[-1]), np.arctan2(y, x) % (2 * np.pi)])
    return np.hypot(x, y) / np.maximum(radius, 1e-9) - 1


def _components(mesh: trimesh.Trimesh, faces: np.ndarray) -> list[trimesh.Trimesh]:
    """The pieces of surface that faces (F,) of a mesh make, each in one."""
    chosen = trimesh.Trimesh(mesh.vertices, mesh.faces[faces], process=False)
    groups = trimesh.graph.connected_components(chosen.face_adjacency, nodes=np.arange(len(faces)))
    parts = chosen.submesh(groups, append=False) if len(faces) else []
    return parts if isinstance(parts, list) else [parts]


def _angle(away: np.ndarray) -> float:
    """The angle that directions (N, 2) from one point take up."""
    turns = np.sort(np.arctan2(away[:, 1], away[:, 0]))
    return float(2 * np.pi - np.diff(np.r_[turns, turns[0] + 2 * np.pi]).max())


def _slices(part: trimesh.Trimesh, away: np.ndarray) -> Iterator[trimesh.Trimesh]:
    """Hulls of its slices, from below, or from the wall outwards where it is longer that way."""
    radial = np.r_[away.mean(axis=0), 0.0] / max(float(np.linalg.norm(away.mean(axis=0))), 1e-9)
    ways = [np.array([0.0, 0, 1]), radial]
    along = max(ways, key=lambda way: float(np.ptp(part.vertices @ way)))
    ends = np.linspace((part.vertices @ along).min(), (part.vertices @ along).max(), SLICES + 1)
    heights = (part.vertices @ along)[part.faces]
    for low, high in pairwise(ends):
        for one in _components(part, np.flatnonzero((heights.max(axis=1) > low) & (heights.min(axis=1) < high))):
            if (solid := _solid(_between(one, along, low, high))) is not None:
                yield solid


def _between(mesh: trimesh.Trimesh, along: np.ndarray, low: float, high: float) -> np.ndarray:
    """The mesh's vertices between two planes, and where its edges cross these, of shape (N, 3)."""
    start, end = mesh.vertices[mesh.edges_unique].transpose(1, 0, 2)
    first, last = start @ along, end @ along
    points = [mesh.vertices[(mesh.vertices @ along >= low) & (mesh.vertices @ along <= high)]]
    for height in (low, high):
        crosses = (first - height) * (last - height) < 0
        share = ((height - first[crosses]) / (last - first)[crosses])[:, None]
        points.append(start[crosses] * (1 - share) + end[crosses] * share)
    return np.vstack(points)


def _solid(points: np.ndarray) -> trimesh.Trimesh | None:
    """The hull of points (N, 3); None where they are too few, or lie in a plane."""
    if len(points) < 4 or np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[-1] < 1e-5:
        return None
    return hull(points)


def _joined(pieces: list[trimesh.Trimesh]) -> list[trimesh.Trimesh]:
    """Each piece with those before it that it makes one convex piece with."""
    kept: list[trimesh.Trimesh] = []
    for piece in pieces:
        for k, other in enumerate(kept):
            both = hull(np.vstack([other.vertices, piece.vertices]))
            if both.volume < JOINED * (other.volume + piece.volume):
                kept[k] = both
                break
        else:
            kept.append(piece)
    return kept
