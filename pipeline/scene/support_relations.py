"""Support relations: which object rests on the table or a shelf, and which on another object."""

from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np

from pipeline.scene.observed_object import ObservedObject
from pipeline.scene.placement import Placement, Shelf

SUPPORT_TOLERANCE_M = 0.015
"""Distance by which the lowest measured points of an object may lie below the top of its supporting object."""
MIN_BASE_SHARE = 0.6
"""Share of an object's base that its supporting object must reach under."""
MAX_LOAD_RATIO = 20.0
"""Largest load on a reconstructed object, in multiples of its own weight: contacts yield below a heavier load."""


def supporting_object(observed: ObservedObject, below: tuple[Placement, ...]) -> Placement | None:
    """Return the highest of the placements `below` that an object stands on; None for the table or a shelf.

    A supporting object is partly hidden and was measured too small, so it need not lie under the object's centre: the
    measured base is enough. An object that merely stands behind has its base elsewhere.
    """
    if not len(observed.points):
        return None
    centre = observed.points[:, :2].mean(0)
    base = np.median(observed.points[observed.points[:, 2] < observed.bottom + 0.005, :2], axis=0)
    candidates = [
        p
        for p in below
        if not p.container
        and p.top > observed.ground
        and observed.bottom > p.top - SUPPORT_TOLERANCE_M
        and observed.top > p.top + 0.005
        and (_covers(p, centre) or (observed.bottom < p.top + 2 * SUPPORT_TOLERANCE_M and _covers(p, base)))
    ]
    return max(candidates, key=lambda p: p.top, default=None)


def support_height(observed: ObservedObject, below: tuple[Placement, ...]) -> float:
    """Return the height in metres of what an object stands on; 0 for the table."""
    supporter = supporting_object(observed, below)
    return supporter.top if supporter is not None else observed.ground


def candidate_heights(observed: ObservedObject, below: tuple[Placement, ...]) -> list[float]:
    """Return the heights in metres at which an object may rest.

    These are the top of its supporting object, its own lowest visible points, and the table or shelf under it.
    """
    a = observed.description.attributes
    top, described = support_height(observed, below), float(a.centre[2] - a.size[2] / 2)
    heights = [top] if top > observed.ground else []
    if described > observed.ground + SUPPORT_TOLERANCE_M and abs(described - top) > SUPPORT_TOLERANCE_M:
        heights.append(described)
    return [*heights, observed.ground]


def extend_support(supporter: Placement, supported: Placement) -> Placement:
    """Return a reconstructed object made wide, high and heavy enough for an object that stands on it.

    The supported object hides the far side and the top. The mass grows with the volume, and reaches at least the load
    divided by MAX_LOAD_RATIO where that is plausible for the size.
    """
    support_from_world = supporter.world_from_object.rotation.T
    at = support_from_world @ (supported.world_from_object.pos - supporter.world_from_object.pos)
    divisor = 4 if supported.container else 2  # a bowl's base is smaller than its box
    half = np.abs(support_from_world @ supported.world_from_object.rotation) @ supported.size / divisor
    low = np.minimum(-supporter.size / 2, at - MIN_BASE_SHARE * half)
    high = np.maximum(supporter.size / 2, at + MIN_BASE_SHARE * half)
    low[2], high[2] = -supporter.size[2] / 2, supporter.size[2] / 2
    if supported.asset_id is not None:
        high[2] += np.clip(supported.bottom - supporter.top, 0, 2 * SUPPORT_TOLERANCE_M)
    centre = supporter.world_from_object.pos + support_from_world.T @ (low + high) / 2
    extended = supporter.with_box(high - low, centre)
    return _with_plausible_mass(extended, float(np.prod(high - low) / np.prod(supporter.size)), supported.mass)


def _with_plausible_mass(supporter: Placement, growth: float, load: float) -> Placement:
    """Scale the mass with the volume, and raise it to what bears a load in kg."""
    if supporter.mass_source.startswith("model "):  # which is of the real object, whatever its box
        growth = 1.0
    lightest, heaviest = (growth * mass for mass in supporter.mass_range)
    mass = max(growth * supporter.mass, min(load / MAX_LOAD_RATIO, heaviest))
    return replace(supporter, mass=mass, mass_range=(lightest, heaviest))


def add_props(placements: tuple[Placement, ...], shelves: Sequence[Shelf] = ()) -> tuple[Placement, ...]:
    """Return the placements with a fixed block below each object that was measured high up without support.

    An object that a person placed gets none: it falls, and the person sees it fall.
    """
    return tuple(replace(p, prop=p.bottom) if _is_unsupported(p, placements, shelves) else p for p in placements)


def _is_unsupported(p: Placement, placements: tuple[Placement, ...], shelves: Sequence[Shelf]) -> bool:
    measured = p.misfit > 0 and p.machine_pose is None and not p.fixed
    if not measured or p.bottom <= SUPPORT_TOLERANCE_M or any(shelf.carries(p) for shelf in shelves):
        return False
    return object_under(p, placements) is None


def object_under(p: Placement, others: tuple[Placement, ...]) -> Placement | None:
    """Return the highest object that ends near the bottom of `p`, above the table, and lies under its centre."""
    bottom = p.bottom
    candidates = [q for q in others if q is not p and _can_support_at(q, bottom) and _is_above(p, q)]
    return max(candidates, key=lambda q: q.top, default=None) if bottom > SUPPORT_TOLERANCE_M else None


def _can_support_at(p: Placement, height: float) -> bool:
    """Whether an object can hold something that rests at this height: on its top, or inside it."""
    on_top = -SUPPORT_TOLERANCE_M < height - p.top < 2 * SUPPORT_TOLERANCE_M
    return on_top or (p.container and p.bottom < height < p.top)


def _is_above(p: Placement, other: Placement) -> bool:
    """Whether the middle of the box of `p` lies above a part of the other's box."""
    (at, (a, b), angle), rectangle = (cv2.minAreaRect(one.footprint.astype(np.float32)) for one in (p, other))
    middle = at, (MIN_BASE_SHARE * a, MIN_BASE_SHARE * b), angle
    return cv2.rotatedRectangleIntersection(middle, rectangle)[0] != cv2.INTERSECT_NONE


def _covers(p: Placement, xy: np.ndarray) -> bool:
    local = p.world_from_object.rotation.T @ (np.append(xy, p.world_from_object.pos[2]) - p.world_from_object.pos)
    # 0.025: distance by which a reconstructed object may be wider than it shows, where another object hides it
    return bool((np.abs(local) <= p.size / 2 + (0.025 if p.asset_id is None else 0.005)).all())
