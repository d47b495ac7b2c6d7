"""Mass and friction of an object of the twin, as a language model estimates them."""

from collections.abc import Mapping
from typing import Any

from pipeline.description.model_description import object_label
from pipeline.description.physical_properties import KIND, estimate_physical_properties
from pipeline.models import AnswerOverride
from pipeline.models.model import has_language
from pipeline.models.trace.recorder import TracingModel
from pipeline.run import tracing_model
from pipeline.scene.placement import Placement
from studio.sessions.session import Session
from studio.web.errors import RequestError


def ask_physical_properties(session: Session, message: Mapping[str, Any], again: bool = False) -> None:
    """Ask the model for mass and friction of the object {id} in the background and record its answer as a decision.

    An earlier answer is used again unless `again` is true. Raises RequestError.
    """
    if not has_language(session.services.model):
        raise RequestError("No language model is in use; choose one at the top, then ask again.")
    scene = session.project.scene()
    placement = next((p for p in scene.placements if p.segment_id == message.get("id")), None) if scene else None
    if placement is None:
        raise RequestError("That object is not in the twin; choose another.")
    subject = f"object {placement.segment_id}"
    overrides = {(KIND, subject): AnswerOverride(_times_asked(session, subject))} if again else {}
    model = tracing_model(session.project, session.services, session.calls.watch(), overrides)
    session.tasks.start(
        "physical properties",
        lambda: _record_physical_properties(session, model, placement),
        session.log.report_once,
    )


def _times_asked(session: Session, subject: str) -> int:
    return sum(call.kind == KIND and call.subject == subject for call in session.calls.read())


def _record_physical_properties(session: Session, model: TracingModel, placement: Placement) -> None:
    captions = {d.segment_id: d.caption for d in session.project.descriptions() or ()}
    about = {
        "name": placement.name, "caption": captions.get(placement.segment_id, ""),
        "kind": placement.category or placement.shape, "size": placement.size, "hollow": placement.container,
    }  # fmt: skip
    estimate = estimate_physical_properties(model, about, object_label(placement.segment_id))
    session.decisions.record(
        "physics",
        id=placement.segment_id,
        mass=estimate.mass,
        friction=estimate.friction,
        mass_range=estimate.mass_range,
        friction_range=estimate.friction_range,
        source=estimate.source,
        reason=estimate.reason,
    )
