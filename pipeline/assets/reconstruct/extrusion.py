"""Proposes boxes, extruded outlines, and convex outlines in layers.

Layers are stacked upwards, or follow each other along the object. The hidden side is assumed to mirror the visible one.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np
from scipy.spatial import ConvexHull, QhullError

from pipeline.assets import solids
from pipeline.assets.reconstruct.shape_proposal import (
    MIN_EXTENT_M,
    PLACEHOLDER_TEXTURE,
    ShapeProposal,
    box_hits,
    fit_to_rays,
    placed_solid,
)
from pipeline.assets.reconstruct.view_observation import RayHits, SurfaceObservation
from pipeline.assets.solids import Solid
from pipeline.description.shape_fit import fit_upright_rectangle
from pipeline.geometry import rotation_about_z

CELL_M = 0.0015
"""Cell of the grid on which an outline is drawn."""
RAD_PER_METRE = 20.0
"""Scale of the yaw among lengths in the parameters of a box."""
LAYERS, SIDES = 12, 32
STATIONS = 10
"""Number of sections along a lying object."""


def propose_boxes(
    observation: SurfaceObservation, size: np.ndarray, yaw: float, centre: np.ndarray
) -> Iterator[ShapeProposal]:
    """Yield the smallest box around the points, and a box fitted to the rays.

    The fit starts from the smallest or from the described box, whichever has the smaller ray error.
    """
    tight, box_yaw, centre_xy = fit_upright_rectangle(observation.points[:, :2])
    height = observation.top_z - observation.bottom_z
    yield box_proposal(np.array([*tight, height]), box_yaw, np.array([*centre_xy, observation.bottom_z]))

    def hits(view: SurfaceObservation, x: np.ndarray) -> RayHits:
        box_centre = np.array([x[0], x[1], observation.bottom_z + x[5] / 2])
        return box_hits(view, box_centre, RAD_PER_METRE * x[2], x[3:])

    starts = np.array(
        [
            [*centre_xy, box_yaw / RAD_PER_METRE, *tight, height],
            [*centre[:2], yaw / RAD_PER_METRE, *size[:2], height],
        ]
    )
    starts = np.maximum(starts, [-9, -9, -9, *[MIN_EXTENT_M] * 3])
    prior = x = min(starts, key=lambda x: observation.mean_ray_error(lambda view: hits(view, x)))
    for _ in range(2):  # restarting the simplex escapes where the first one was stuck
        # 110: evaluations of the cost in each of two fits of a box
        x = fit_to_rays(observation, hits, x, slice(3, 6), 110, prior)
    fitted = box_proposal(x[3:], RAD_PER_METRE * float(x[2]), np.array([*x[:2], observation.bottom_z]))
    yield replace(fitted, fitted_to_rays=True)


def box_proposal(size: np.ndarray, yaw: float, foot: np.ndarray) -> ShapeProposal:
    """Return a box of `size` (3,) whose bottom face has its centre at `foot` (3,)."""
    size = np.maximum(size, MIN_EXTENT_M)
    centre = foot + np.array([0, 0, size[2] / 2])
    solid = placed_solid(solids.box(size, PLACEHOLDER_TEXTURE, cells=8), rotation_about_z(yaw), centre)
    return ShapeProposal("box", solid, yaw, 6, "a box")


# ---------------------------------------------------------------------- extrusions


def propose_extrusions(observation: SurfaceObservation) -> Iterator[ShapeProposal]:
    """Yield the outline of the points from above, extruded from the support to their top."""
    outline = footprint(observation.all_surface_points[:, :2], observation.point_spacing)
    if outline is None:
        return
    _, yaw, _ = fit_upright_rectangle(observation.points[:, :2])
    height = observation.top_z - observation.bottom_z
    local = outline @ rotation_about_z(yaw)[:2, :2]
    solid = solids.extrude(local, height, PLACEHOLDER_TEXTURE)
    parts = tuple(_strips(local, height))
    centre = np.array([0, 0, observation.bottom_z + height / 2])
    solid = placed_solid(Solid(solid.mesh, parts or solid.part_vertices), rotation_about_z(yaw), centre)
    yield ShapeProposal("extruded", solid, yaw, len(outline) + 2, "an outline raised from the table")


def footprint(ground: np.ndarray, spacing: float) -> np.ndarray | None:
    """Return the outline of points (N, 2) about `spacing` apart, anticlockwise, (M, 2); None if there is none."""
    low = ground.min(0) - 10 * CELL_M
    cells = np.rint((ground - low) / CELL_M).astype(int)
    grid = np.zeros((cells.max(0) + 10)[::-1], np.uint8)
    grid[cells[:, 1], cells[:, 0]] = 1
    reach = 2 * int(np.clip(np.ceil(1.5 * spacing / CELL_M), 2, 8)) + 1
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (reach, reach))
    closed = cv2.morphologyEx(np.pad(grid, reach), cv2.MORPH_CLOSE, disc)
    # 0.002: standard deviation of the smoothing of an outline
    closed = (cv2.GaussianBlur(closed * 255, (0, 0), 0.002 / CELL_M) > 127).astype(np.uint8)
    contours, _ = cv2.findContours(closed, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    if not contours:
        return None
    largest = max(contours, key=cv2.contourArea)
    # 0.0025: tolerance of the simplification of an outline
    corners = cv2.approxPolyDP(largest, 0.0025 / CELL_M, True)[:, 0].astype(float)
    if len(corners) < 3 or cv2.contourArea(largest) * CELL_M**2 < MIN_EXTENT_M**2:
        return None
    outline = (corners - reach) * CELL_M + low
    return outline if _signed_area(outline) > 0 else outline[::-1]


def _signed_area(outline: np.ndarray) -> float:
    x, y = outline.T
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def _strips(outline: np.ndarray, height: float) -> Iterator[np.ndarray]:
    """Yield points of convex parts of an outline (M, 2) extruded about z = 0: strips between planes across x."""
    # Number of convex parts side by side in an extruded outline
    edges = np.linspace(outline[:, 0].min(), outline[:, 0].max(), 8 + 1)
    for low, high in pairwise(edges):
        corners = _strip_outline(outline, low, high)
        if len(corners) >= 3 and np.ptp(corners, axis=0).min() > 1e-4:
            ends = [np.c_[corners, np.full(len(corners), z)] for z in (-height / 2, height / 2)]
            yield np.vstack(ends)


def _strip_outline(outline: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return the corners of an outline between two x, and where its edges cross them, shape (N, 2)."""
    kept = [outline[(outline[:, 0] >= low) & (outline[:, 0] <= high)]]
    ends = np.roll(outline, -1, axis=0)
    for boundary in (low, high):
        crossing = (outline[:, 0] - boundary) * (ends[:, 0] - boundary) < 0
        a, b = outline[crossing], ends[crossing]
        share = ((boundary - a[:, 0]) / (b[:, 0] - a[:, 0]))[:, None]
        kept.append(a + share * (b - a))
    return np.vstack(kept)


