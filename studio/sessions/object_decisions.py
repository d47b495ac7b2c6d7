"""Decisions about objects that a person makes on any page."""

from collections.abc import Mapping
from typing import Any

from pipeline.segmentation import SegmentationError, encode_rle, split
from studio.sessions.decision_recorder import next_segment_id
from studio.sessions.prompt_requests import parse_decision
from studio.sessions.session import Session

MAX_LABEL_LENGTH = 120


def apply_decision(session: Session, message: Mapping[str, Any]) -> None:
    """Record the decision {kind, ...data} about an object. Raises StudioError if it is invalid.

    Two kinds stand for several decisions that are undone as one: "several" {decisions, label}, and "split" {id}, which
    divides an object into the parts it may consist of, or where it is narrowest.
    """
    frame = session.project.frame
    if message.get("kind") == "several":
        decisions = [parse_decision(one, frame) for one in message.get("decisions", ())]
        label = str(message.get("label", "several decisions"))[:MAX_LABEL_LENGTH]
        session.decisions.record_all(decisions, label)
    elif message.get("kind") == "split":
        session.decisions.record_all(_split(session, message.get("id")), f"{message.get('id')} split")
    else:
        kind, data = parse_decision(dict(message), frame)
        session.decisions.record(kind, **data)


def _split(session: Session, id: object) -> list[tuple[str, dict[str, Any]]]:
    segment = next((one for one in session.project.segments() or () if one.id == id), None)
    if segment is None:
        raise SegmentationError("That object no longer exists; choose another.")
    proposals = session.segmenters.propose_parts(segment.mask)
    parts = split(segment, next_segment_id(session.project), proposals=proposals)
    return [("mask", {"id": part.id, "mask": encode_rle(part.mask), "clicks": []}) for part in parts]
