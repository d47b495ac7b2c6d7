"""The film of a track: the recording beside its twin."""

from collections.abc import Callable, Iterator
from pathlib import Path

import mujoco
import numpy as np
from PIL import Image, ImageDraw

from pipeline.frame import Frame
from pipeline.motion_pictures import font, write_pictures
from pipeline.scene.mjcf import builder
from pipeline.scene.rendering import open_renderer, run_in_render_thread
from pipeline.store import temporary_beside
from pipeline.tracking.motion import free_joint
from pipeline.tracking.track import STATES, Track

HALF_PX = 480
"""Width of the photograph, and of the twin beside it."""
LOST_RGBA = (0.85, 0.3, 0.25, 0.25)
"""A lost object is drawn where it was seen last, red and nearly transparent."""
EVENT_S = 1.0
"""Seconds for which an event's line is shown."""


def write_track_film(track: Track, project_dir: Path, frame: Callable[[int], Frame], path: Path) -> None:
    """Write an MP4 of a recording beside its twin, from the same camera, in real time.

    Args:
        frame: reads the frame of a number.

    Raises SceneError without OpenGL, OSError or RuntimeError without an encoder.
    """
    rate = (len(track.times) - 1) / float(track.times[-1] - track.times[0])
    with temporary_beside(path, ".mp4") as partial:
        write_pictures(partial, _pictures(track, project_dir, frame), fps=max(1.0, min(rate, 60.0)))
        partial.replace(path)


def _pictures(track: Track, project_dir: Path, frame: Callable[[int], Frame]) -> Iterator[np.ndarray]:
    model = builder.compile_spec(builder.load_spec(project_dir / "scene"))
    data = mujoco.MjData(model)
    renderer, looks = None, (model.geom_rgba.copy(), model.mat_rgba.copy())
    try:
        for i in range(len(track.times)):
            model.geom_rgba[:], model.mat_rgba[:] = looks
            rgb = frame(i).rgb
            height = round(HALF_PX * rgb.shape[0] / rgb.shape[1] / 2) * 2
            if renderer is None:
                renderer = run_in_render_thread(open_renderer, model, (HALF_PX, height))
            pose_twin(model, data, track, i)
            twin = run_in_render_thread(_drawn, renderer, data)
            photo = Image.fromarray(rgb).resize((HALF_PX, height), Image.Resampling.BOX)
            yield _side_by_side(track, i, photo, twin)
    finally:
        if renderer is not None:
            run_in_render_thread(renderer.close)


def pose_twin(model: mujoco.MjModel, data: mujoco.MjData, track: Track, frame: int) -> None:
    """Bring a twin's model to the poses of a frame, lost objects nearly transparent."""
    for number, name in enumerate(track.names):
        body = model.body(name).id
        row = track.poses[frame, number]
        if (first := free_joint(model, name)) is not None:
            data.qpos[first : first + 7] = row
        else:
            model.body_pos[body], model.body_quat[body] = row[:3], row[3:]
        if track.state(frame, number) == "lost":
            geoms = np.flatnonzero(model.body_rootid[model.geom_bodyid] == body)
            model.geom_rgba[geoms] = LOST_RGBA
            model.mat_rgba[np.unique(model.geom_matid[geoms][model.geom_matid[geoms] >= 0])] = LOST_RGBA
    mujoco.mj_forward(model, data)


def _drawn(renderer: mujoco.Renderer, data: mujoco.MjData) -> np.ndarray:
    renderer.update_scene(data, "photo")
    return renderer.render().copy()


def _side_by_side(track: Track, frame: int, photo: Image.Image, twin: np.ndarray) -> np.ndarray:
    canvas = Image.new("RGB", (2 * HALF_PX, photo.height + 44), (24, 26, 30))
    canvas.paste(photo, (0, 0))
    canvas.paste(Image.fromarray(twin), (HALF_PX, 0))
    draw, now = ImageDraw.Draw(canvas), float(track.times[frame])
    shown = [e for e in track.events if e.kind not in ("lost", "found") and 0 <= now - e.time < EVENT_S]
    texts = [f"{e.kind} {e.object}{' on ' + e.on if e.on and e.kind != 'picked' else ''}" for e in shown]
    draw.text((8, photo.height + 4), f"{now:5.2f} s   {'; '.join(texts)}", (240, 242, 246), font(14))
    lost = [(n, track.lost_since(frame, k)) for k, n in enumerate(track.names)]
    marks = [f"{name} lost since {since:.1f} s" for name, since in lost if since is not None]
    hidden = [n for k, n in enumerate(track.names) if track.states[frame, k] == STATES.index("occluded")]
    marks += [f"{name} hidden" for name in hidden]
    draw.text((8, photo.height + 24), "; ".join(marks), (255, 170, 150), font(13))
    return np.asarray(canvas)