# ---------------------------------------------------------------------- layers


def propose_layers(
    observation: SurfaceObservation, size: np.ndarray, yaw: float, centre: np.ndarray
) -> Iterator[ShapeProposal]:
    """Yield convex outlines stacked upwards, and convex sections along the longer side."""
    visible = (observation.points - centre) @ rotation_about_z(yaw)
    camera = rotation_about_z(yaw).T @ (observation.camera_position - centre)
    points = visible if observation.sees_far_side else np.vstack([visible, _mirrored(visible, camera)])
    rings = _layer_outlines(points, size)
    if rings is not None:
        solid = placed_solid(solids.loft(rings, PLACEHOLDER_TEXTURE), rotation_about_z(yaw), centre)
        yield ShapeProposal("layered", solid, yaw, 4 * LAYERS, "convex outlines in layers")
    if (swept := _sweep_sections(visible, size)) is not None:
        rotation = rotation_about_z(yaw if size[0] >= size[1] else yaw + np.pi / 2)
        solid = placed_solid(swept, rotation, centre)
        yield ShapeProposal("layered", solid, yaw, 4 * STATIONS, "sections along its length")


def _mirrored(points: np.ndarray, camera: np.ndarray) -> np.ndarray:
    """Return points mirrored in the vertical plane through the origin across the direction of the camera."""
    normal = np.array([camera[0], camera[1], 0.0])
    normal /= max(float(np.linalg.norm(normal)), 1e-9)
    return points - 2 * np.outer(points @ normal, normal)


