"""Merge suggestions: objects that are probably a part of another one, for a person to merge with one click."""

from collections.abc import Sequence
from typing import Any

from pipeline.segmentation.fragments import find_fragments
from studio.sessions.session import Session
from studio.texts import t

NOTE = "It is probably a part of {name}: tiny, not supported, and right beside it."


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
