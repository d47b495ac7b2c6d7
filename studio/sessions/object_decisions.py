"""Decisions about objects that a person makes on any page."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pipeline.segmentation import SegmentationError, encode_rle, split
from studio.sessions.decision_recorder import next_segment_id
from studio.sessions.prompt_requests import parse_decision
from studio.sessions.session import Session

MAX_LABEL_LENGTH = 120


def apply_decision(session: Session, message: Mapping[str, Any]) -> None:
    """Record the decision {kind, ...data} about an object. Raises StudioError if it is invalid.

    Two kinds stand for several decisions that are undone as one: "several" {decisions, label}, and "split" {id}, which
    divides an object into the parts it may consist of, or where it is narrowest. A "mask" that is "new" gets an id that
    is free now: the page may not yet know of an object that was made meanwhile.
    """
    if message.get("kind") == "several":
        decisions = [*_parsed(session, message.get("decisions", ()))]
        label = str(message.get("label", "several decisions"))[:MAX_LABEL_LENGTH]
        session.decisions.record_all(decisions, label)
    elif message.get("kind") == "split":
        session.decisions.record_all(_split(session, message.get("id")), f"{message.get('id')} split")
    else:
        ((kind, data),) = _parsed(session, [message])
        session.decisions.record(kind, **data)


def _parsed(session: Session, messages: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    free = next_segment_id(session.project)
    for message in messages:
        data = dict(message)
        if data.pop("new", False) and data.get("kind") == "mask":
            data["id"] = free
            free += 1
        yield parse_decision(data, session.project.frame)


def _split(session: Session, id: object) -> list[tuple[str, dict[str, Any]]]:
    segment = next((one for one in session.project.segments() or () if one.id == id), None)
    if segment is None:
        raise SegmentationError("That object no longer exists; choose another.")
    proposals = session.segmenters.propose_parts(segment.mask)
    parts = split(segment, next_segment_id(session.project), proposals=proposals)
    return [("mask", {"id": part.id, "mask": encode_rle(part.mask), "clicks": []}) for part in parts]
