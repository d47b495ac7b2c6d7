"""Render images of a model. An OpenGL context belongs to one thread, so all rendering happens in a single one."""

import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import mujoco
import numpy as np
from mujoco.rendering.classic import gl_context

from pipeline.scene.mjcf import builder
from pipeline.scene.mjcf.background import add_background, compile_with_background
from pipeline.scene.placement import SceneError

P = ParamSpec("P")
R = TypeVar("R")
STEEP_COSINE = float(np.cos(np.radians(25)))
"""Of the angle between a camera's axis and the vertical, above which a robot hides what it does."""
_render_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rendering")
_kept = threading.local()


@dataclass(frozen=True, eq=False)
class RenderedImage:
    """A model through one camera."""

    rgb: np.ndarray
    """Of shape (H, W, 3), uint8."""
    depth: np.ndarray
    """Distance along the camera's axis in metres, of shape (H, W), float32. Zero for the sky."""
    labels: np.ndarray
    """Id of the visible root body, of shape (H, W), int32. Zero for table, floor and sky."""


def run_in_render_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a function that uses OpenGL in the render thread, and wait for its result."""
    return _render_thread.submit(function, *args, **kwargs).result()


def open_renderer(model: mujoco.MjModel, size: tuple[int, int]) -> mujoco.Renderer:
    """Return a renderer of images of (width, height) pixels, whatever the model's own offscreen buffer. Call it in the
    render thread. Raises SceneError if OpenGL is not available."""
    width, height = size
    model.vis.global_.offwidth = max(model.vis.global_.offwidth, width)
    model.vis.global_.offheight = max(model.vis.global_.offheight, height)
    try:
        new = gl_context.GLContext  # not there where MUJOCO_GL=disable
        gl_context.GLContext = functools.partial(_kept_context, new)
        try:
            return mujoco.Renderer(model, height, width)
        finally:
            gl_context.GLContext = new
    except Exception as error:  # every OpenGL platform has its own way to fail
        raise SceneError(
            f"OpenGL rendering is not available ({error}); install libegl1 and set MUJOCO_GL=egl"
        ) from error


def _kept_context(new: Callable[[int, int], Any], width: int, height: int) -> Any:
    """Return an OpenGL context of this thread that no renderer uses; its next one gets it from the former one.

    A new context compiles its shaders anew, a third of a second where a processor draws.
    """
    free: list[Any] = _kept.__dict__.setdefault("free", [])
    if free:
        return free.pop()
    context = new(width, height)
    context.free = lambda: free.append(context)
    return context


def film_camera(model: mujoco.MjModel, name: str = "") -> "mujoco.MjvCamera | int":
    """Return the camera of a film: that of a name, or the photograph's, or one beside it where that looks down steeply.

    From above, the robot would stand between the camera and what it does. Raises SceneError for an unknown name.
    """
    if name:
        names = [model.camera(number).name for number in range(model.ncam)]
        if name not in names:
            raise SceneError(f"there is no camera {name}; there are: {', '.join(names) or 'none'}")
        return names.index(name)
    photo = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, "photo")
    if photo < 0:
        return -1
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    axes, pos = data.cam_xmat[photo].reshape(3, 3), data.cam_xpos[photo]
    share = show_added_containers(model)
    if axes[2, 2] < STEEP_COSINE:  # the camera looks along its -z
        return photo
    free = model.jnt_bodyid[model.jnt_type == mujoco.mjtJoint.mjJNT_FREE]
    camera = mujoco.MjvCamera()
    camera.lookat[:] = data.xpos[free].mean(0) if len(free) else pos - pos[2] / axes[2, 2] * axes[:, 2]
    camera.distance = float(np.linalg.norm(pos - camera.lookat))
    if share > 1:
        shown = np.concatenate([data.xpos[free], _added_containers(model, data)])
        camera.lookat[:] = (shown.min(0) + shown.max(0)) / 2
        camera.distance *= share
    camera.azimuth = float(np.degrees(np.arctan2(axes[1, 1], axes[0, 1])))  # the picture's top stays its far side
    # Elevation from which a film looks down instead
    camera.elevation = -45.0
    return camera


def show_added_containers(model: mujoco.MjModel) -> float:
    """Widen the photograph's camera until it shows the containers that a program added, and draw a bin's walls then.

    Changes the model in place. Returns by how much: 1 for a model whose containers are in view, or without any.
    """
    photo = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, "photo")
    if photo < 0 or not model.cam_sensorsize[photo].all():
        return 1.0
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    corners = _added_containers(model, data)
    local = (corners - data.cam_xpos[photo]) @ data.cam_xmat[photo].reshape(3, 3)
    ahead = np.abs(local[local[:, 2] < 0])
    edge = model.cam_sensorsize[photo] / 2 / model.cam_intrinsic[photo, :2]
    reach = float((ahead[:, :2] / ahead[:, 2:] / edge).max(initial=0.0))
    # 1.15: a little room beside them; 5: no wider, or the objects are specks
    share = min(1.15 * reach, 5.0) if reach > 1 else 1.0
    model.cam_intrinsic[photo, :2] /= share
    if len(corners):
        model.geom_group[model.geom_group == builder.WALL_GROUP] = 0
    return share


def _added_containers(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Return the corners of the floors of all containers that a program added, world, of shape (N, 3), in metres."""
    named = [number for number in range(model.ngeom) if model.geom(number).name.endswith("/floor")]
    # 0.002: half the thickness of an added container's floor; a part of a photographed object may be called so, too
    is_added = np.isclose(model.geom_size[named, 2], 0.002) & (model.body_dofnum[model.geom_bodyid[named]] == 0)
    floors = np.array(named, int)[is_added]
    corners = np.array([(x, y, 0) for x in (-1, 1) for y in (-1, 1)]) * model.geom_size[floors][:, None]
    rotations = data.geom_xmat[floors].reshape(-1, 3, 3)
    return (corners @ rotations.transpose(0, 2, 1) + data.geom_xpos[floors][:, None]).reshape(-1, 3)


def render_twin(folder: Path, size: tuple[int, int], camera: str = "photo") -> RenderedImage:
    """Render the twin in `folder` from one of its cameras; `size` is (width, height) in pixels. Raises SceneError."""
    spec = builder.load_spec(folder)
    model = compile_with_background(spec) if add_background(spec, folder) else builder.compile_spec(spec)
    return render_model(model, size, camera)


def render_model(
    model: mujoco.MjModel, size: tuple[int, int], camera: str = "photo", qpos: np.ndarray | None = None
) -> RenderedImage:
    """Render a model at `qpos`, None for its initial state. Raises SceneError if OpenGL is not available."""
    return run_in_render_thread(_render, model, size, camera, qpos)


def _render(model: mujoco.MjModel, size: tuple[int, int], camera: str, qpos: np.ndarray | None) -> RenderedImage:
    data = mujoco.MjData(model)
    if qpos is not None:
        data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    renderer = open_renderer(model, size)
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
    return RenderedImage(rgb, np.where(geoms >= 0, depth, 0).astype(np.float32), labels)
