"""One object of the twin put right by hand: how it would fit, what settling did to it, what it weighs and why."""

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.errors import StudioError
from pipeline.geometry import Pose
from pipeline.models import Wish, label_of
from pipeline.models.live import Live
from pipeline.models.model import reads
from pipeline.models.trace import Traced
from pipeline.scene.fidelity import Likeness
from pipeline.scene.placement import Placement, SceneError
from pipeline.scene.trial import Trial
from pipeline.scene.weighing import KIND as WEIGH
from pipeline.scene.weighing import weigh
from studio import in_force, prompts
from studio.fits import trial
from studio.notices import sentence
from studio.session import Session, SessionError
from studio.sessions import Sessions
from studio.theme import colour_of

NOTICED = 0.002
"""Metres, or radians times ten, of settling that are told."""
CLEARLY = 0.015
"""Of `misfit` that make a fit better or worse."""
FULL = 0.05
"""Metres of depth error that weigh as much as an outline that is all wrong."""


def answer(sessions: Sessions, request: dict) -> dict:
    """What the page asks while an object is dragged; see components.adjuster.Adjuster."""
    began, seq = time.perf_counter(), request.get("seq")
    try:
        said = _tried(sessions.get(request.get("token")), request)
    except StudioError as error:
        return {"seq": seq, "error": sentence(error)}
    return {"seq": seq, **said, "ms": round((time.perf_counter() - began) * 1000)}


def _tried(session: Session, request: dict) -> dict:
    """How the object would agree at that pose and scale, as it does now, and as the machine had it."""
    asked = {"kind": "resize"} | {key: request.get(key) for key in ("id", "pos", "quat_wxyz", "scale")}
    _, data = prompts.decision(asked, session.project.frame)
    if not (data["scale"] > 0 and any(data["quat_wxyz"])):
        raise SceneError("A turn and a size above 0 are needed; write ordinary numbers.")
    open_, id = trial(session), data["id"]
    segment = next((s for s in session.project.segments() or () if s.id == id), None)
    if segment is None:
        raise SceneError("That object is not there any more; pick another.")
    now = open_.like(segment, Pose(np.array(data["pos"], float), _unit(data["quat_wxyz"])), float(data["scale"]))
    had = open_.machines(segment)
    return {**_fit(now), "had": _fit(had), "change": _change(now, had)}


def _unit(quat: list[float]) -> np.ndarray:
    values = np.array(quat, float)
    return values / np.linalg.norm(values)


def _fit(like: Likeness) -> dict[str, Any]:
    return {"iou": like.mask_iou, "depth_error": like.depth_error}


def _change(now: Likeness, before: Likeness) -> str:
    """ "better", "worse" or "the same"."""
    gained = _misfit(before) - _misfit(now)
    return "better" if gained > CLEARLY else "worse" if gained < -CLEARLY else "the same"


def _misfit(like: Likeness) -> float:
    return 1 - like.mask_iou + (FULL if like.depth_error is None else min(like.depth_error, FULL)) / FULL


# ---------------------------------------------------------------------- asking a model


def ask_weight(session: Session, told: Mapping[str, Any], again: bool = False) -> None:
    """Asks the model in use what the object {id} weighs and takes its answer as a decision. Raises SessionError.

    What it answered before is found on record, but where it is to be asked `again`.
    """
    model = session.services.model
    if not reads(model):
        raise SessionError("No language model is in use; choose one at the top, then ask again.")
    if takes := session.asks_first():
        raise SessionError(f"{takes} Agree to it first, then ask again.")
    scene = session.project.scene()
    one = next((p for p in scene.placements if p.segment_id == told.get("id")), None) if scene else None
    if one is None:
        raise SessionError("That object does not stand in the twin; pick another.")
    live = Live(watch=session.flown)
    session.lives.append(live)
    wishes = {(WEIGH, f"object {one.segment_id}"): Wish(_asked(session, one))} if again else {}
    session.aside(_weigh, session, Traced(model, session.calls.path, live, wishes), one)


