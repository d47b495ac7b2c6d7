"""Preview one asset alone, and one object of the twin at another pose, within milliseconds.

Only that object is moved, and only the pixels around it are compared. It is rescaled without compiling again: an object
that is s times as large looks like itself from an s-th of the distance.
"""

import threading

import mujoco
import numpy as np

from pipeline.assets.asset import Asset
from pipeline.frame import Frame
from pipeline.geometry import Pose, bounding_box, box_corners, transform
from pipeline.scene.fidelity import ObjectFidelity, cast_camera_rays, object_fidelity
from pipeline.scene.mjcf import builder
from pipeline.scene.mjcf.articulated_body import MassProperties, composite_inertia
from pipeline.scene.placement import MachinePose, Placement, Scene, SceneError
from pipeline.segmentation import Segment

MAX_RAYS = 3000
"""Rays over an object's mask. Around it, where the object is previewed elsewhere, at most three times as many."""
PREVIEW_GROUP = 4
"""Geom group into which the visual geoms of the previewed object are put, and no others."""

TABLE_RGB = (206, 203, 198)
BODY_NAME = "asset"
"""Name of the asset's body."""


class PosePreview:
    """A compiled twin whose objects are previewed one at a time. Can be used from any thread."""

    def __init__(self, frame: Frame, scene: Scene):
        """Compile the scene. Raises SceneError."""
        self.frame, self.scene = frame, scene
        self.model = builder.compile_spec(builder.build_spec(scene))
        self.data = mujoco.MjData(self.model)
        self._groups = self.model.geom_group.copy()
        self._lock = threading.RLock()
        self._camera_from_world = np.linalg.inv(np.asarray(scene.world_from_camera, float))
        self._machine_fidelities: dict[int, ObjectFidelity] = {}

    def placement_of(self, segment_id: int) -> Placement:
        """Return the placement of a segment. Raises SceneError if the twin has none."""
        for p in self.scene.placements:
            if p.segment_id == segment_id:
                return p
        raise SceneError("That object is not in the twin; match it to an asset first.")

    def fidelity_at(self, segment: Segment, pose: Pose, scale: float) -> ObjectFidelity:
        """Return how a segment's object would agree at world_from_object `pose`, at `scale` times its asset's size."""
        with self._lock:
            return self._fidelity_at(segment, self.placement_of(segment.id), pose, scale)

    def _fidelity_at(self, segment: Segment, p: Placement, pose: Pose, scale: float) -> ObjectFidelity:
        growth = scale / p.scale
        self._move_object(p, pose)
        u, v = self._window(segment.mask, p, pose, growth)
        rays = self.frame.intrinsics.ray_directions(u, v)
        camera = self._camera_for_growth(pose, growth)
        geoms, depth = cast_camera_rays(self.model, self.data, rays, camera, (PREVIEW_GROUP,))
        depth = depth * growth
        visible = geoms >= 0
        others, other_depth = cast_camera_rays(
            self.model, self.data, rays[visible], self.scene.world_from_camera, (0, 1, 2)
        )
        visible[visible] = (others < 0) | (other_depth >= depth[visible])
        mask, measured = segment.mask[v, u], self.frame.depth[v, u]
        return object_fidelity(p.name, segment.id, mask, visible, measured, depth)

    def machine_fidelity(self, segment: Segment) -> ObjectFidelity:
        """Return how the object agreed at the pose that registration found."""
        if segment.id not in self._machine_fidelities:
            p = self.placement_of(segment.id)
            machine = p.machine_pose or MachinePose(p.world_from_object, p.scale)
            self._machine_fidelities[segment.id] = self.fidelity_at(segment, machine.world_from_object, machine.scale)
        return self._machine_fidelities[segment.id]

    def _move_object(self, p: Placement, pose: Pose) -> None:
        """Put the object at a pose with its visual geoms in PREVIEW_GROUP, and everything else at its own pose."""
        body = self.model.body(p.name).id
        self.model.geom_group[:] = self._groups
        own = (self.model.body_rootid[self.model.geom_bodyid] == body) & (self._groups < 3)
        self.model.geom_group[own] = PREVIEW_GROUP
        self.data.qpos[:] = self.model.qpos0
        if p.fixed:
            self.model.body_pos[body], self.model.body_quat[body] = pose.pos, pose.quat_wxyz
        else:
            start = self.model.jnt_qposadr[self.model.body_jntadr[body]]
            self.data.qpos[start : start + 7] = [*pose.pos, *pose.quat_wxyz]
        mujoco.mj_kinematics(self.model, self.data)

    def _camera_for_growth(self, pose: Pose, growth: float) -> np.ndarray:
        """Return the camera pose (4, 4) from which the object in its present size looks like the grown one."""
        camera = np.array(self.scene.world_from_camera, float)
        camera[:3, 3] = pose.pos + (camera[:3, 3] - pose.pos) / growth
        return camera

    def _window(self, mask: np.ndarray, p: Placement, pose: Pose, growth: float) -> tuple[np.ndarray, np.ndarray]:
        """Return columns and rows of the pixels around both the mask and the object at its new pose."""
        box, k = bounding_box(mask), self.frame.intrinsics
        corners = transform(pose.matrix, box_corners(p.size * growth))
        x, y, z = transform(self._camera_from_world, corners).T
        ahead = z > 0.01
        u, v = x[ahead] / z[ahead] * k.fx + k.cx, y[ahead] / z[ahead] * k.fy + k.cy
        left, right = _pixel_range([box.left, box.right - 1] if box.width else [], u, k.width)
        top, bottom = _pixel_range([box.top, box.bottom - 1] if box.width else [], v, k.height)
        step = max(1, int(np.sqrt(mask.sum() / MAX_RAYS)))
        step = max(step, int(np.sqrt((right - left) * (bottom - top) / (3 * MAX_RAYS))))
        return np.meshgrid(np.arange(left, right, step), np.arange(top, bottom, step))


