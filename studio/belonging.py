"""Which objects are probably a part of another one, so that a person may merge them with one click."""

from collections.abc import Sequence
from typing import Any

from pipeline.segmentation.fragment import fragments
from studio.session import Session

SAYS = "It is probably a part of {}: tiny, in the air, and right beside it."


def parts(session: Session) -> dict[int, int]:
    """The object that each is probably a part of, by id; what was known last until it is worked out anew."""
    project = session.project

    def work() -> dict[int, int]:
        support, segments = session.support, project.segments() or ()
        found = fragments(project.frame, support, segments) if support else {}
        decided = {one.id for one in segments if one.source == "human"}
        return {id: whole for id, whole in found.items() if id not in decided}

    return session.later("fragments", "segments/masks.png", work) or {}


def belonging(facts: Sequence[dict[str, Any]], parts: dict[int, int]) -> list[dict[str, Any]]:
    """The facts, of each unsure object with what it is probably a part of: {"part_of": {id, name, says}}."""
    names = {one["id"]: one["name"] for one in facts if one["is_object"]}

    def told(one: dict[str, Any]) -> dict[str, Any]:
        whole, sure = parts.get(one["id"]), (one.get("sure") or {}).get("word", "unsure")
        if whole not in names or not one["is_object"] or sure != "unsure":
            return one
        says = SAYS.format(names[whole])
        warnings = [says, *one.get("warnings", ())]
        part = {"id": whole, "name": names[whole], "says": says}
        return one | {"part_of": part, "warnings": warnings, "mark": "!", "mark_says": " ".join(warnings)}

    return [told(one) for one in facts]
