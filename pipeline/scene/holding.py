"""What holds what: the table, or the thing that another stands on."""

from dataclasses import replace

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
        and thing.low > _top(p) - HELD
        and thing.top > _top(p) + 0.005
        and (_covers(p, middle) or (thing.low < _top(p) + 2 * HELD and _covers(p, foot)))
    ]
    return max(under, key=_top, default=None)


def holder_top(thing: Seen, below: tuple[Placement, ...]) -> float:
    """Height of what holds it; 0 for the table."""
    holder = holder_of(thing, below)
    return _top(holder) if holder is not None else 0.0


def bottoms_of(thing: Seen, below: tuple[Placement, ...]) -> list[float]:
    """Heights that it may rest at: what holds it, where its lowest points are with nothing before them, the table."""
    a = thing.description.attributes
    holder, hangs = holder_top(thing, below), float(a.centre[2] - a.size[2] / 2)
    heights = [holder] if holder > 0 else []
    if hangs > HELD and abs(hangs - holder) > HELD:
        heights.append(hangs)
    return [*heights, 0.0]


def reaching_under(holder: Placement, held: Placement) -> Placement:
    """The holder, made from the view, wide enough for what stands on it: that hides the holder's far side."""
    turn = holder.world_from_object.rotation.T
    at = turn @ (held.world_from_object.pos - holder.world_from_object.pos)
    half = (
        np.abs(turn @ held.world_from_object.rotation) @ held.size / (4 if held.container else 2)
    )  # bowls stand on less
    low = np.minimum(-holder.size / 2, at - STEADY * half)
    high = np.maximum(holder.size / 2, at + STEADY * half)
    low[2], high[2] = -holder.size[2] / 2, holder.size[2] / 2
    middle = holder.world_from_object.pos + turn.T @ (low + high) / 2
    return replace(holder, size=high - low, world_from_object=Pose(middle, holder.world_from_object.quat_wxyz))


def _top(p: Placement) -> float:
    return float(p.world_from_object.pos[2] + np.abs(p.world_from_object.rotation[2]) @ p.size / 2)


def _covers(p: Placement, xy: np.ndarray) -> bool:
    local = p.world_from_object.rotation.T @ (np.append(xy, p.world_from_object.pos[2]) - p.world_from_object.pos)
    return bool((np.abs(local) <= p.size / 2 + (HIDDEN if p.asset_id is None else 0.005)).all())
