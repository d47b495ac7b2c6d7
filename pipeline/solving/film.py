"""A rollout as a film, seen by the photograph's own camera."""

from collections.abc import Generator
from pathlib import Path

import imageio.v2 as imageio
import mujoco
import numpy as np

from pipeline.scene.placement import SceneError
from pipeline.scene.rendering import drawing

FPS = 15
WIDTH = 480
FRAMES = 110
"""At most, so that a film is drawn in a few seconds without a graphics card; longer rollouts play faster."""


def film(times: np.ndarray, qpos: np.ndarray, model_xml: Path, path: Path) -> Generator[float, None, float]:
    """Draws a rollout, times (T,) and qpos (T, nq), as the photograph's camera sees it; yields the share drawn.

    Returns how much faster than life it plays. Raises SceneError where nothing can be drawn.
    """
    count = int(np.clip(round(times[-1] * FPS), 2, FRAMES))
    chosen = np.searchsorted(times, np.linspace(0, times[-1], count)).clip(0, len(times) - 1)
    aside = path.with_name(f".{path.name}")
    drawn = _film(model_xml, qpos[chosen], aside)
    try:
        while (number := drawing(next, drawn, None)) is not None:
            yield number / count
        aside.replace(path)
    finally:
        drawing(drawn.close)
        aside.unlink(missing_ok=True)
    return max(1.0, float(times[-1]) * FPS / count)


def _film(model_xml: Path, qpos: np.ndarray, path: Path) -> Generator[int, None, None]:
    """Frame by frame; every step of it belongs in the thread that draws."""
    model = mujoco.MjModel.from_xml_path(str(model_xml))
    camera = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, "photo")
    wide, high = model.cam_resolution[camera] if camera >= 0 else (4, 3)
    height = int(WIDTH * (high / wide if wide > 1 else 0.75)) // 2 * 2
    try:
        renderer = mujoco.Renderer(model, height, WIDTH)
    except Exception as error:  # every OpenGL platform has its own way to fail
        raise SceneError(f"nothing can be drawn here ({error}); install libegl1 and set MUJOCO_GL=egl") from error
    data = mujoco.MjData(model)
    with renderer, imageio.get_writer(str(path), format="FFMPEG", fps=FPS, macro_block_size=2) as film:  # type: ignore[arg-type]
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
        for number, pose in enumerate(qpos, 1):
            data.qpos[:] = pose
            mujoco.mj_kinematics(model, data)
            mujoco.mj_camlight(model, data)
            renderer.update_scene(data, camera if camera >= 0 else -1)
            film.append_data(renderer.render())
            yield number
