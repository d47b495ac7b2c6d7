"""The Gaussian splats that draw the background and objects: chosen, shown with their source, removed."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.object_words import object_words
from pipeline.project.project_splats import PLACES, chosen_splats, service_splats, take_splats
from studio.sessions.session import Session
from studio.texts import translated
from studio.web.errors import RequestError
from studio.web.upload_folder import collect_uploads


def splats_record(session: Session | None) -> dict[str, Any] | None:
    """Return SplatPanel's value."""
    scene = None if session is None else session.project.scene()
    if session is None or scene is None:
        return None
    words = object_words(session.project)
    made = {p.name for p in scene.placements if service_splats(session.project, p.segment_id)}
    return {
        "objects": [{"name": p.name, "words": words.of(p.name), "made": p.name in made} for p in scene.placements],
        "chosen": [
            {
                "object": "" if one.segment_id is None else one.body,
                "words": words.of(one.body),
                "name": translated(one.name),
                "source": translated(one.source),
            }
            for one in chosen_splats(session.project, scene)
        ],
    }


def choose_made(session: Session, message: Mapping[str, Any]) -> None:
    """Draw the object {object} by the splats that a service made with its mesh. Raises StudioError."""
    project, scene = session.project, session.project.scene()
    found = next((p for p in scene.placements if p.name == message.get("object")), None) if scene else None
    file = found and service_splats(project, found.segment_id)
    if not found or not file:
        raise RequestError("No service made splats of this object.")
    data = take_splats(project, file, found.name, name="from the image-to-3D service")
    session.decisions.record("splats", **data)


def choose(session: Session, message: Mapping[str, Any]) -> None:
    """Draw the background, at {place}, or the object {object} by the file {files}. Raises StudioError."""
    about, place = message.get("object") or "", message.get("place", "photo")
    if not isinstance(about, str) or place not in PLACES:
        raise RequestError("Say which object the splats draw, or where the background stands: photo or world.")
    with tempfile.TemporaryDirectory(prefix="grs-splats-", ignore_cleanup_errors=True) as folder:
        names = collect_uploads(message.get("files"), Path(folder))
        if len(names) != 1:
            raise RequestError("Choose one file of splats.")
        data = take_splats(session.project, Path(folder) / names[0], about, place)
    session.decisions.record("splats", **data)


def remove(session: Session, message: Mapping[str, Any]) -> None:
    """Remove the splats of the object {object}, "" for the background. Raises RequestError."""
    about = message.get("object", "")
    for one in chosen_splats(session.project, session.project.scene()):
        if about == ("" if one.segment_id is None else one.body):
            id = {} if one.segment_id is None else {"id": one.segment_id}
            return session.decisions.record("splats", file="", name="", matrix=np.eye(4).tolist(), source="", **id)
    raise RequestError("These splats are removed already.")
