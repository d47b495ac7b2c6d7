"""Records of the objects: everything known of each, as plain values for the components."""

import math
from dataclasses import dataclass
from typing import Any

from pipeline.assets.image_to_3d import ImageTo3D
from pipeline.assets.reconstruct import PROVENANCE_PREFIX, RECONSTRUCTION_METHODS
from pipeline.description import Description
from pipeline.matching import Candidate, Match, override_match
from pipeline.object_words import ObjectWords, object_words
from pipeline.project import safe_name
from pipeline.run.object_confidence import measure_confidences
from pipeline.scene import Placement
from pipeline.scene.overrides import DECISION_KINDS, overrides_from_decisions
from pipeline.segmentation import Segment
from studio.records.fits import fidelities, known_fits
from studio.records.images import mask_stamp
from studio.records.pending_edits import PendingPlacement, pending_placements
from studio.records.related_objects import add_merge_suggestions, identical_groups, likely_parents
from studio.sessions.session import Session
from studio.texts import t, translated
from studio.web.theme import object_colour

MATCH_LEVELS = ((0.9, "sure"), (0.7, "fairly sure"))
"""Least calibrated confidence of a match for each level; below them it is "unsure"."""


@dataclass(frozen=True)
class _ProjectState:
    """What is known of a project's objects, by segment id."""

    descriptions: dict[int, Description]
    matches: dict[int, Match]
    placements: dict[int, PendingPlacement]
    is_object: dict[int, bool]
    """A person's decisions."""
    names: dict[int, str]
    """The ids of objects that a person renamed before there were display names."""
    words: ObjectWords
    display_names: dict[int, str]
    asset_overrides: dict[int, str | None]
    methods: dict[int, str | None]
    """Reconstruction methods that a person chose; None for an asset."""
    moved: frozenset[int]
    """Ids of the objects whose pose a person fixed."""
    fits: dict[int, dict[str, Any]]
    confidences: dict[int, dict[str, Any]]


def object_records(session: Session | None) -> list[dict[str, Any]]:
    """Return the record of each object, in the order of segment ids; components.page_frame.Inspector shows them all.

    A decision shows at once; what follows from it shows when it has been computed.
    """
    if session is None:
        return []
    segments = session.cache.get("segments", "segments/masks.png", session.project.segments) or ()
    state = _project_state(session)
    records = [_record(session, segment, state) for segment in segments]
    identical = identical_groups(records)
    records = add_merge_suggestions(records, likely_parents(session))
    return [record | {"identical": identical.get(record["id"], [])} for record in records]


def object_list(session: Session | None) -> dict[str, Any]:
    """Return ObjectList's value."""
    return {
        "token": session.token if session else "",
        "objects": object_records(session) + brought_records(session),
        "waiting": t("Segmenting …"),
    }


def inspector_record(session: Session | None) -> dict[str, Any]:
    """Return Inspector's value."""
    return {"objects": object_records(session) + brought_records(session)}


def brought_records(session: Session | None) -> list[dict[str, Any]]:
    """Return the record of each object of the twin that was brought from the library; the photograph has none of it."""
    if session is None:
        return []
    names = {decision.data["name"] for decision in session.project.active_decisions("bring")}
    brought = [one for one in pending_placements(session) if one.placement.name in names] if names else []
    words = object_words(session.project)
    return [
        {
            "id": one.placement.segment_id,
            "name": one.placement.name,
            "words": words.of(one.placement.name),
            "caption": t("brought from the library, {size} cm", size=_size_text(one.placement)),
            "colour": object_colour(one.placement.segment_id),
            "is_object": True,
            "is_brought": True,
            "crop": _card(session, one.placement.asset_id) if one.placement.asset_id else "",
            "placed": _placed(one.placement) | {"changed": one.changed, "can_recolour": False},
        }
        for one in brought
    ]


def _size_text(placement: Placement) -> str:
    return " × ".join(f"{100 * extent:.1f}" for extent in placement.size)


