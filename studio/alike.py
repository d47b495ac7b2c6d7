"""Which objects of a frame are equal, so that a person may decide about all of them at once."""

from collections.abc import Sequence
from typing import Any

WITHIN = 0.1
"""Share by which the sides of equal things may differ."""
BLUR = 0.008
"""Metres that a camera may be wrong about a side anyway."""


def alike(objects: Sequence[dict[str, Any]]) -> dict[int, list[int]]:
    """Ids of the equal ones, themselves included, by the id of each object that has any; facts as of studio.facts.

    Equal are those with the same asset, and those that look alike: colour, shape, sides. Each is compared with the
    first of its group: so that a row of ever larger things is no group.
    """
    groups: list[list[dict[str, Any]]] = []
    for one in objects:
        if not one["is_object"]:
            continue
        mine = next((group for group in groups if _equal(group[0], one)), None)
        groups.append([one]) if mine is None else mine.append(one)
    return {one["id"]: [each["id"] for each in group] for group in groups if len(group) > 1 for one in group}


def _equal(a: dict[str, Any], b: dict[str, Any]) -> bool:
    first, second = (one.get("match", {}).get("asset_id") for one in (a, b))
    if first and second and first == second:
        return True
    if "size" not in a or "size" not in b or (a["colour_name"], a["shape"]) != (b["colour_name"], b["shape"]):
        return False
    sides = zip(sorted(a["size"]), sorted(b["size"]), strict=True)
    return all(abs(x - y) <= max(WITHIN * max(x, y), BLUR) for x, y in sides)
