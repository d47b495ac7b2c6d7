"""The photograph's own camera, as the viewer needs it. Camera axes are OpenGL's: x right, y up, looking along -z."""

from dataclasses import asdict, dataclass

import mujoco
import numpy as np

from pipeline.frame.frame import Intrinsics
from pipeline.geometry import Pose

_OPENGL_FROM_OPENCV = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class PhotoCamera:
    """A pinhole camera by the edges of its picture at unit distance, so that any principal point is exact."""

    width: int
    height: int
    left: float
    right: float
    bottom: float
    top: float
    pos: tuple[float, ...]
    """World position in metres."""
    quat_wxyz: tuple[float, ...]
    """world_from_camera's rotation, OpenGL axes."""

    @staticmethod
    def calibrated(intrinsics: Intrinsics, world_from_camera: np.ndarray) -> "PhotoCamera":
        """Of a calibration, world_from_camera of shape (4, 4) with OpenCV axes; pixel centres are whole numbers."""
        k = intrinsics
        pose = Pose.from_rotation(world_from_camera[:3, 3], world_from_camera[:3, :3] @ _OPENGL_FROM_OPENCV)
        return PhotoCamera(
            *(k.width, k.height),
            *((-0.5 - k.cx) / k.fx, (k.width - 0.5 - k.cx) / k.fx),
            *(-(k.height - 0.5 - k.cy) / k.fy, (k.cy + 0.5) / k.fy),
            *(tuple(pose.pos.tolist()), tuple(pose.quat_wxyz.tolist())),
        )

    @staticmethod
    def of_model(model: mujoco.MjModel, name: str = "photo") -> "PhotoCamera | None":
        """The model's camera of that name, exactly as MuJoCo would draw it, or None where there is none."""
        index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, name)
        if index < 0:
            return None
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        scene, view = mujoco.MjvScene(model, maxgeom=1), mujoco.MjvCamera()
        view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, index
        mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), mujoco.MjvPerturb(), view, 0, scene)
        drawn = scene.camera[0]
        width, height = (int(n) for n in model.cam_resolution[index])
        if width < 2:  # no resolution given: MuJoCo's default of 1 x 1
            width, height = 640, 480
        near, half = drawn.frustum_near, drawn.frustum_width
        half = half or (drawn.frustum_top - drawn.frustum_bottom) / 2 * width / height
        pose = Pose.from_rotation(data.cam_xpos[index], data.cam_xmat[index].reshape(3, 3))
        return PhotoCamera(
            *(width, height),
            *((drawn.frustum_center - half) / near, (drawn.frustum_center + half) / near),
            *(drawn.frustum_bottom / near, drawn.frustum_top / near),
            *(tuple(pose.pos.tolist()), tuple(pose.quat_wxyz.tolist())),
        )

    def project(self, points: np.ndarray) -> np.ndarray:
        """World points of shape (..., 3) to pixels from the picture's top left corner, of shape (..., 2)."""
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