def _asked(session: Session, one: Placement) -> int:
    """How often the model was asked about it."""
    return sum(call.kind == WEIGH and call.about == f"object {one.segment_id}" for call in session.calls.read())


def _weigh(session: Session, model: Traced, one: Placement) -> None:
    captions = {d.segment_id: d.caption for d in session.project.descriptions() or ()}
    said = weigh(model, one, captions.get(one.segment_id, ""))
    session.decide(
        "physics",
        id=one.segment_id,
        mass=said.mass,
        friction=said.friction,
        mass_range=said.mass_range,
        friction_range=said.friction_range,
        source=said.source,
        reason=said.reason,
    )


# ---------------------------------------------------------------------- what is shown


def shown(session: Session | None) -> dict[str, Any]:
    """All that the page says of each placed object; see components.adjuster.Adjuster."""
    standing = in_force.standing(session) if session else ()
    if session is None or not standing:
        return {"token": session.token if session else "", "objects": [], "busy": False}
    inertias = session.later("inertias", "scene.json", lambda: _inertias(trial(session))) or {}
    fits = session.fits
    return {
        "token": session.token,
        "busy": session.work is not None and session.project.stages()["scene"] != "done",
        "stamp": session.stamp("scene.json"),
        "asks": label_of(session.services.model) if reads(session.services.model) else "",
        "asked": [flight.about for flight in session.flights() if flight.kind == WEIGH],
        "objects": [
            _object(session, one)
            | {"fit": fits.get(one.twins.segment_id), "inertia": inertias.get(one.twins.segment_id)}
            for one in standing
        ],
    }


def _object(session: Session, one: in_force.Standing) -> dict[str, Any]:
    p, given = one.placement, one.given
    return {
        "id": p.segment_id,
        "name": p.name,
        "colour": colour_of(p.segment_id),
        "pos": p.world_from_object.pos.tolist(),
        "quat_wxyz": p.world_from_object.quat_wxyz.tolist(),
        "scale": float(p.scale),
        "made_scale": float(one.twins.scale),
        "size": one.twins.size.tolist(),
        "changed": one.changed,
        "made": p.asset_id is None,
        "by_hand": p.found is not None,
        "settled": "" if one.changed or given.fixed is None else settled(given.fixed, p.world_from_object),
        "mass": _weight(p.mass, p.mass_range, p.mass_source),
        "friction": _weight(p.friction, p.friction_range, p.friction_source),
        "files": f"/project/{session.token}/object/{p.segment_id}",
    }


def _weight(value: float, plausible: tuple[float, float], source: str) -> dict[str, Any]:
    return {"value": float(value), "range": [float(edge) for edge in plausible], "source": source}


def settled(put: Pose, rests: Pose) -> str:
    """What settling did to an object since a person put it there, in a sentence; empty where next to nothing."""
    by = rests.pos - put.pos
    moved, turned = float(np.linalg.norm(by)), _angle(put, rests)
    if max(moved, turned / 10) < NOTICED:
        return ""
    flat = float(np.hypot(*by[:2]))
    how = []
    if abs(by[2]) >= NOTICED / 2:
        how.append(f"{_length(abs(by[2]))} {'down' if by[2] < 0 else 'up'}")
    if flat >= NOTICED / 2:
        how.append(f"{_length(flat)} aside")
    if turned >= math.radians(1):
        how.append(f"turned it {math.degrees(turned):.0f}°")
    return f"Settling moved it {', '.join(how)} from where you put it." if how else ""


def _angle(a: Pose, b: Pose) -> float:
    return float(Rotation.from_matrix(a.rotation.T @ b.rotation).magnitude())


def _length(metres: float) -> str:
    return f"{metres * 1000:.0f} mm" if metres < 0.01 else f"{metres * 100:.1f} cm"


def _inertias(trial: Trial) -> dict[int, list[float]]:
    """Principal moments of inertia in kg m^2, by segment id."""
    return {p.segment_id: trial.model.body(p.name).inertia.tolist() for p in trial.scene.placements}
