"""Cameras that a person places in the twin, and their pictures."""

from collections.abc import Mapping
from itertools import count
from typing import Any

from fastapi import Response

from pipeline.project import safe_name
from pipeline.scene.mjcf import builder
from pipeline.scene.rendering import render_model
from pipeline.simulation.cameras import add_cameras
from pipeline.store import digest
from studio.records.file_routes import CACHED, ProjectFile
from studio.records.images import jpeg
from studio.sessions.session import Session
from studio.web.errors import RequestError

MAX_CAMERAS = 8
"""More than a rig has; each costs a picture for every frame that is recorded."""


def cameras_record(session: Session | None) -> dict[str, Any] | None:
    """Return PlacedCameras' value."""
    if session is None or session.project.scene() is None:
        return None
    cameras, stamp = session.project.cameras(), session.cache.stamp("scene.json")
    address = f"project/{session.token}/camera"
    names = {camera.name for camera in cameras}
    return {
        "cameras": [
            {"name": one.name, "picture": f"{address}/{one.name}.jpg?{digest(stamp, list(one))}"} for one in cameras
        ],
        "next": next(name for number in count(1) if (name := f"camera_{number}") not in names),
    }


def place(session: Session, message: Mapping[str, Any]) -> None:
    """Place the camera {name, pos, quat_wxyz, field_of_view}. Raises RequestError, DecisionError."""
    names = {camera.name for camera in session.project.cameras()}
    if len(names) >= MAX_CAMERAS:
        raise RequestError(f"A twin has up to {MAX_CAMERAS} cameras beside its own; remove one first.")
    name = safe_name(str(message.get("name", "")))
    if name in names:
        raise RequestError(f'There is a camera "{name}" already; choose another name.')
    pose = {key: message.get(key) or () for key in ("pos", "quat_wxyz")}
    session.decisions.record("place_camera", name=name, **pose, field_of_view=message.get("field_of_view"))


def remove(session: Session, message: Mapping[str, Any]) -> None:
    """Remove the camera {name}. Raises RequestError."""
    if message.get("name") not in {camera.name for camera in session.project.cameras()}:
        raise RequestError("That camera no longer exists.")
    session.decisions.record("remove_camera", name=message["name"])


def _picture(session: Session, name: str) -> Response:
    spec = builder.load_spec(session.project.folder / "scene")
    add_cameras(spec, session.project.cameras())
    # Width and height of a picture in pixels, twice those on the page
    drawn = render_model(builder.compile_spec(spec), (320, 240), name.removesuffix(".jpg"))
    return Response(jpeg(drawn.rgb), media_type="image/jpeg", headers=CACHED)


FILES: Mapping[str, ProjectFile] = {"camera": _picture}
