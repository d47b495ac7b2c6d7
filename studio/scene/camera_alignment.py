"""The camera's pose from pairs of clicks, on the photograph and on the twin: computed, looked at, then recorded."""

import base64
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.scene import Scene
from pipeline.scene.placement import SceneError
from pipeline.scene.rendering import render_twin
from studio.objects.images import jpeg
from studio.server.endpoints import Endpoint, session_context
from studio.server.errors import RequestError
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry
from studio.texts import t

if TYPE_CHECKING:  # they take a second to import
    from pipeline.alignment import TwinSurface

OVERLAY_WIDTH_PX = 1600
MAX_PAIRS = 100
KEPT = "camera alignment"
"""Name in the cache of the alignment that was computed last, with its id; the twin's next change removes it."""


def endpoint(sessions: SessionRegistry) -> Endpoint:
    """Return the endpoint of CameraAligner."""
    return Endpoint({"open": _open, "point": _point, "align": _align}, session_context(sessions))


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
    _scene(session)
    drawn = render_twin(session.project.folder / "scene", (k.width, k.height))
    return {"twin": _data_url(drawn.rgb), "width": k.width, "height": k.height}


def _point(session: Session, request: dict) -> dict[str, Any]:
    """Return {world, object, seen} of a pixel of the twin: the point in metres, its object, the pixel of the point."""
    from pipeline.alignment.camera import project

    scene, k = _scene(session), session.project.frame.intrinsics
    surface = session.cache.get("twin surface", "scene.json", lambda: _surface(session))
    pixel = _numbers(request.get("pixel"), 2)
    world, name = surface.point_at(pixel)
    seen = project(np.asarray(scene.world_from_camera), world[None], k)[0]
    return {"world": world.tolist(), "object": name, "seen": seen.tolist()}


def _align(session: Session, request: dict) -> dict[str, Any]:
    """Return the camera of {pairs: [{pixel, world}]}: its uncertainty, its residuals, and the twin over the photograph
    before and after."""
    from pipeline.alignment import CameraClicks, align_on_twin, overlay_image
    from pipeline.alignment.camera import difference

    scene, project, pairs = _scene(session), session.project, request.get("pairs")
    if not isinstance(pairs, list) or len(pairs) > MAX_PAIRS or not all(isinstance(one, dict) for one in pairs):
        raise RequestError("These pairs are no list of clicks; reload the page.")
    points = np.array([_numbers(one.get("world"), 3) for one in pairs]).reshape(-1, 3)
    pixels = np.array([_numbers(one.get("pixel"), 2) for one in pairs]).reshape(-1, 2)
    clicks = CameraClicks(points, pixels)
    _, found = align_on_twin(project.frame, project.support, project.segments() or (), scene, clicks)
    before, after = np.asarray(scene.world_from_camera), found.world_from_camera
    panels = [("before: the twin's camera", before), ("after: aligned", after)]
    overlay = overlay_image(project.frame, scene, panels, clicks)
    id = secrets.token_hex(8)
    session.cache.put(KEPT, "scene.json", (id, found))
    step = difference(before, after)
    return {
        "id": id, "overlay": _data_url(overlay, OVERLAY_WIDTH_PX), "evidence": list(found.evidence),
        "rotation_std_deg": found.rotation_std_deg.tolist(), "position_std_m": found.position_std_m.tolist(),
        "residuals_px": found.residuals_px.tolist(), "turned_deg": float(np.degrees(np.linalg.norm(step[:3]))),
        "moved_m": float(np.linalg.norm(step[3:])),
    }  # fmt: skip


def _surface(session: Session) -> "TwinSurface":
    from pipeline.alignment import TwinSurface

    return TwinSurface(_scene(session), session.project.frame.intrinsics)


def _scene(session: Session) -> Scene:
    scene = session.project.scene()
    if scene is None:
        raise SceneError("There is no twin yet; wait until the scene is done.")
    return scene


def _numbers(value: object, count: int) -> np.ndarray:
    plain = isinstance(value, list) and len(value) == count and all(isinstance(one, int | float) for one in value)
    if not plain or not np.isfinite(np.array(value, float)).all():
        raise RequestError(t("A click has {n} finite numbers; click again.", n=count))
    return np.array(value, float)


def _data_url(rgb: np.ndarray, width: int | None = None) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg(rgb, width)).decode()}"
