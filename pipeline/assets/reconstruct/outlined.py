"""Things with an outline: boxes, outlines raised from what holds them, and convex outlines in layers.

Layers lie one on another, or stand one behind another along the thing; the side that the camera does not see is taken
to mirror the one it sees.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np
from scipy.spatial import ConvexHull, QhullError

from pipeline.assets import shapes
from pipeline.assets.reconstruct.evidence import Evidence
from pipeline.assets.reconstruct.meeting import Met, agreed, meets_box
from pipeline.assets.reconstruct.proposal import PAINT, SMALLEST, Proposal, about_z, at
from pipeline.assets.shapes import Solid
from pipeline.description.shape import upright_box

CELL = 0.0015
"""Metres of the grid on which an outline is drawn."""
COARSE = 0.0025
"""Metres that an outline's corners may be simplified by."""
SMOOTH = 0.002
"""Metres over which an outline is smoothed."""
YAW = 20.0
"""Radians that stand for a metre among lengths."""
TRIES = 110
"""Boxes asked about in each of two rounds."""
LAYERS, SIDES = 12, 32
STATIONS = 10
"""Sections along a lying thing."""
STRIPS = 8
"""Convex pieces of a raised outline, side by side."""


def boxes(evidence: Evidence, size: np.ndarray, yaw: float, centre: np.ndarray) -> Iterator[Proposal]:
    """The smallest box around the points, and the one near it, or near the described one, that the rays agree with."""
    tight, turn, middle = upright_box(evidence.points[:, :2])
    height = evidence.top - evidence.bottom
    yield box(np.array([*tight, height]), turn, np.array([*middle, evidence.bottom]))

    def meets(x: np.ndarray) -> Met:
        return meets_box(evidence, np.array([x[0], x[1], evidence.bottom + x[5] / 2]), YAW * x[2], x[3:])

    starts = np.array([[*middle, turn / YAW, *tight, height], [*centre[:2], yaw / YAW, *size[:2], height]])
    measured = x = min(np.maximum(starts, [-9, -9, -9, *[SMALLEST] * 3]), key=lambda x: evidence.error(*meets(x)))
    for _ in range(2):  # a second simplex gets out where the first was stuck
        x = agreed(evidence, meets, x, slice(3, 6), TRIES, measured)
    yield replace(box(x[3:], YAW * float(x[2]), np.array([*x[:2], evidence.bottom])), agreed=True)


def box(size: np.ndarray, yaw: float, foot: np.ndarray) -> Proposal:
    """Size (3,), its foot's middle at `foot`, (3,)."""
    size = np.maximum(size, SMALLEST)
    solid = at(shapes.box(size, PAINT, cells=8), about_z(yaw), foot + np.array([0, 0, size[2] / 2]))
    return Proposal("box", solid, yaw, 6, "a box")


# ---------------------------------------------------------------------- raised


def raised(evidence: Evidence) -> Iterator[Proposal]:
    """The outline of the points from above, raised from what holds them to their top."""
    outline = footprint(evidence.dense[:, :2], evidence.spacing)
    if outline is None:
        return
    _, yaw, _ = upright_box(evidence.points[:, :2])
    height = evidence.top - evidence.bottom
    local = outline @ about_z(yaw)[:2, :2]
    solid = shapes.extrude(local, height, PAINT)
    pieces = tuple(_strips(local, height))
    place = np.array([0, 0, evidence.bottom + height / 2])
    yield Proposal(
        "extruded", at(Solid(solid.mesh, pieces or solid.corners), about_z(yaw), place), yaw, len(outline) + 2,
        "an outline raised from the table",
    )  # fmt: skip