def object_cards(session: Session | None) -> dict[str, Any]:
    """Return ObjectCards's value: objects first, then segments that are none."""
    service = session.services.image_to_3d if session else None
    titles = RECONSTRUCTION_METHODS | {"provider": _service_title(service) if service else ""}
    return {
        "token": session.token if session else "",
        "objects": sorted(object_records(session), key=lambda record: not record["is_object"]),
        "methods": [{"method": method, "title": translated(title)} for method, title in titles.items() if title],
        "waiting": t("No objects yet. They show here when the masks are done."),
    }


def _service_title(service: ImageTo3D) -> str:
    place = service.address or t("this machine")
    return t("{service}: sends this object's picture to {place}", service=service.name, place=place)


def _project_state(session: Session) -> _ProjectState:
    project, cache = session.project, session.cache
    descriptions = cache.get("descriptions", "descriptions.json", project.descriptions) or ()
    matches = cache.get("matches", "matches.json", project.matches) or ()
    overrides = overrides_from_decisions(project.active_decisions(*DECISION_KINDS))
    return _ProjectState(
        descriptions={description.segment_id: description for description in descriptions},
        matches={match.segment_id: match for match in matches},
        placements={pending.placement.segment_id: pending for pending in pending_placements(session)},
        is_object={d.data["id"]: not d.data["value"] for d in project.active_decisions("not_object")},
        names={d.data["id"]: safe_name(d.data["name"]) for d in project.active_decisions("rename")},
        words=object_words(project),
        display_names=project.display_names(),
        asset_overrides=project.asset_overrides(),
        methods={d.data["id"]: d.data.get("way") for d in project.active_decisions("choose_asset", "make")},
        moved=frozenset(id for id, override in overrides.items() if override.fixed_pose is not None),
        fits=known_fits(session),
        confidences=_confidences(session),
    )


def _record(session: Session, segment: Segment, state: _ProjectState) -> dict[str, Any]:
    id = segment.id
    record = _described(session, segment, state.descriptions.get(id))
    record["is_object"] = is_object = state.is_object.get(id, record["is_object"])
    pending = state.placements.get(id) if is_object else None
    if id in state.names or pending:
        record["name"] = state.names.get(id) or (pending.placement.name if pending else "")
    name = str(record["name"])
    record["display_name"] = state.display_names.get(id, "")
    record["words"] = record["display_name"] or state.words.of(name)
    if is_object and id in state.matches:
        match, overrides = state.matches[id], state.asset_overrides
        record["match"] = _match(session, override_match(match, overrides[id]) if id in overrides else match)
        record["asset_label"] = _asset_label(str(record["words"]), record["match"]["asset_name"])
    record["method"] = state.methods.get(id)
    if pending:
        record["placed"] = _placed(pending.placement) | {"changed": pending.changed}
    record["moved"] = id in state.moved
    record["fit"] = _fit(state.fits.get(id))
    record["confidence"] = _confidence(record, state.confidences.get(id))
    if warnings := record.get("warnings"):
        record |= {"mark": "!", "mark_note": " ".join(warnings)}
    return record


def _fit(fit: dict[str, Any] | None) -> dict[str, Any] | None:
    return fit and {key: translated(value) if isinstance(value, str) else value for key, value in fit.items()}