def _layer_outlines(points: np.ndarray, size: np.ndarray) -> np.ndarray | None:
    """Return convex outlines of the points by layer, shape (LAYERS + 1, SIDES, 3); None with too few points.

    A layer with too few points takes the nearest outline. The lowest is wide enough for the object to stand on.
    """
    points = points[(np.abs(points) < 0.55 * size + 0.005).all(axis=1)]
    heights = np.linspace(-size[2] / 2, size[2] / 2, LAYERS + 1)
    reach = 0.75 * size[2] / LAYERS
    outlines = _fill_missing([_convex_outline(points[np.abs(points[:, 2] - height) < reach, :2]) for height in heights])
    if outlines is None:
        return None
    outlines[0] = _stable_base(outlines[0], outlines.mean(axis=(0, 1)))
    return np.concatenate([outlines, np.broadcast_to(heights[:, None, None], (*outlines.shape[:2], 1))], -1)


def _fill_missing(outlines: list[np.ndarray | None]) -> np.ndarray | None:
    """Return outlines with unknown ones replaced by the nearest known; None if all are unknown."""
    known = [k for k, outline in enumerate(outlines) if outline is not None]
    if not known:
        return None
    nearest = [min(known, key=lambda k: abs(k - row)) for row in range(len(outlines))]
    return np.array([outlines[k] for k in nearest])


def _sweep_sections(visible: np.ndarray, size: np.ndarray) -> Solid | None:
    """Return a solid of sections across the longer side, each reaching down to the support; its long axis is x."""
    if size[1] > size[0]:
        visible, size = np.stack([visible[:, 1], -visible[:, 0], visible[:, 2]], 1), size[[1, 0, 2]]
    low, high = np.quantile(visible[:, 0], [0.01, 0.99])
    along = np.linspace(low, high, STATIONS + 1)
    reach = 0.75 * (along[1] - along[0])
    sections = []
    for x in along:
        near = visible[np.abs(visible[:, 0] - x) < reach][:, 1:]
        grounded = np.vstack([near, near * [1, 0] + [0, -size[2] / 2]])
        sections.append(_convex_outline(grounded) if len(near) >= 6 else None)
    outlines = _fill_missing(sections)
    if outlines is None:
        return None
    rings = np.concatenate([np.broadcast_to(along[:, None, None], (*outlines.shape[:2], 1)), outlines], -1)
    return solids.loft(rings, PLACEHOLDER_TEXTURE)


def _convex_outline(points: np.ndarray) -> np.ndarray | None:
    """Return the trimmed convex outline of points (N, 2) at SIDES directions about its centre, shape (SIDES, 2).

    None for fewer than 12 points, or if they are collinear.
    """
    if len(points) < 12:
        return None
    low, high = np.percentile(points, [2, 98], axis=0)
    points = points[((points >= low) & (points <= high)).all(axis=1)]
    try:
        corners = points[ConvexHull(points).vertices]
    except QhullError:
        return None
    centre_xy = (corners.max(axis=0) + corners.min(axis=0)) / 2
    if np.ptp(corners, axis=0).min() < MIN_EXTENT_M:
        corners = centre_xy + np.maximum(np.abs(corners - centre_xy), MIN_EXTENT_M / 2) * np.sign(corners - centre_xy)
    edges = np.roll(corners, -1, axis=0) - corners
    outward = np.stack([edges[:, 1], -edges[:, 0]], 1)
    gap = np.einsum("nk,nk->n", outward, corners - centre_xy)
    rate = outward @ solids.circle(SIDES).T  # how fast each ray nears each boundary
    reach = np.where(rate > 1e-12, gap[:, None] / np.maximum(rate, 1e-12), np.inf).min(axis=0)
    return centre_xy + reach[:, None] * solids.circle(SIDES)


def _stable_base(base: np.ndarray, centroid: np.ndarray, margin: float = 0.006) -> np.ndarray:
    """Return the lowest outline, enlarged if the centroid (2,) of all would not be well within it."""
    grown = _convex_outline(
        np.vstack([np.repeat(base, 12, axis=0), np.repeat(centroid + margin * solids.circle(SIDES), 12, axis=0)])
    )
    return base if grown is None else grown