def _pixel_range(mask_ends: list[int], projected: np.ndarray, size: int) -> tuple[int, int]:
    """Return the first and one past the last pixel along an axis that hold the mask and the projected corners."""
    values = np.concatenate([mask_ends, projected.clip(0, size - 1)])
    return (int(values.min()), int(np.ceil(values.max())) + 1) if len(values) else (0, 1)


def asset_model(asset: Asset) -> mujoco.MjModel:
    """Return a model with the asset as the body BODY_NAME on a table: free, or fixed if it has joints of its own.

    Raises SceneError if MuJoCo cannot compile it.
    """
    # 0.6: width of the table on each side of the asset, relative to the asset's longest side
    reach = (0.5 + 0.6) * float(max(asset.size))
    table = reach * np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
    return builder.compile_spec(builder.build_spec(Scene(np.eye(4), table, TABLE_RGB, (_placement(asset),))))


def mass_properties(model: mujoco.MjModel) -> MassProperties:
    """Return the mass properties of the asset in a model from `asset_model`, relative to the centre of its box."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    root = model.body(BODY_NAME).id
    total = composite_inertia(model, data, [b for b in range(model.nbody) if _is_below(model, b, root)])
    return MassProperties(total.mass, total.centre - data.xpos[root], total.inertia)


def _is_below(model: mujoco.MjModel, body: int, root: int) -> bool:
    """Whether a body is `root` or attached to it."""
    while body != root and body:
        body = int(model.body_parentid[body])
    return body == root


def _placement(asset: Asset) -> Placement:
    return Placement(
        name=BODY_NAME, segment_id=0, asset_id=asset.id, scale=1.0, size=np.asarray(asset.size, float),
        world_from_object=Pose.from_rotation(np.array([0, 0, asset.size[2] / 2]), np.eye(3)), mesh=asset.mesh,
        collision=asset.collision, mass=asset.mass, friction=asset.friction, container=asset.container,
        fixed=asset.model is not None, model=asset.model, joints=asset.joints,
    )  # fmt: skip
