"""Films: a rollout from the photograph's side, a model that turns, the font of their words, and their file."""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import imageio.v2 as imageio
import mujoco
import numpy as np
from PIL import ImageFont

from pipeline.scene.mjcf.background import load_model
from pipeline.scene.rendering import film_camera, open_renderer, run_in_render_thread
from pipeline.solving import save_model

FPS = 15
WIDTH_PX = 480
TURN_FRAMES = 60
View = Callable[[int], tuple[np.ndarray | None, "mujoco.MjvCamera | str | int"]]
"""Returns qpos (None for the initial state) and camera of a frame."""
FONTS = ("NotoSans-Regular.ttf", "DejaVuSans.ttf", "Arial Unicode.ttf", "arial.ttf")
"""Fonts with the letters of many languages, the first of which that is installed is used."""


def write_pictures(path: Path, pictures: Iterable[np.ndarray], fps: float = FPS) -> None:
    """Write pictures (H, W, 3), uint8, as an MP4. Raises ImportError, OSError or RuntimeError without an encoder."""
    settings = {"fps": fps, "macro_block_size": 2, "output_params": ["-movflags", "+faststart"]}
    with imageio.get_writer(str(path), format="FFMPEG", **settings) as video:  # type: ignore[arg-type]
        for picture in pictures:
            video.append_data(picture)


def film_height(width: int, height: int) -> int:
    """Return the even height in pixels of a film of WIDTH_PX with that aspect."""
    return int(WIDTH_PX * height / max(width, 1)) // 2 * 2


def play_rollout(xml: str, times: np.ndarray, qpos: np.ndarray, project_dir: Path) -> list[np.ndarray]:
    """Return the frames of a rollout, times (T,) and qpos (T, nq). Raises SceneError, SolvingError, ValueError."""
    path = save_model(xml, project_dir, f"film_{os.getpid()}")
    try:
        model = load_model(path)
    finally:
        path.unlink(missing_ok=True)
    # 75: largest frames of one rollout; longer ones play faster
    count = int(np.clip(round(float(times[-1]) * FPS), 2, 75))
    chosen = np.searchsorted(times, np.linspace(times[0], times[-1], count)).clip(0, len(times) - 1)
    camera = film_camera(model)
    return list(drawn(model, _film_size(model), count, lambda number: (qpos[chosen[number]], camera)))


def turn_model(model_xml: Path) -> list[np.ndarray]:
    """Return the frames of one turn around a model's free bodies. Raises SceneError, ValueError."""
    model = load_model(model_xml)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    free = model.jnt_bodyid[model.jnt_type == mujoco.mjtJoint.mjJNT_FREE]
    points = data.xpos[free] if len(free) else data.xpos
    camera = mujoco.MjvCamera()
    camera.lookat[:] = (points.min(0) + points.max(0)) / 2
    camera.distance = 1.4 * float(np.ptp(points[:, :2], axis=0).max(initial=0.2)) + 0.35
    camera.elevation = -32

    def view(number: int):
        camera.azimuth = 90 + 360 * number / TURN_FRAMES
        return None, camera

    return list(drawn(model, _film_size(model), TURN_FRAMES, view))


def drawn(model: mujoco.MjModel, size: tuple[int, int], count: int, view: View) -> Iterator[np.ndarray]:
    """Yield `count` frames of a size (width, height), of shape (H, W, 3), uint8. Raises SceneError."""
    frames = _frames(model, size, count, view)
    try:
        while (frame := run_in_render_thread(next, frames, None)) is not None:
            yield frame
    finally:
        run_in_render_thread(frames.close)  # type: ignore[attr-defined]


def _film_size(model: mujoco.MjModel) -> tuple[int, int]:
    """Return width and height of a film with the aspect of the photograph's camera."""
    photo = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, "photo")
    columns, rows = model.cam_resolution[photo] if photo >= 0 else (4, 3)
    return WIDTH_PX, film_height(columns, rows) if columns > 1 else film_height(4, 3)


def _frames(model: mujoco.MjModel, size: tuple[int, int], count: int, view: View) -> Iterator[np.ndarray]:
    """Yield the frames; every step runs in the rendering thread."""
    data = mujoco.MjData(model)
    with open_renderer(model, size) as renderer:
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
        for number in range(count):
            qpos, camera = view(number)
            if qpos is not None:
                data.qpos[:] = qpos
            mujoco.mj_kinematics(model, data)
            mujoco.mj_camlight(model, data)
            renderer.update_scene(data, camera)
            yield renderer.render()


@lru_cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return an installed font, else Pillow's own, which has the letters of Western Europe. `size` is in pixels."""
    for name in FONTS:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return ImageFont.load_default(size)
