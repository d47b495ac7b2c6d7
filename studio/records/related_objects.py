"""Objects that belong together: identical ones, about which a person decides at once, and parts of another one."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.description.hidden_middle import find_ends
from pipeline.segmentation.mask_review import find_fragments
from studio.sessions.session import Session
from studio.texts import t

NOTE = "It is probably a part of {name}: tiny, not supported, and right beside it."
END_NOTE = "It is probably the other end of {name}: something hides the middle, and both are one box."


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


class Parents(NamedTuple):
    """The object that a mask probably belongs to, by the mask's id."""

    fragments: Mapping[int, int]
    ends: Mapping[int, int]
    """Of the ends of an object whose middle is hidden."""


def likely_parents(session: Session) -> Parents:
    """Return the object that each fragment probably belongs to; the last known until recomputed."""
    project = session.project

    def compute() -> Parents:
        support, segments = session.support, project.segments() or ()
        if support is None:
            return Parents({}, {})
        drawn = {segment.id for segment in segments if segment.source == "human"}
        found = (find(project.frame, support, segments) for find in (find_fragments, find_ends))
        return Parents(*({id: parent for id, parent in one.items() if id not in drawn} for one in found))

    return session.cache.get_later("fragments", "segments/masks.png", compute) or Parents({}, {})


def add_merge_suggestions(records: Sequence[dict[str, Any]], parents: Parents) -> list[dict[str, Any]]:
    """Return the records; such ends and uncertain fragments get {"probably_part_of": {id, name, note}} and a warning.

    `records` are as of `object_records`.
    """
    names = {record["id"]: record["words"] for record in records if record["is_object"]}

    def with_suggestion(record: dict[str, Any]) -> dict[str, Any]:
        level = (record.get("confidence") or {}).get("level", "unsure")
        end, fragment = parents.ends.get(record["id"]), parents.fragments.get(record["id"])
        parent = end or (fragment if level == "unsure" else None)
        if parent not in names or not record["is_object"]:
            return record
        note = t(END_NOTE, name=names[parent]) if end else t(NOTE, name=names[parent])
        warnings = [note, *record.get("warnings", ())]
        suggestion = {"id": parent, "name": names[parent], "note": note}
        mark = {"warnings": warnings, "mark": "!", "mark_note": " ".join(warnings)}
        return record | mark | {"probably_part_of": suggestion}

    return [with_suggestion(record) for record in records]
