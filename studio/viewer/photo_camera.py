"""The photograph's camera for the viewer. Camera axes are OpenGL's: x right, y up, looking along -z."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import mujoco
import numpy as np

from pipeline.frame.frame import Intrinsics
from pipeline.geometry import Pose

_OPENGL_FROM_OPENCV = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class PhotoCamera:
    """A pinhole camera, given by the edges of its picture at unit distance, which makes any principal point exact."""

    width: int
    height: int
    left: float
    right: float
    bottom: float
    top: float
    pos: tuple[float, ...]
    """World position in metres."""
    quat_wxyz: tuple[float, ...]
    """Rotation of world_from_camera, OpenGL axes."""

    @staticmethod
    def from_intrinsics(intrinsics: Intrinsics, world_from_camera: np.ndarray) -> "PhotoCamera":
        """Return the camera of a calibration; world_from_camera (4, 4) has OpenCV axes, pixel centres are integers."""
        k = intrinsics
        pose = Pose.from_rotation(world_from_camera[:3, 3], world_from_camera[:3, :3] @ _OPENGL_FROM_OPENCV)
        return PhotoCamera(
            *(k.width, k.height),
            *((-0.5 - k.cx) / k.fx, (k.width - 0.5 - k.cx) / k.fx),
            *(-(k.height - 0.5 - k.cy) / k.fy, (k.cy + 0.5) / k.fy),
            *(tuple(pose.pos.tolist()), tuple(pose.quat_wxyz.tolist())),
        )

    @staticmethod
    def from_model(model: mujoco.MjModel, name: str = "photo") -> "PhotoCamera | None":
        """Return the model's camera of that name, exactly as MuJoCo renders it, or None if there is none."""
        index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, name)
        if index < 0:
            return None
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        scene, view = mujoco.MjvScene(model, maxgeom=1), mujoco.MjvCamera()
        view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, index
        mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), mujoco.MjvPerturb(), view, 0, scene)
        rendered = scene.camera[0]
        width, height = (int(n) for n in model.cam_resolution[index])
        if width < 2:  # no resolution given: MuJoCo's default of 1 x 1
            width, height = 640, 480
        near, half = rendered.frustum_near, rendered.frustum_width
        half = half or (rendered.frustum_top - rendered.frustum_bottom) / 2 * width / height
        pose = Pose.from_rotation(data.cam_xpos[index], data.cam_xmat[index].reshape(3, 3))
        return PhotoCamera(
            *(width, height),
            *((rendered.frustum_center - half) / near, (rendered.frustum_center + half) / near),
            *(rendered.frustum_bottom / near, rendered.frustum_top / near),
            *(tuple(pose.pos.tolist()), tuple(pose.quat_wxyz.tolist())),
        )

    def project(self, points: np.ndarray) -> np.ndarray:
        """Return the pixels (..., 2), from the picture's top left corner, of world points (..., 3)."""
        local = (points - np.array(self.pos)) @ Pose(np.array(self.pos), np.array(self.quat_wxyz)).rotation
        x, y = local[..., 0] / -local[..., 2], local[..., 1] / -local[..., 2]
        return np.stack(
            [
                (x - self.left) / (self.right - self.left) * self.width,
                (self.top - y) / (self.top - self.bottom) * self.height,
            ],
            -1,
        )

    def to_json(self) -> dict:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Photograph:
    """The photograph that a view can show behind its model."""

    image: Path | np.ndarray
    """A file, or an array (H, W, 3), uint8, RGB."""
    camera: PhotoCamera | None = None
    """None for the model's camera "photo"."""
    depth_difference: Callable[[], np.ndarray] | None = None
    """Returns the metres by which the twin is behind the measured depth, of shape (h, w), NaN if unknown."""
    filled: float | None = None
    """Share of the background around the table that was filled in; None if unknown."""
    splats: Sequence[tuple[str, Callable[[], bytes]]] = ()
    """Name of a body, "world" for the background, and what returns its Gaussian splats, 32 bytes each."""
