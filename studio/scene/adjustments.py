"""Adjustment of one object of the twin by hand: its fit while it is dragged, and what settling changed."""

import math
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.description.physical_properties import KIND as WEIGH
from pipeline.geometry import Pose
from pipeline.models import label_of
from pipeline.models.model import has_language
from pipeline.object_words import object_words
from pipeline.scene.fidelity import MIN_COST_CHANGE, ObjectFidelity
from pipeline.scene.placement import SceneError
from pipeline.scene.preview.pose_preview import PosePreview
from studio.accounts.roles import Role
from studio.records.fits import known_fits, pose_preview
from studio.records.pending_edits import PendingPlacement, pending_placements
from studio.sessions.prompt_requests import parse_decision
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry, session_context
from studio.texts import t
from studio.web.endpoints import Endpoint
from studio.web.theme import object_colour

MIN_SETTLING = 0.002
"""Metres, or radians times ten, that settling must have moved an object to be mentioned."""


def endpoint(sessions: SessionRegistry) -> Endpoint:
    """Return the endpoint of Adjuster."""
    return Endpoint(
        {"fit": _fit_at}, session_context(sessions), default_kind="fit", roles={"fit": Role.VISIT}, long_kinds=("fit",)
    )


def _fit_at(session: Session, request: dict) -> dict[str, Any]:
    """Return the fit of an object at a pose and scale, and the fit where the machine placed it."""
    message = {"kind": "resize"} | {key: request.get(key) for key in ("id", "pos", "quat_wxyz", "scale")}
    _, data = parse_decision(message, session.project.frame)
    if not (data["scale"] > 0 and any(data["quat_wxyz"])):
        raise SceneError("A rotation and a size above 0 are needed; write ordinary numbers.")
    preview, id = pose_preview(session), data["id"]
    segment = next((s for s in session.project.segments() or () if s.id == id), None)
    if segment is None:
        raise SceneError("That object no longer exists; choose another.")
    pose = Pose(np.array(data["pos"], float), _normalised(data["quat_wxyz"]))
    fidelity = preview.fidelity_at(segment, pose, float(data["scale"]))
    machine = preview.machine_fidelity(segment)
    return {**_fit(fidelity), "machine_fit": _fit(machine), "change": _change(fidelity, machine)}


def _normalised(quat: list[float]) -> np.ndarray:
    values = np.array(quat, float)
    return values / np.linalg.norm(values)


def _fit(fidelity: ObjectFidelity) -> dict[str, Any]:
    return {"iou": fidelity.mask_iou, "depth_error": fidelity.depth_error}


def _change(now: ObjectFidelity, before: ObjectFidelity) -> str:
    """Return "better", "worse" or "the same"."""
    gain = before.cost - now.cost
    return "better" if gain > MIN_COST_CHANGE else "worse" if gain < -MIN_COST_CHANGE else "the same"


# ---------------------------------------------------------------------- what is shown


def adjuster_record(session: Session | None) -> dict[str, Any]:
    """Return Adjuster's value."""
    placements = pending_placements(session) if session else ()
    if session is None or not placements:
        return {"token": session.token if session else "", "objects": [], "busy": False}
    model = session.allowed_services.model
    inertias = session.cache.get_later("inertias", "scene.json", lambda: _inertias(pose_preview(session))) or {}
    fits = known_fits(session)
    words, called = object_words(session.project), session.project.display_names()
    return {
        "token": session.token,
        "busy": session.runner.current is not None and session.project.stages()["scene"] != "done",
        "version": session.cache.stamp("scene.json"),
        "model": label_of(model) if has_language(model) else "",
        "pending": [call.subject for call in session.calls.in_flight() if call.kind == WEIGH],
        "objects": [
            _object_record(session, pending)
            | {"words": called.get(pending.built.segment_id) or words.of(pending.placement.name)}
            | {"fit": fits.get(pending.built.segment_id), "inertia": inertias.get(pending.built.segment_id)}
            for pending in placements
        ],
    }


def _object_record(session: Session, pending: PendingPlacement) -> dict[str, Any]:
    p, fixed_pose = pending.placement, pending.override.fixed_pose
    note = "" if pending.changed or fixed_pose is None else settling_note(fixed_pose, p.world_from_object)
    return {
        "id": p.segment_id,
        "name": p.name,
        "colour": object_colour(p.segment_id),
        "pos": p.world_from_object.pos.tolist(),
        "quat_wxyz": p.world_from_object.quat_wxyz.tolist(),
        "scale": float(p.scale),
        "made_scale": float(pending.built.scale),
        "size": pending.built.size.tolist(),
        "changed": pending.changed,
        "reconstructed": p.asset_id is None,
        "adjusted": p.machine_pose is not None,
        "settle_note": note,
        "mass": _property(p.mass, p.mass_range, p.mass_source, p.mass_range_source, pending.override.mass),
        "friction": _property(
            p.friction, p.friction_range, p.friction_source, p.friction_range_source, pending.override.friction
        ),
        "files": f"project/{session.token}/object/{p.segment_id}",
    }


def _property(
    value: float, plausible: tuple[float, float], source: str, range_source: str, decided: float | None
) -> dict[str, Any]:
    return {
        "value": float(value),
        "range": [float(bound) for bound in plausible],
        "source": source,
        "range_source": range_source,
        "is_decided": decided is not None,
    }


def settling_note(chosen: Pose, settled: Pose) -> str:
    """Return a sentence on how settling changed the pose that a person chose; "" if it hardly did."""
    offset = settled.pos - chosen.pos
    distance, angle = float(np.linalg.norm(offset)), _angle(chosen, settled)
    if max(distance, angle / 10) < MIN_SETTLING:
        return ""
    sideways = float(np.hypot(*offset[:2]))
    changes = []
    if abs(offset[2]) >= MIN_SETTLING / 2:
        changes.append(f"{_length(abs(offset[2]))} {'down' if offset[2] < 0 else 'up'}")
    if sideways >= MIN_SETTLING / 2:
        changes.append(t("{sideways} sideways", sideways=_length(sideways)))
    if angle >= math.radians(1):
        changes.append(t("turned it {angle}°", angle=f"{math.degrees(angle):.0f}"))
    return t("moved it {changes}", changes=", ".join(changes)) if changes else ""


def _angle(a: Pose, b: Pose) -> float:
    return float(Rotation.from_matrix(a.rotation.T @ b.rotation).magnitude())


def _length(metres: float) -> str:
    return f"{metres * 1000:.0f} mm" if metres < 0.01 else f"{metres * 100:.1f} cm"


def _inertias(preview: PosePreview) -> dict[int, list[float]]:
    """Return the principal moments of inertia of each object in kg m^2, by segment id."""
    return {p.segment_id: preview.model.body(p.name).inertia.tolist() for p in preview.scene.placements}
