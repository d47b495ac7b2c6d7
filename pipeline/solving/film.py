"""Render a rollout as a video from the photograph's camera, or from beside it."""

from collections.abc import Generator
from pathlib import Path

import imageio.v2 as imageio
import mujoco
import numpy as np

from pipeline.scene.mjcf.background import load_model
from pipeline.scene.rendering import film_camera, open_renderer, run_in_render_thread
from pipeline.store import temporary_beside

FPS = 15
WIDTH_PX = 480
MAX_FRAMES = 110
"""Renders in a few seconds without a GPU; longer rollouts play faster."""


def write_film(
    times: np.ndarray, qpos: np.ndarray, model: Path | mujoco.MjModel, path: Path, camera: str = ""
) -> Generator[float, None, float]:
    """Render a rollout, times (T,) and qpos (T, nq), to a video file; yield the fraction done.

    Returns the playback speed relative to real time. Raises SceneError if rendering is not possible, or for an unknown
    camera; `film_camera` chooses if it is empty.
    """
    count = int(np.clip(round(times[-1] * FPS), 2, MAX_FRAMES))
    chosen = np.searchsorted(times, np.linspace(0, times[-1], count)).clip(0, len(times) - 1)
    with temporary_beside(path, path.suffix) as partial:
        drawn = _render(model, qpos[chosen], partial, camera)
        try:
            while (number := run_in_render_thread(next, drawn, None)) is not None:
                yield number / count
            partial.replace(path)
        finally:
            run_in_render_thread(drawn.close)
    return max(1.0, float(times[-1]) * FPS / count)


def _render(model: Path | mujoco.MjModel, qpos: np.ndarray, path: Path, name: str) -> Generator[int, None, None]:
    """Yield the number of each rendered frame; every step runs in the rendering thread."""
    model = load_model(model) if isinstance(model, Path) else model
    camera = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, name or "photo")
    columns, rows = model.cam_resolution[camera] if camera >= 0 else (4, 3)
    height = int(WIDTH_PX * (rows / columns if columns > 1 else 0.75)) // 2 * 2
    data, view = mujoco.MjData(model), film_camera(model, name)
    renderer = open_renderer(model, (WIDTH_PX, height))
    with renderer, imageio.get_writer(str(path), format="FFMPEG", fps=FPS, macro_block_size=2) as video:  # type: ignore[arg-type]
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
        for number, pose in enumerate(qpos, 1):
            data.qpos[:] = pose
            mujoco.mj_kinematics(model, data)
            mujoco.mj_camlight(model, data)
            renderer.update_scene(data, view)
            video.append_data(renderer.render())
            yield number
