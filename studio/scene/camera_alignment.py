"""The camera's pose from pairs of clicks, on the photograph and on the twin: computed, looked at, then recorded."""

import base64
import secrets
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.scene import Scene
from pipeline.scene.placement import SceneError
from pipeline.scene.rendering import render_twin
from studio.records.images import jpeg
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry, session_context
from studio.texts import t
from studio.web.endpoints import Endpoint
from studio.web.errors import RequestError

if TYPE_CHECKING:  # they take a second to import
    from pipeline.alignment import TwinSurface

OVERLAY_WIDTH_PX = 1000
"""Of each picture, before and after."""
STOP = "camera alignment's stop"
"""Name in the cache of the event that stops the alignment that is being computed."""
KEPT = "camera alignment"
"""Name in the cache of the alignment that was computed last, with its id; the twin's next change removes it."""


def endpoint(sessions: SessionRegistry) -> Endpoint:
    """Return the endpoint of CameraAligner."""
    return Endpoint({"open": _open, "point": _point, "align": _align, "stop": _stop}, session_context(sessions))


def aligner_record(session: Session | None) -> dict[str, Any]:
    """Return CameraAligner's value."""
    if session is None or session.project.scene() is None:
        return {"token": "", "photo": ""}
    return {"token": session.token, "photo": f"project/{session.token}/colour.jpg"}


def take_alignment(session: Session, message: Mapping[str, Any]) -> None:
    """Record the alignment {id} that was computed last as the camera's pose. Raises RequestError."""
    id, found = session.cache.get(KEPT, "scene.json", lambda: ("", None))
    if found is None or message.get("id") != id:
        raise RequestError("The twin has changed since this camera was computed; align it again.")
    source = ", ".join(found.evidence)
    session.decisions.record("camera_pose", world_from_camera=found.world_from_camera.tolist(), source=source)


def _open(session: Session, _: dict) -> dict[str, Any]:
    """Return the twin as the photograph's camera sees it: {twin: data URL, width, height}."""
    k = session.project.frame.intrinsics
    current_scene(session)
    drawn = render_twin(session.project.folder / "scene", (k.width, k.height))
    return {"twin": data_url(drawn.rgb), "width": k.width, "height": k.height}


def _point(session: Session, request: dict) -> dict[str, Any]:
    """Return {world, object, seen} of a pixel of the twin: the point in metres, its object, the pixel of the point."""
    from pipeline.alignment.camera import project

    scene, k = current_scene(session), session.project.frame.intrinsics
    surface = session.cache.get("twin surface", "scene.json", lambda: _surface(session))
    pixel = read_numbers(request.get("pixel"), 2)
    world, name = surface.point_at(pixel)
    seen = project(np.asarray(scene.world_from_camera), world[None], k)[0]
    return {"world": world.tolist(), "object": name, "seen": seen.tolist()}


def _align(session: Session, request: dict) -> dict[str, Any]:
    """Return the camera of {pairs: [{pixel, world}]}: its uncertainty, its residuals, and the twin over the photograph
    before and after. {stopped: true} if a person stopped it."""
    from pipeline.alignment import AlignmentStopped, CameraClicks, align_on_twin, overlay_picture
    from pipeline.alignment.camera import difference

    scene, project, pairs = current_scene(session), session.project, request.get("pairs")
    if not isinstance(pairs, list) or len(pairs) > 100 or not all(isinstance(one, dict) for one in pairs):
        raise RequestError("These pairs are no list of clicks; reload the page.")
    points = np.array([read_numbers(one.get("world"), 3) for one in pairs]).reshape(-1, 3)
    pixels = np.array([read_numbers(one.get("pixel"), 2) for one in pairs]).reshape(-1, 2)
    clicks = CameraClicks(points, pixels)
    stop = threading.Event()
    session.cache.put(STOP, "scene.json", stop)
    try:
        _, found = align_on_twin(project.frame, project.support, project.segments() or (), scene, clicks, stop)
    except AlignmentStopped:
        return {"stopped": True}
    before, after = np.asarray(scene.world_from_camera), found.world_from_camera
    pictures = [overlay_picture(project.frame, scene, camera, clicks) for camera in (before, after)]
    id = secrets.token_hex(8)
    session.cache.put(KEPT, "scene.json", (id, found))
    step = difference(before, after)
    return {
        "id": id, "overlays": [data_url(one, OVERLAY_WIDTH_PX) for one in pictures], "evidence": list(found.evidence),
        "rotation_std_deg": found.rotation_std_deg.tolist(), "position_std_m": found.position_std_m.tolist(),
        "residuals_px": found.residuals_px.tolist(), "turned_deg": float(np.degrees(np.linalg.norm(step[:3]))),
        "moved_m": float(np.linalg.norm(step[3:])),
    }  # fmt: skip


def _stop(session: Session, _: dict) -> dict[str, Any]:
    """Stop the alignment that is being computed, if any."""
    session.cache.get(STOP, "scene.json", threading.Event).set()
    return {}


def _surface(session: Session) -> "TwinSurface":
    from pipeline.alignment import TwinSurface

    return TwinSurface(current_scene(session), session.project.frame.intrinsics)


def current_scene(session: Session) -> Scene:
    """Return the twin. Raises SceneError before there is one."""
    scene = session.project.scene()
    if scene is None:
        raise SceneError("There is no twin yet; wait until the scene is done.")
    return scene


def read_numbers(value: object, count: int) -> np.ndarray:
    """Return the numbers of a click, of shape (count,). Raises RequestError."""
    plain = isinstance(value, list) and len(value) == count and all(isinstance(one, int | float) for one in value)
    if not plain or not np.isfinite(np.array(value, float)).all():
        raise RequestError(t("A click has {n} finite numbers; click again.", n=count))
    return np.array(value, float)


def data_url(rgb: np.ndarray, width: int | None = None) -> str:
    """Return a picture (H, W, 3) as a JPEG in a data URL, at most `width` pixels wide."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg(rgb, width)).decode()}"
