"""Where the suction cup takes hold: the flat, high-enough point nearest to an object's middle, seen from above."""

from dataclasses import dataclass

import numpy as np

from pipeline.simulation.gripper import CUP
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.physics import Physics

PITCH = 0.01
"""Of the grid of rays, in metres."""
STEEP = 0.75
"""Least vertical part of a surface's normal that the cup can hold."""


@dataclass(frozen=True, eq=False)
class Reach:
    """What can be reached of an object from above."""

    contacts: np.ndarray
    """World points, best first, of shape (N, 3)."""
    covered_by: str
    """Name of the object that hides most of it; empty for none."""


def reach(physics: Physics, thing: Object) -> Reach:
    """Contact points spread over the object, best first."""
    points = _rays(thing)
    heights, labels, normals = physics.surface(points)
    own = labels == physics.index(thing.name)
    hidden = [physics.name(int(i)) for i in labels[~own & (labels >= 0) & (heights > thing.bottom + 0.01)]]
    scores = np.full(len(points), np.inf)
    for i in np.flatnonzero(own & (normals >= STEEP)):
        scores[i] = _score(points[i], heights[i], normals[i], points, heights, thing)
    order = np.argsort(scores, kind="stable")
    order = order[np.isfinite(scores[order])]
    contacts = np.column_stack([points[order], heights[order]])
    cover = max(set(hidden), key=hidden.count) if hidden else ""
    return Reach(_spread(contacts), cover if cover in physics.addresses and not len(contacts) else "")


def _rays(thing: Object) -> np.ndarray:
    low, high = thing.outline.min(0), thing.outline.max(0)
    pitch = max(PITCH, float((high - low).max()) / 24)
    x, y = np.meshgrid(np.arange(low[0] + pitch / 2, high[0], pitch), np.arange(low[1] + pitch / 2, high[1], pitch))
    grid = np.stack([x.ravel(), y.ravel()], -1)
    grid = grid[Region(thing.outline).depth(grid) > 0]
    return np.concatenate([thing.position[None, :2], grid])


def _score(
    point: np.ndarray, height: float, normal: float, points: np.ndarray, heights: np.ndarray, thing: Object
) -> float:
    """Metres from the middle, plus a price for steep and rough places; infinite where the cup cannot get."""
    around = np.linalg.norm(points - point, axis=1) < CUP + PITCH * 0.6
    if np.nanmax(heights[around]) > height + 0.012:
        return np.inf
    rough = float(np.nanmax(heights[around]) - np.nanmin(heights[around]))
    off = float(np.linalg.norm(point - thing.position[:2]))
    return off + 0.1 * (1 - normal) + min(rough, 0.03)


def _spread(contacts: np.ndarray) -> np.ndarray:
    """Leaves out contacts within 1.5 cm of a better one, so that a retry is a real change."""
    kept: list[np.ndarray] = []
    for contact in contacts:
        if all(np.linalg.norm(contact - other) > 0.015 for other in kept):
            kept.append(contact)
        if len(kept) == 4:
            break
    return np.array(kept).reshape(-1, 3)
