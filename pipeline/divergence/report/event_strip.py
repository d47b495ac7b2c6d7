"""Pictures of both episodes at each event (Figures 5 and 6 of the Real2Sim paper): frames of a video, else renders."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import mujoco
import numpy as np

from pipeline.divergence.confined.confined_comparison import Playback
from pipeline.divergence.report.drawn_robot import drawn_model, drawn_positions
from pipeline.divergence.report.video import MAX_FRAMES, SIZE_PX
from pipeline.scene.rendering import open_renderer, run_in_render_thread

CLOCKS = {"real": "real_s", "sim": "sim_on_real_s"}
"""Fields of an event that hold its time on REAL's clock."""


@dataclass(frozen=True)
class EventPicture:
    """One event in both episodes."""

    real: bytes | None = None
    """JPEG; None where the event or a picture is missing."""
    sim: bytes | None = None

    def to_json(self) -> dict[str, str | None]:
        """Return the pictures as data URLs."""
        pictures = {"real": self.real, "sim": self.sim}
        return {
            side: None if one is None else f"data:image/jpeg;base64,{base64.b64encode(one).decode()}"
            for side, one in pictures.items()
        }


def event_pictures(
    events: Sequence[dict[str, Any]], playback: Playback | None, frames: Mapping[str, Sequence[bytes | None]]
) -> Iterator[EventPicture]:
    """Yield the pictures of each event in order: the video's frame where there is one, else a render of the robot.

    Args:
        events: of comparison.json.
        playback: both robots; None if they cannot be drawn.
        frames: {"real", "sim"}: the video's frame of each event, empty without a video.
    """
    views = {side: _View(playback, side) for side in CLOCKS} if playback else {}
    try:
        for number, event in enumerate(events[:MAX_FRAMES]):
            pictures = {}
            for side, clock in CLOCKS.items():
                frame = frames[side][number] if number < len(frames.get(side, ())) else None
                if frame is None and event[clock] is not None and side in views:
                    frame = views[side].at(event[clock])
                pictures[side] = frame
            yield EventPicture(**pictures)
    finally:
        for view in views.values():
            view.close()


class _View:
    """One robot of a playback, seen from one side."""

    def __init__(self, playback: Playback, side: str):
        poses = getattr(playback, side)
        self.times, self.model = playback.times, drawn_model(playback)
        self.positions = drawn_positions(playback, poses)
        self.camera, self._renderer = _camera(playback), None

    def at(self, time: float) -> bytes:
        """Return the robot at a time on REAL's clock as JPEG. Raises SceneError without OpenGL."""
        row = int(np.abs(self.times - time).argmin())
        return _jpeg(run_in_render_thread(self._render, self.positions[row]))

    def close(self) -> None:
        if self._renderer is not None:
            run_in_render_thread(self._renderer.close)

    def _render(self, qpos: np.ndarray) -> np.ndarray:
        data = mujoco.MjData(self.model)
        data.qpos[:] = qpos
        mujoco.mj_forward(self.model, data)
        self._renderer = self._renderer or open_renderer(self.model, SIZE_PX)
        self._renderer.update_scene(data, self.camera)
        return self._renderer.render()


def _camera(playback: Playback) -> mujoco.MjvCamera:
    """Return a camera that sees everything that moves in either episode."""
    shown = sorted({shape.body for shape in playback.shapes if shape.kind != "plane"} - {0})
    places = np.concatenate([playback.real[:, shown, :3], playback.sim[:, shown, :3]]).reshape(-1, 3)
    places = places if len(places) else np.zeros((1, 3))
    low, high = np.quantile(places, (0.002, 0.998), axis=0)  # an object that falls off the table does not count
    camera = mujoco.MjvCamera()
    camera.lookat[:] = (low + high) / 2
    camera.distance = 0.8 * float(np.linalg.norm(high - low)) + 0.3
    camera.azimuth, camera.elevation = 130.0, -25.0
    return camera


def _jpeg(rgb: np.ndarray) -> bytes:
    return cv2.imencode(".jpg", cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 85])[1].tobytes()
