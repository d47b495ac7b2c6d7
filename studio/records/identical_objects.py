"""Identical objects of a frame, so that a person can decide about all of them at once."""

from collections.abc import Sequence
from typing import Any

SIZE_TOLERANCE = 0.1
"""Relative difference that sides of identical objects may have."""
MIN_TOLERANCE_M = 0.008
"""Error of a side that a depth camera may make anyway."""


def identical_groups(records: Sequence[dict[str, Any]]) -> dict[int, list[int]]:
    """Return the ids of an object's group, its own included, by id; objects without an identical one are left out.

    Identical are objects with the same asset, and those of the same colour, shape and size. Each is compared with the
    first of its group, so that a row of gradually larger objects is not one group.

    Args:
        records: as of `object_records`.
    """
    groups: list[list[dict[str, Any]]] = []
    for record in records:
        if not record["is_object"]:
            continue
        group = next((group for group in groups if _are_identical(group[0], record)), None)
        groups.append([record]) if group is None else group.append(record)
    return {record["id"]: [other["id"] for other in group] for group in groups if len(group) > 1 for record in group}


def _are_identical(a: dict[str, Any], b: dict[str, Any]) -> bool:
    first, second = (record.get("match", {}).get("asset_id") for record in (a, b))
    if first and second and first == second:
        return True
    if "size" not in a or "size" not in b or (a["colour_name"], a["shape"]) != (b["colour_name"], b["shape"]):
        return False
    sides = zip(sorted(a["size"]), sorted(b["size"]), strict=True)
    return all(abs(x - y) <= max(SIZE_TOLERANCE * max(x, y), MIN_TOLERANCE_M) for x, y in sides)