def footprint(ground: np.ndarray, spacing: float) -> np.ndarray | None:
    """The outline of points (N, 2) that lie about `spacing` apart, anticlockwise, (M, 2); None where they make none."""
    low = ground.min(0) - 10 * CELL
    cells = np.rint((ground - low) / CELL).astype(int)
    grid = np.zeros((cells.max(0) + 10)[::-1], np.uint8)
    grid[cells[:, 1], cells[:, 0]] = 1
    reach = 2 * int(np.clip(np.ceil(1.5 * spacing / CELL), 2, 8)) + 1
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (reach, reach))
    closed = cv2.morphologyEx(np.pad(grid, reach), cv2.MORPH_CLOSE, disc)
    closed = (cv2.GaussianBlur(closed * 255, (0, 0), SMOOTH / CELL) > 127).astype(np.uint8)
    contours, _ = cv2.findContours(closed, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    if not contours:
        return None
    largest = max(contours, key=cv2.contourArea)
    corners = cv2.approxPolyDP(largest, COARSE / CELL, True)[:, 0].astype(float)
    if len(corners) < 3 or cv2.contourArea(largest) * CELL**2 < SMALLEST**2:
        return None
    outline = (corners - reach) * CELL + low
    return outline if _area(outline) > 0 else outline[::-1]


def _area(outline: np.ndarray) -> float:
    x, y = outline.T
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def _strips(outline: np.ndarray, height: float) -> Iterator[np.ndarray]:
    """Corners of convex pieces of an outline (M, 2) raised about z = 0: it is cut across x, each strip is raised."""
    edges = np.linspace(outline[:, 0].min(), outline[:, 0].max(), STRIPS + 1)
    for low, high in pairwise(edges):
        corners = _between(outline, low, high)
        if len(corners) >= 3 and np.ptp(corners, axis=0).min() > 1e-4:
            ends = [np.c_[corners, np.full(len(corners), z)] for z in (-height / 2, height / 2)]
            yield np.vstack(ends)


def _between(outline: np.ndarray, low: float, high: float) -> np.ndarray:
    """The outline's corners between two x, and where its edges cross them, of shape (N, 2)."""
    found = [outline[(outline[:, 0] >= low) & (outline[:, 0] <= high)]]
    ends = np.roll(outline, -1, axis=0)
    for cut in (low, high):
        crossing = (outline[:, 0] - cut) * (ends[:, 0] - cut) < 0
        a, b = outline[crossing], ends[crossing]
        share = ((cut - a[:, 0]) / (b[:, 0] - a[:, 0]))[:, None]
        found.append(a + share * (b - a))
    return np.vstack(found)


# ---------------------------------------------------------------------- layers


def layered(evidence: Evidence, size: np.ndarray, yaw: float, centre: np.ndarray) -> Iterator[Proposal]:
    """Convex outlines one above the other, and one behind the other along the longer side."""
    seen = (evidence.points - centre) @ about_z(yaw)
    towards = about_z(yaw).T @ (evidence.eye - centre)
    points = np.vstack([seen, _mirrored(seen, towards)])
    rings = _outlines(points, size)
    if rings is not None:
        solid = at(shapes.layers(rings, PAINT), about_z(yaw), centre)
        yield Proposal("layered", solid, yaw, 4 * LAYERS, "convex outlines in layers")
    if (swept := _swept(seen, size)) is not None:
        turn = about_z(yaw) if size[0] >= size[1] else about_z(yaw + np.pi / 2)
        yield Proposal("layered", at(swept, turn, centre), yaw, 4 * STATIONS, "sections along its length")


def _mirrored(points: np.ndarray, towards: np.ndarray) -> np.ndarray:
    normal = np.array([towards[0], towards[1], 0.0])
    normal /= max(float(np.linalg.norm(normal)), 1e-9)
    return points - 2 * np.outer(points @ normal, normal)


def _outlines(points: np.ndarray, size: np.ndarray) -> np.ndarray | None:
    """Convex outlines of the points, layer by layer, of shape (LAYERS + 1, SIDES, 3); None where too few are there.

    Layers with too few points take the outlines next to them. The lowest is wide enough for the whole to stand on.
    """
    points = points[(np.abs(points) < 0.55 * size + 0.005).all(axis=1)]
    heights = np.linspace(-size[2] / 2, size[2] / 2, LAYERS + 1)
    reach = 0.75 * size[2] / LAYERS
    flat = _filled([_outline(points[np.abs(points[:, 2] - height) < reach, :2]) for height in heights])
    if flat is None:
        return None
    flat[0] = _wide_enough(flat[0], flat.mean(axis=(0, 1)))
    return np.concatenate([flat, np.broadcast_to(heights[:, None, None], (*flat.shape[:2], 1))], -1)


def _filled(outlines: list[np.ndarray | None]) -> np.ndarray | None:
    """Outlines that are unknown taken from the nearest that is known; None where none is."""
    known = [k for k, outline in enumerate(outlines) if outline is not None]
    if not known:
        return None
    nearest = [min(known, key=lambda k: abs(k - row)) for row in range(len(outlines))]
    return np.array([outlines[k] for k in nearest])


def _swept(seen: np.ndarray, size: np.ndarray) -> Solid | None:
    """Sections across the longer side, each reaching down to what holds the thing; its long axis along x."""
    if size[1] > size[0]:
        seen, size = np.stack([seen[:, 1], -seen[:, 0], seen[:, 2]], 1), size[[1, 0, 2]]
    low, high = np.quantile(seen[:, 0], [0.01, 0.99])
    along = np.linspace(low, high, STATIONS + 1)
    reach = 0.75 * (along[1] - along[0])
    sections = []
    for x in along:
        near = seen[np.abs(seen[:, 0] - x) < reach][:, 1:]
        grounded = np.vstack([near, near * [1, 0] + [0, -size[2] / 2]])
        sections.append(_outline(grounded) if len(near) >= 6 else None)
    flat = _filled(sections)
    if flat is None:
        return None
    rings = np.concatenate([np.broadcast_to(along[:, None, None], (*flat.shape[:2], 1)), flat], -1)
    return shapes.layers(rings, PAINT)


def _outline(points: np.ndarray) -> np.ndarray | None:
    """The convex outline of points (N, 2), its tails cut, at SIDES directions about its middle, of shape (SIDES, 2)."""
    if len(points) < 12:
        return None
    low, high = np.percentile(points, [2, 98], axis=0)
    points = points[((points >= low) & (points <= high)).all(axis=1)]
    try:
        corners = points[ConvexHull(points).vertices]
    except QhullError:
        return None
    middle = (corners.max(axis=0) + corners.min(axis=0)) / 2
    if np.ptp(corners, axis=0).min() < SMALLEST:
        corners = middle + np.maximum(np.abs(corners - middle), SMALLEST / 2) * np.sign(corners - middle)
    edges = np.roll(corners, -1, axis=0) - corners
    outward = np.stack([edges[:, 1], -edges[:, 0]], 1)
    gap = np.einsum("nk,nk->n", outward, corners - middle)
    rate = outward @ shapes.circle(SIDES).T  # how fast each ray nears each edge
    reach = np.where(rate > 1e-12, gap[:, None] / np.maximum(rate, 1e-12), np.inf).min(axis=0)
    return middle + reach[:, None] * shapes.circle(SIDES)


def _wide_enough(base: np.ndarray, weight: np.ndarray, margin: float = 0.006) -> np.ndarray:
    """The lowest outline, grown where the whole's middle (2,) would not lie well within it."""
    grown = _outline(
        np.vstack([np.repeat(base, 12, axis=0), np.repeat(weight + margin * shapes.circle(SIDES), 12, axis=0)])
    )
    return base if grown is None else grown
