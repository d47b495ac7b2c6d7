"""Objects that belong together: identical ones, about which a person decides at once, and parts of another one."""

from collections.abc import Sequence
from typing import Any

from pipeline.segmentation.mask_review import find_fragments
from studio.sessions.session import Session
from studio.texts import t

NOTE = "It is probably a part of {name}: tiny, not supported, and right beside it."


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
    # 0.1: relative difference that sides of identical objects may have
    # 0.008: error of a side that a depth camera may make anyway
    return all(abs(x - y) <= max(0.1 * max(x, y), 0.008) for x, y in sides)


def likely_parents(session: Session) -> dict[int, int]:
    """Return the id of the object that each fragment probably belongs to; the last known until recomputed."""
    project = session.project

    def compute() -> dict[int, int]:
        support, segments = session.support, project.segments() or ()
        parents = find_fragments(project.frame, support, segments) if support else {}
        drawn = {segment.id for segment in segments if segment.source == "human"}
        return {id: parent for id, parent in parents.items() if id not in drawn}

    return session.cache.get_later("fragments", "segments/masks.png", compute) or {}


def add_merge_suggestions(records: Sequence[dict[str, Any]], parents: dict[int, int]) -> list[dict[str, Any]]:
    """Return the records; those of uncertain fragments get {"probably_part_of": {id, name, note}} and a warning.

    Args:
        records: as of `object_records`.
        parents: id of the object that each fragment probably belongs to.
    """
    names = {record["id"]: record["words"] for record in records if record["is_object"]}

    def with_suggestion(record: dict[str, Any]) -> dict[str, Any]:
        parent, level = parents.get(record["id"]), (record.get("confidence") or {}).get("level", "unsure")
        if parent not in names or not record["is_object"] or level != "unsure":
            return record
        note = t(NOTE, name=names[parent])
        warnings = [note, *record.get("warnings", ())]
        suggestion = {"id": parent, "name": names[parent], "note": note}
        mark = {"warnings": warnings, "mark": "!", "mark_note": " ".join(warnings)}
        return record | mark | {"probably_part_of": suggestion}

    return [with_suggestion(record) for record in records]
