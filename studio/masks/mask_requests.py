"""What the mask canvas shows, and its requests: prompts, comparisons, the choice of a segmenter, export and import."""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

from pipeline.segmentation import Segment, SegmentationError, encode_rle
from pipeline.segmentation.exchange import MaskFormat, read_masks_confined, write_masks
from pipeline.segmentation.mask_review import predicted_quality, review_reasons
from pipeline.segmentation.segment import NamedMask
from studio.accounts.roles import Role
from studio.records.images import jpeg
from studio.records.object_records import object_records
from studio.services.segmenter_choice import parse_automatic_settings
from studio.sessions.decision_recorder import next_segment_id
from studio.sessions.prompt_requests import parse_mask, parse_prompt
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry, session_context
from studio.texts import t, translated
from studio.web.endpoints import Endpoint
from studio.web.theme import object_colour

MAX_FILE_BYTES = 64 << 20


def export_masks(session: Session, form: MaskFormat, names: dict[int, str]) -> dict[str, Any]:
    """Return {name, data} of a file of the current masks, data in base64; `names` are the objects' by segment id."""
    project = session.project
    masks = [NamedMask(segment.id, names.get(segment.id, ""), segment.mask) for segment in project.segments() or ()]
    image_url = ""
    if form == "label-studio":
        image_url = "data:image/jpeg;base64," + base64.b64encode(jpeg(project.frame.rgb)).decode()
    name, data = write_masks(form, masks, project.frame.depth.shape, image_url=image_url)
    return {"name": f"{project.folder.name}_{name}", "data": base64.b64encode(data).decode()}


def import_masks(session: Session, text: str) -> str:
    """Replace all masks by those of a file, given in base64; return a message. Raises SegmentationError."""
    if len(text) > MAX_FILE_BYTES * 4 // 3:
        raise SegmentationError("The file is larger than 64 MB; that is not a frame's masks.")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SegmentationError("The file arrived incomplete; choose it again.") from None
    project = session.project
    masks = read_masks_confined(data, project.frame.depth.shape)
    before = {segment.id for segment in project.segments() or ()}
    decisions: list[tuple[str, dict[str, Any]]] = [
        ("delete_segment", {"id": id}) for id in sorted(before - {mask.id for mask in masks})
    ]
    for mask in masks:
        decisions.append(("mask", {"id": mask.id, "mask": encode_rle(mask.mask), "clicks": []}))
        if mask.name not in ("", "object"):
            decisions.append(("rename", {"id": mask.id, "name": mask.name}))
    message = f"{len(masks)} masks imported, which replace {len(before)}"
    session.decisions.record_all(decisions, message)
    return f"{message}. Undo restores the former ones."


def endpoint(sessions: SessionRegistry) -> Endpoint:
    """Return the endpoint of MaskCanvas."""
    return Endpoint(HANDLERS, session_context(sessions), default_kind="prompt", roles=ROLES)


def replace_masks(session: Session, message: Mapping[str, Any]) -> None:
    """Replace all masks by those of the segmenter {name, settings}. Raises SegmentationError."""
    settings = message.get("settings")
    settings = parse_automatic_settings(settings if isinstance(settings, dict) else {})
    session.replace_masks(str(message.get("name")), settings)


def canvas_record(session: Session | None) -> dict[str, Any]:
    """Return MaskCanvas's value."""
    if session is None:
        return {}
    project, k = session.project, session.project.frame.intrinsics
    segments = session.cache.get("segments", "segments/masks.png", project.segments) or ()
    masks = session.cache.get("masks", "segments/masks.png", lambda: {one.id: _mask_record(one) for one in segments})
    records = {record["id"]: record for record in object_records(session)}
    next_id = next_segment_id(project)
    return {
        "token": session.token,
        "image": f"project/{session.token}/colour.jpg",
        "width": k.width,
        "height": k.height,
        "segments": [
            {key: records[segment.id][key] for key in ("id", "words", "colour", "is_object")}
            | masks[segment.id]
            | {"review": _review(segment, masks[segment.id]["review"], records[segment.id])}
            for segment in segments
        ],
        "next_id": next_id,
        "next_colour": object_colour(next_id),
        "can_undo": project.can_undo,
        "can_redo": project.can_redo,
    }


def _mask_record(segment: Segment) -> dict[str, Any]:
    return _reading(segment) | {"review": " ".join(review_reasons(segment))}


def _review(segment: Segment, reasons: str, record: dict[str, Any]) -> str:
    """Return why a person should review the mask; empty if a person drew it, and if nothing speaks against it."""
    if segment.source == "human" or not record["is_object"]:
        return ""
    return " ".join(filter(None, (reasons, *record.get("warnings", ()))))


def _reading(segment: Segment) -> dict[str, Any]:
    return {"rle": encode_rle(segment.mask), "source": segment.source, "quality": predicted_quality(segment)}


def _prompt(session: Session, request: dict) -> dict:
    segments = session.segmenters.segment(parse_prompt(request, session.project.frame))
    return {"candidates": [_reading(segment) for segment in segments]}


def _compare(session: Session, request: dict) -> dict:
    mask = parse_mask(request.get("rle"), session.project.frame)
    if not mask.any():
        raise SegmentationError("There is nothing to compare: the mask is empty.")
    readings = session.segmenters.compare(mask)
    return {
        "candidates": [_reading(one) | {"title": t(title)} for title, one in readings if isinstance(one, Segment)],
        "missing": [f"{t(title)}: {translated(reason)}" for title, reason in readings if isinstance(reason, str)],
    }


def _prepare(session: Session, request: dict) -> dict:
    session.segmenters.open(session.segmenters.chosen)
    return session.segmenters.states()


def _choose(session: Session, request: dict) -> dict:
    session.segmenters.choose(str(request.get("name")))
    return session.segmenters.states()


def _install(session: Session, request: dict) -> dict:
    session.segmenters.install(str(request.get("name")))
    return session.segmenters.states()


def _stop(session: Session, request: dict) -> dict:
    session.segmenters.stop(str(request.get("name")))
    return session.segmenters.states()


def _export(session: Session, request: dict) -> dict:
    names = {record["id"]: record["display_name"] or record["name"] for record in object_records(session)}
    return export_masks(session, str(request.get("form")), names)  # type: ignore[arg-type]


HANDLERS: dict[str, Callable[[Session, dict], dict]] = {
    "prompt": _prompt,
    "compare": _compare,
    "prepare": _prepare,
    "choose": _choose,
    "install": _install,
    "stop": _stop,
    "status": lambda session, _: session.segmenters.states(),
    "export": _export,
    "import": lambda session, request: {"message": import_masks(session, str(request.get("data", "")))},
}
ROLES = {**dict.fromkeys(("compare", "status", "export"), Role.VISIT), "install": Role.ADMINISTER}
"""Roles that these kinds need; the others need Role.WORK."""
