"""Contact points for the suction cup: flat, high enough, near an object's middle, reached from above."""

from dataclasses import dataclass

import numpy as np

from pipeline.simulation.objects import Object, Region
from pipeline.simulation.oracle.gripper import CUP_RADIUS
from pipeline.simulation.physics import Physics

RAY_PITCH = 0.01
"""Pitch of the grid of rays, in metres."""
MIN_NORMAL_Z = 0.75
"""Smallest vertical component of a surface's normal that the cup can hold."""


@dataclass(frozen=True, eq=False)
class ReachableContacts:
    """What can be reached of an object from above."""

    contacts: np.ndarray
    """World points, best first, of shape (N, 3)."""
    covered_by: str
    """Name of the object that hides most of it; empty for none."""


def reachable_contacts(physics: Physics, target: Object) -> ReachableContacts:
    """Return contact points spread over an object, best first."""
    points = _ray_points(target)
    heights, labels, normals = physics.surface(points)
    own = labels == physics.label_of(target.name)
    hidden = [physics.label_name(int(i)) for i in labels[~own & (labels >= 0) & (heights > target.bottom + 0.01)]]
    costs = np.full(len(points), np.inf)
    for i in np.flatnonzero(own & (normals >= MIN_NORMAL_Z)):
        off_centre = float(np.linalg.norm(points[i] - target.position[:2]))
        around = heights[np.linalg.norm(points - points[i], axis=1) < CUP_RADIUS + RAY_PITCH * 0.6]
        costs[i] = _cost(off_centre, heights[i], normals[i], around)
    order = np.argsort(costs, kind="stable")
    order = order[np.isfinite(costs[order])]
    contacts = np.column_stack([points[order], heights[order]])
    cover = max(set(hidden), key=hidden.count) if hidden else ""
    return ReachableContacts(_spread(contacts), cover if cover in physics.addresses and not len(contacts) else "")


def _ray_points(target: Object) -> np.ndarray:
    """Return the centre and a grid of points (N, 2) over an object's outline."""
    low, high = target.outline.min(0), target.outline.max(0)
    pitch = max(RAY_PITCH, float((high - low).max()) / 24)
    x, y = np.meshgrid(np.arange(low[0] + pitch / 2, high[0], pitch), np.arange(low[1] + pitch / 2, high[1], pitch))
    grid = np.stack([x.ravel(), y.ravel()], -1)
    grid = grid[Region(target.outline).depth(grid) > 0]
    return np.concatenate([target.position[None, :2], grid])


def _cost(off_centre: float, height: float, normal_z: float, around: np.ndarray) -> float:
    """Return metres from the middle plus a cost for slope and roughness; infinite where the cup cannot get.

    `around` holds the heights under the cup, of shape (N,).
    """
    if np.nanmax(around) > height + 0.012:
        return np.inf
    rough = float(np.nanmax(around) - np.nanmin(around))
    return off_centre + 0.1 * (1 - normal_z) + min(rough, 0.03)


def _spread(contacts: np.ndarray) -> np.ndarray:
    """Drop contacts within 1.5 cm of a better one, so that a retry uses another place."""
    chosen: list[np.ndarray] = []
    for contact in contacts:
        if all(np.linalg.norm(contact - other) > 0.015 for other in chosen):
            chosen.append(contact)
        if len(chosen) == 4:
            break
    return np.array(chosen).reshape(-1, 3)