def _confidence(record: dict[str, Any], confidence: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the confidence with what it is about: only the pose of an automatic reconstruction, else everything."""
    if confidence is None or "placed" not in record:
        return None
    is_pose_only = record["placed"]["asset_id"] is None and record.get("match", {}).get("source") != "human"
    return confidence | {"reason": translated(confidence["reason"]), "about": "pose" if is_pose_only else ""}


def _confidences(session: Session) -> dict[int, dict[str, Any]]:
    """Return {score, level, reason} of each object of the twin by segment id; the last known until recomputed."""
    project = session.project

    def compute() -> dict[int, dict[str, Any]]:
        confidences = measure_confidences(project, fidelities(session)) if project.scene() else ()
        return {c.segment_id: {"score": round(c.score, 3), "level": c.level, "reason": c.reason} for c in confidences}

    return session.cache.get_later("confidence", "scene.json", compute) or {}


def _described(session: Session, segment: Segment, description: Description | None) -> dict[str, Any]:
    record: dict[str, Any] = {
        "id": segment.id,
        "name": f"object {segment.id}",
        "caption": t("not described yet"),
        "colour": object_colour(segment.id),
        "is_object": True,
        "source": segment.source,
        "crop": f"project/{session.token}/crop/{segment.id}.jpg?{mask_stamp(segment)}",
    }
    if description is None:
        return record
    measured = description.attributes
    return record | {
        "name": description.name,
        "caption": description.caption,
        "is_object": description.is_object,
        "source": description.source,
        "colour_name": measured.colour,
        "rgb": ",".join(str(int(c)) for c in measured.rgb),
        "shape": measured.shape,
        "size": [float(x) for x in measured.size],
        "warnings": [translated(warning) for warning in description.warnings],
    }


def _match(session: Session, match: Match) -> dict[str, Any]:
    return {
        "asset_id": match.asset_id,
        "asset_name": _asset_name(session, match.asset_id),
        "scale": float(match.scale),
        "reason": translated(match.reason),
        "source": match.source,
        "asset": _asset(session, match.asset_id),
        "machine": _machine(session, match),
        "confidence": _match_confidence(match),
        "candidates": [_candidate(session, candidate) for candidate in match.candidates],
    }


def _match_confidence(match: Match) -> dict[str, Any] | None:
    """Return {score, level} of the calibrated confidence in the first candidate; None if a person or a model chose."""
    if match.confidence is None:
        return None
    level = next((level for least, level in MATCH_LEVELS if match.confidence >= least), "unsure")
    return {"score": round(match.confidence, 3), "level": level}


def _asset(session: Session, id: str | None) -> dict[str, Any] | None:
    """Return {asset_id, name, image} of the chosen asset, which need not be a candidate."""
    return {"asset_id": id, "name": _asset_name(session, id), "image": _card(session, id)} if id else None


def _machine(session: Session, match: Match) -> dict[str, Any]:
    """Return {asset_id, name, source} of the machine's choice, whatever a person chose after it."""
    id, source = match.machine or (match.asset_id, match.source)
    return {"asset_id": id, "name": _asset_name(session, id), "source": source}


def _asset_label(words: str, asset_name: str) -> str:
    """Return the asset's name if it says more than the object's, else ""."""
    asset_words = asset_name.replace("_", " ")
    return "" if set(asset_words.lower().split()) <= set(words.lower().split()) else asset_words


def _candidate(session: Session, candidate: Candidate) -> dict[str, Any]:
    return {
        "asset_id": candidate.asset_id,
        "name": _asset_name(session, candidate.asset_id),
        "image": _card(session, candidate.asset_id),
        "score": float(candidate.score),
        "scores": {name: float(score) for name, score in candidate.scores.items()},
        "reason": translated(candidate.reason),
    }


def _card(session: Session, id: str) -> str:
    return f"project/{session.token}/card/{id}.png"


def _asset_name(session: Session, id: str | None) -> str:
    return session.services.library[id].name if id and id in session.services.library else id or ""


def _placed(placement: Placement) -> dict[str, Any]:
    w, x, y, z = (float(q) for q in placement.world_from_object.quat_wxyz)
    return {
        "pos": [float(p) for p in placement.world_from_object.pos],
        "quat_wxyz": [w, x, y, z],
        "yaw": math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
        "mass": float(placement.mass),
        "scale": float(placement.scale),
        "parts": list(placement.affordances),
        "asset_id": placement.asset_id,
        "reconstruction": _reconstruction(placement),
        "recolour": placement.recolour,
        "printed": placement.printed and placement.asset_id is not None,
        "can_recolour": placement.asset_id is not None and placement.model is None,
    }


def _reconstruction(placement: Placement) -> dict[str, str] | None:
    """Return {shape, note} of an object reconstructed from the view, None for an asset."""
    start = f"{PROVENANCE_PREFIX} as "
    if placement.asset_id is not None or not placement.provenance.startswith(start):
        return None
    shape = placement.provenance.removeprefix(start).split(";")[0]
    return {"shape": shape.removeprefix("a ").removeprefix("an "), "note": placement.provenance}
