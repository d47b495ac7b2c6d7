"""One object of the twin tried elsewhere: how it would agree with the photograph, in a few milliseconds.

Only that object is moved, and only the pixels around it are looked at. It grows without being compiled anew: a thing
that is s times as large looks like itself from an s-th of the distance.
"""

import threading

import mujoco
import numpy as np

from pipeline.frame import Frame
from pipeline.geometry import Pose, transform
from pipeline.scene import mjcf
from pipeline.scene.fidelity import Likeness, likeness, meet, rays
from pipeline.scene.placement import Found, Placement, Scene, SceneError
from pipeline.segmentation import Segment

RAYS = 3000
"""Over an object's own outline; around it, where it is tried elsewhere, at most thrice as many."""
TRIED = 4
"""The group its looks are put into, and nothing else."""


class Trial:
    """A compiled twin whose objects are tried one at a time, from any thread."""

    def __init__(self, frame: Frame, scene: Scene):
        """Raises SceneError where MuJoCo refuses the scene."""
        self.frame, self.scene = frame, scene
        self.model = mjcf.compile_spec(mjcf.build(scene))
        self.data = mujoco.MjData(self.model)
        self._groups = self.model.geom_group.copy()
        self._lock = threading.RLock()
        self._inverse = np.linalg.inv(np.asarray(scene.world_from_camera, float))
        self._machines: dict[int, Likeness] = {}

    def placed(self, segment_id: int) -> Placement:
        """Raises SceneError."""
        for one in self.scene.placements:
            if one.segment_id == segment_id:
                return one
        raise SceneError("That object does not stand in the twin; match it to an asset first.")

    def like(self, segment: Segment, pose: Pose, scale: float) -> Likeness:
        """How the object of that segment would agree at world_from_object `pose`, `scale` times its asset's size."""
        with self._lock:
            return self._like(segment, self.placed(segment.id), pose, scale)

    def _like(self, segment: Segment, one: Placement, pose: Pose, scale: float) -> Likeness:
        grown = scale / one.scale
        self._stand(one, pose)
        u, v = self._window(segment.mask, one, pose, grown)
        aimed = rays(self.frame.intrinsics, u, v)
        hit, depth = meet(self.model, self.data, aimed, self._nearer(pose, grown), (TRIED,))
        depth = depth * grown
        seen = hit >= 0
        rest, before = meet(self.model, self.data, aimed[seen], self.scene.world_from_camera, (0, 1, 2))
        seen[seen] = (rest < 0) | (before >= depth[seen])
        mask, measured = segment.mask[v, u], self.frame.depth[v, u]
        return likeness(one.name, segment.id, mask, seen, measured, depth)

    def machines(self, segment: Segment) -> Likeness:
        """How the object agreed where the machine had it."""
        if segment.id not in self._machines:
            one = self.placed(segment.id)
            had = one.found or Found(one.world_from_object, one.scale)
            self._machines[segment.id] = self.like(segment, had.world_from_object, had.scale)
        return self._machines[segment.id]

    def _stand(self, one: Placement, pose: Pose) -> None:
        """Puts the object there, its looks into a group of their own, everything else where it stands."""
        body = self.model.body(one.name).id
        self.model.geom_group[:] = self._groups
        own = (self.model.body_rootid[self.model.geom_bodyid] == body) & (self._groups < 3)
        self.model.geom_group[own] = TRIED
        self.data.qpos[:] = self.model.qpos0
        if one.fixed:
            self.model.body_pos[body], self.model.body_quat[body] = pose.pos, pose.quat_wxyz
        else:
            start = self.model.jnt_qposadr[self.model.body_jntadr[body]]
            self.data.qpos[start : start + 7] = [*pose.pos, *pose.quat_wxyz]
        mujoco.mj_kinematics(self.model, self.data)

    def _nearer(self, pose: Pose, grown: float) -> np.ndarray:
        """The camera from where the object in its present size looks like the grown one, of shape (4, 4)."""
        camera = np.array(self.scene.world_from_camera, float)
        camera[:3, 3] = pose.pos + (camera[:3, 3] - pose.pos) / grown
        return camera

    def _window(self, mask: np.ndarray, one: Placement, pose: Pose, grown: float) -> tuple[np.ndarray, np.ndarray]:
        """Columns and rows around both the mask and the object where it is tried."""
        rows, columns = np.nonzero(mask)
        k = self.frame.intrinsics
        corners = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T * one.size * grown / 2
        x, y, z = transform(self._inverse, transform(pose.matrix, corners)).T
        ahead = z > 0.01
        u, v = x[ahead] / z[ahead] * k.fx + k.cx, y[ahead] / z[ahead] * k.fy + k.cy
        left, right = _ends(columns, u, k.width)
        top, bottom = _ends(rows, v, k.height)
        step = max(1, int(np.sqrt(mask.sum() / RAYS)))
        step = max(step, int(np.sqrt((right - left) * (bottom - top) / (3 * RAYS))))
        return np.meshgrid(np.arange(left, right, step), np.arange(top, bottom, step))


def _ends(seen: np.ndarray, tried: np.ndarray, size: int) -> tuple[int, int]:
    """First and one past the last pixel along one axis of what was seen and what is tried."""
    both = np.concatenate([seen, tried.clip(0, size - 1)])
    return (int(both.min()), int(np.ceil(both.max())) + 1) if len(both) else (0, 1)
