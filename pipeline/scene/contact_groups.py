"""Groups of objects that may touch, each of which can settle alone."""

from collections.abc import Sequence

import numpy as np

from pipeline.scene.placement import Placement

APART_M = 0.015
"""Gap between the ground boxes of two objects from which they are apart: more than settling moves what stands well."""

Groups = tuple[tuple[int, ...], ...]
"""Indices of placements, each in one group, in their order."""


def contact_groups(
    placements: Sequence[Placement], before: Sequence[Placement] = (), joined: Groups = (), apart: float = APART_M
) -> Groups:
    """Return the groups of objects whose boxes seen from above are less than `apart` metres from one another's.

    With `before`, where they stood, the boxes hold the ways from there. What is in one of the groups `joined` stays
    together.
    """
    low = np.array([p.footprint.min(0) for p in placements]).reshape(-1, 2) - apart / 2
    high = np.array([p.footprint.max(0) for p in placements]).reshape(-1, 2) + apart / 2
    if before:
        low = np.minimum(low, np.array([p.footprint.min(0) for p in before]) - apart / 2)
        high = np.maximum(high, np.array([p.footprint.max(0) for p in before]) + apart / 2)
    near = np.asarray(((low[:, None] < high) & (low < high[:, None])).all(-1))
    for group in joined:
        near[np.ix_(group, group)] = True
    left, groups = set(range(len(placements))), []
    while left:
        group, reached = set(), {min(left)}
        while reached:
            group |= reached
            reached = {int(i) for i in np.flatnonzero(near[sorted(reached)].any(0))} - group
        groups.append(tuple(sorted(group)))
        left -= group
    return tuple(groups)
