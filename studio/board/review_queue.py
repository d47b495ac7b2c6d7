"""The review queue: which projects a person looks at next, and the verdicts on their objects and frames."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from pipeline.project.confidence_record import read_confidences
from pipeline.project.curation import MAX_REASON, Verdict, read_curation
from studio.accounts.current_user import current_user
from studio.board.board import Board, shown_title
from studio.board.project_index import BoardQuery
from studio.records.object_records import object_records
from studio.sessions.session import Session
from studio.web.errors import RequestError

VERDICTS = ("accepted", "rejected", "skipped")
FINAL = ("accepted", "rejected")
"""Verdicts after which an object or a frame leaves the queue."""


def queue_names(board: Board, query: BoardQuery, selected: list[str]) -> list[str]:
    """Return the projects to review, the one with the least sure object first, those with unknown confidence last.

    Projects that were accepted or rejected are left out, and those not `selected`, if any are.
    """
    board.index.refresh()
    found = board.index.find(replace(query, sort="confidence", descending=False, offset=0, limit=board.index.known()))
    chosen = set(selected)
    names = [name for name, facts in found.rows if facts.verdict not in FINAL and (not chosen or name in chosen)]
    # Frames of a queue
    return names[:500]


def review_record(session: Session | None) -> dict[str, Any]:
    """Return ReviewQueue's value: what was reviewed of the open project, its least sure object first."""
    if session is None:
        return {"project": None, "objects": []}
    project = session.project
    known = read_confidences(project.folder)
    reviews: dict[int, dict[str, Any]] = {}
    frame_reviews = 0
    for decision in project.active_decisions("review"):
        if "id" not in decision.data:
            frame_reviews += 1
        elif decision.data["verdict"] in FINAL:
            reviews[decision.data["id"]] = {key: decision.data.get(key, "") for key in ("verdict", "reason")}
    objects = [
        {"id": one["id"], "words": one["words"], "colour": one["colour"], "review": reviews.get(one["id"])}
        | {"score": (one["confidence"] or {}).get("score", known.get(one["id"]))}
        for one in object_records(session)
        if one["is_object"]
    ]
    objects.sort(key=lambda one: math.inf if one["score"] is None else one["score"])
    return {
        "project": project.folder.name,
        "title": shown_title(project.folder),
        "verdict": read_curation(project.folder).verdict,
        "frame_reviews": frame_reviews,
        "objects": objects,
    }


def apply_review(board: Board, message: Mapping[str, Any]) -> None:
    """Record {project, id, verdict, reason}. Raises StudioError.

    `id` is null for the frame, whose verdict on the board it sets too.
    """
    name, id, verdict = str(message.get("project")), message.get("id"), message.get("verdict")
    session = board.sessions.find_open(name)
    if session is None:
        raise RequestError("This project is no longer open. It is saved; open it again from the gallery.")
    if verdict not in VERDICTS:
        raise RequestError("Choose accepted, rejected or skipped.")
    reason = " ".join(str(message.get("reason") or "").split()) if verdict == "rejected" else ""
    if verdict == "rejected" and not reason:
        raise RequestError("Give a reason for the rejection.")
    if len(reason) > MAX_REASON:
        raise RequestError(f"That text is too long; {MAX_REASON} characters are the most.")
    data: dict[str, Any] = {"verdict": verdict, "reason": reason, "person": current_user.get()}
    data = {key: value for key, value in data.items() if value}
    if id is not None:
        if type(id) is not int or all(segment.id != id for segment in session.project.segments() or ()):
            raise RequestError("That object no longer exists; choose another.")
        data["id"] = id
    session.project.begin_writing()
    if id is None and verdict in FINAL:
        _, act = board.judge([name], cast(Verdict, verdict), reason)
        if act.problems:
            raise RequestError(act.problems[0])
    session.decisions.record("review", **data)
