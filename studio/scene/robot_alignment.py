"""The robot's base from clicks on its gripper or from a file: computed, looked at, then recorded."""

import json
import secrets
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.frame import Frame
from studio.scene.camera_alignment import OVERLAY_WIDTH_PX, current_scene, data_url, read_numbers
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry, session_context
from studio.web.endpoints import Endpoint
from studio.web.errors import RequestError
from studio.web.upload_folder import collect_uploads

DEPTH_REACH_PX = 3
"""The depth at a click is the median within so many pixels."""
KEPT = "robot alignment"
"""Name in the cache of the base that was computed last, with its id; the twin's next change removes it."""
STOP = "robot alignment's stop"
"""Name in the cache of the event that stops the alignment that is being computed."""


def endpoint(sessions: SessionRegistry) -> Endpoint:
    """Return the endpoint of RobotAligner."""
    return Endpoint({"align": _align, "stop": _stop}, session_context(sessions))


def take_alignment(session: Session, message: Mapping[str, Any]) -> None:
    """Record the base {id} that was computed last. Raises RequestError."""
    id, found = session.cache.get(KEPT, "scene.json", lambda: ("", None))
    if found is None or message.get("id") != id:
        raise RequestError("The twin has changed since this base was computed; align it again.")
    session.decisions.record("robot_base", world_from_base=found.world_from_base.tolist())


def _align(session: Session, request: dict) -> dict[str, Any]:
    """Return the base of {files, clicks, tool} and its axes over the photograph; {stopped: true} if it was stopped."""
    from pipeline.alignment import AlignmentStopped, CameraClicks, overlay_picture
    from pipeline.alignment.input_files import read_robot_base_confined

    scene, frame = current_scene(session), session.project.frame
    stop, camera = threading.Event(), np.asarray(scene.world_from_camera)
    session.cache.put(STOP, "scene.json", stop)
    with tempfile.TemporaryDirectory(prefix="grs-base-") as folder:
        if request.get("files"):  # without any, `_input_file` says which are wanted
            collect_uploads(request["files"], Path(folder))
        file = _input_file(request, frame, Path(folder))
        try:
            found = read_robot_base_confined(file, camera, frame.intrinsics, stop)
        except AlignmentStopped:
            return {"stopped": True}
    none = CameraClicks(np.zeros((0, 3)), np.zeros((0, 2)))
    overlay = overlay_picture(frame, scene, camera, none, found.world_from_base)
    id = secrets.token_hex(8)
    session.cache.put(KEPT, "scene.json", (id, found))
    answer = {
        "id": id,
        "overlay": data_url(overlay, OVERLAY_WIDTH_PX),
        "world_from_base": found.world_from_base.tolist(),
    }
    if found.covariance is not None and found.residuals_px is not None:
        std = np.sqrt(np.diag(found.covariance))
        answer |= {"rotation_std_deg": np.degrees(std[:3]).tolist(), "position_std_m": std[3:].tolist()}
        answer["residuals_px"] = found.residuals_px.tolist()
    return answer


def _input_file(request: Mapping[str, Any], frame: Frame, folder: Path) -> Path:
    """Return the file of the base among uploads, or one written from the clicks. Raises RequestError."""
    clicks = request.get("clicks")
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".json", ".xml", ".mjcf", ".urdf"))
    if not isinstance(clicks, list) or len(clicks) > 100 or not all(isinstance(one, dict) for one in clicks):
        raise RequestError("These clicks are no list of clicks; reload the page.")
    if len(files) != 1 and (clicks or not any(path.suffix == ".json" for path in files)):
        raise RequestError(
            "Choose one file: the base's pose or hand-eye calibration, or the model of the robot clicked."
        )
    if not clicks:
        return next(path for path in files if path.suffix.lower() == ".json")
    rows = [_row(one, frame) for one in clicks]
    tool = {"tool": str(request["tool"])} if request.get("tool") else {}
    written = folder / "clicks of the page.json"
    written.write_text(json.dumps({"model": str(files[0].relative_to(folder)), "clicks": rows, **tool}), "utf-8")
    return written


def _row(click: Mapping[str, Any], frame: Frame) -> dict[str, Any]:
    """Return a click as read_robot_base reads it; in the project's own photograph with the depth that it has there."""
    pixel, q = read_numbers(click.get("pixel"), 2), click.get("q")
    if not isinstance(q, dict) or not q or not all(isinstance(value, int | float) for value in q.values()):
        raise RequestError(
            "Give the joint angles of each photograph that was clicked, such as: shoulder=0.4 elbow=-1.2"
        )
    row: dict[str, Any] = {"pixel": pixel.tolist(), "q": q}
    if click.get("photo") == 0:
        u, v = np.rint(pixel).astype(int).tolist()
        around = frame.depth[max(v - DEPTH_REACH_PX, 0) : v + DEPTH_REACH_PX + 1]
        around = around[:, max(u - DEPTH_REACH_PX, 0) : u + DEPTH_REACH_PX + 1]
        if (around > 0).any():
            row["depth"] = float(np.median(around[around > 0]))
    return row


def _stop(session: Session, _: dict) -> dict[str, Any]:
    """Stop the alignment that is being computed, if any."""
    session.cache.get(STOP, "scene.json", threading.Event).set()
    return {}
