"""Pictures of a model. OpenGL contexts belong to one thread, so all drawing happens in one thread kept for it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

import mujoco
import numpy as np

from pipeline.scene import mjcf
from pipeline.scene.placement import SceneError

P = ParamSpec("P")
R = TypeVar("R")
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="drawing")


@dataclass(frozen=True, eq=False)
class Picture:
    rgb: np.ndarray
    """Of shape (H, W, 3), uint8."""
    depth: np.ndarray
    """Distance along the camera's axis in metres, of shape (H, W), float32. Zero at the sky."""
    labels: np.ndarray
    """Of shape (H, W), int32: the id of the body seen, 0 for table, floor and sky."""


def drawing(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a function that uses OpenGL in the thread kept for it, and wait for its answer."""
    return _thread.submit(function, *args, **kwargs).result()


def render(folder: Path, size: tuple[int, int], camera: str = "photo") -> Picture:
    """The twin in `folder` through its camera, `size` (width, height) in pixels. Raises SceneError."""
    model = mjcf.compile_spec(mjcf.load_spec(folder))
    return draw(model, size, camera)


def draw(
    model: mujoco.MjModel, size: tuple[int, int], camera: str = "photo", qpos: np.ndarray | None = None
) -> Picture:
    """A model in its starting pose or another. Raises SceneError where there is no OpenGL to draw with."""
    return drawing(_draw, model, size, camera, qpos)


def _draw(model: mujoco.MjModel, size: tuple[int, int], camera: str, qpos: np.ndarray | None) -> Picture:
    data = mujoco.MjData(model)
    if qpos is not None:
        data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    width, height = size
    model.vis.global_.offwidth = max(model.vis.global_.offwidth, width)
    model.vis.global_.offheight = max(model.vis.global_.offheight, height)
    try:
        renderer = mujoco.Renderer(model, height, width)
    except Exception as error:  # every OpenGL platform has its own way to fail
        raise SceneError(f"nothing can be drawn here ({error}); install libegl1 and set MUJOCO_GL=egl") from error
    try:
        renderer.update_scene(data, camera)
        rgb = renderer.render()
        renderer.enable_depth_rendering()
        depth = renderer.render()
        renderer.disable_depth_rendering()
        renderer.enable_segmentation_rendering()
        geoms = renderer.render()[..., 0]
    finally:
        renderer.close()
    labels = np.where(geoms >= 0, model.body_rootid[model.geom_bodyid[geoms]], 0).astype(np.int32)
    return Picture(rgb, np.where(geoms >= 0, depth, 0).astype(np.float32), labels)
