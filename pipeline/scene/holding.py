"""What holds what: the table, or the thing that another stands on."""

from dataclasses import replace

import cv2
import numpy as np

from pipeline.geometry import Pose
from pipeline.scene.placement import Placement
from pipeline.scene.seen import Seen

HELD = 0.015
"""Metres by which the lowest points seen of a thing may lie below the top of what holds it."""
STEADY = 0.6
"""Share of a thing's foot that must lie on its holder."""
HIDDEN = 0.025
"""Metres by which what was made from the view may be wider than it shows, where another thing hides it."""
LADEN = 20.0
"""Times its own weight that what was made from the view bears, where it may weigh more: contacts yield to a load."""


def holder_of(thing: Seen, below: tuple[Placement, ...]) -> Placement | None:
    """The highest thing under it that it does not reach below; None for the table.

    What it stands on is partly hidden by it, and was seen too small: it need not lie under its middle, but under the
    foot that was seen. What merely stands behind has its foot elsewhere.
    """
    if not len(thing.points):
        return None
    middle = thing.points[:, :2].mean(0)
    foot = np.median(thing.points[thing.points[:, 2] < thing.low + 0.005, :2], axis=0)
    under = [
        p
        for p in below
        if not p.container
        and thing.low > p.top - HELD
        and thing.top > p.top + 0.005
        and (_covers(p, middle) or (thing.low < p.top + 2 * HELD and _covers(p, foot)))
    ]
    return max(under, key=lambda p: p.top, default=None)


def holder_top(thing: Seen, below: tuple[Placement, ...]) -> float:
    """Height of what holds it; 0 for the table."""
    holder = holder_of(thing, below)
    return holder.top if holder is not None else 0.0


def bottoms_of(thing: Seen, below: tuple[Placement, ...]) -> list[float]:
    """Heights that it may rest at: what holds it, where its lowest points are with nothing before them, the table."""
    a = thing.description.attributes
    holder, hangs = holder_top(thing, below), float(a.centre[2] - a.size[2] / 2)
    heights = [holder] if holder > 0 else []
    if hangs > HELD and abs(hangs - holder) > HELD:
        heights.append(hangs)
    return [*heights, 0.0]


def reaching_under(holder: Placement, held: Placement) -> Placement:
    """The holder, made from the view, wide, high and heavy enough for what stands on it.

    That hides its far side and its top. It weighs more as it grows, and a twentieth of its load at least where that is
    plausible for its size.
    """
    turn = holder.world_from_object.rotation.T
    at = turn @ (held.world_from_object.pos - holder.world_from_object.pos)
    half = (
        np.abs(turn @ held.world_from_object.rotation) @ held.size / (4 if held.container else 2)
    )  # bowls stand on less
    low = np.minimum(-holder.size / 2, at - STEADY * half)
    high = np.maximum(holder.size / 2, at + STEADY * half)
    low[2], high[2] = -holder.size[2] / 2, holder.size[2] / 2
    if held.asset_id is not None:
        high[2] += np.clip(held.bottom - holder.top, 0, 2 * HELD)
    middle = holder.world_from_object.pos + turn.T @ (low + high) / 2
    reaching = replace(holder, size=high - low, world_from_object=Pose(middle, holder.world_from_object.quat_wxyz))
    return _bearing(reaching, float(np.prod(high - low) / np.prod(holder.size)), held.mass)


def _bearing(holder: Placement, grown: float, load: float) -> Placement:
    """As heavy as it is by now, and as its load in kg asks."""
    lightest, heaviest = (grown * mass for mass in holder.mass_range)
    mass = max(grown * holder.mass, min(load / LADEN, heaviest))
    return replace(holder, mass=mass, mass_range=(lightest, heaviest))


def propped(placements: tuple[Placement, ...]) -> tuple[Placement, ...]:
    """With a fixed block under each that was seen high up while nothing was found under it.

    What a person put somewhere falls: they see it do so.
    """
    return tuple(replace(p, prop=p.bottom) if _hangs(p, placements) else p for p in placements)


def _hangs(p: Placement, placements: tuple[Placement, ...]) -> bool:
    measured = p.misfit > 0 and p.found is None and not p.fixed
    return measured and p.bottom > HELD and under_foot(p, placements) is None


def under_foot(held: Placement, others: tuple[Placement, ...]) -> Placement | None:
    """What ends about where a thing's foot is, high above the table, and lies under its middle."""
    bottom = held.bottom
    under = [p for p in others if p is not held and _ends(p, bottom) and _stands_over(held, p)]
    return max(under, key=lambda p: p.top, default=None) if bottom > HELD else None


def _ends(q: Placement, height: float) -> bool:
    """Whether a thing may hold what rests at this height: on its top, or inside it."""
    return -HELD < height - q.top < 2 * HELD or (q.container and q.bottom < height < q.top)


def _stands_over(p: Placement, q: Placement) -> bool:
    """Whether the middle of one box lies above some of the other."""
    (at, (a, b), turn), other = (cv2.minAreaRect(one.footprint.astype(np.float32)) for one in (p, q))
    middle = at, (STEADY * a, STEADY * b), turn
    return cv2.rotatedRectangleIntersection(middle, other)[0] != cv2.INTERSECT_NONE


def _covers(p: Placement, xy: np.ndarray) -> bool:
    local = p.world_from_object.rotation.T @ (np.append(xy, p.world_from_object.pos[2]) - p.world_from_object.pos)
    return bool((np.abs(local) <= p.size / 2 + (HIDDEN if p.asset_id is None else 0.005)).all())
