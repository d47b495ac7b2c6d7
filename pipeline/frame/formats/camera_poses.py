"""Use camera poses of recordings only if z is up in their world, as in ours."""

import numpy as np
from scipy.spatial.transform import Rotation

REJECTED_POSE_NOTE = (
    "The recording's camera pose was left aside: its world is not one with z up and the camera above the table."
)


def upright_pose(world_from_camera: np.ndarray) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Return the pose (4, 4) if z is up in its world and the camera looks down, else None and a note.

    Many datasets use the axes of the first camera as the world; with such a pose a wall would be taken for the table.
    """
    rotation = world_from_camera[:3, :3]
    rigid = (
        np.abs(rotation).max() < 2
        and np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-2)
        and np.linalg.det(rotation) > 0
    )
    looks_down, top_is_up = rotation[2, 2] < 0, rotation[2, 1] < 0.1
    if not (rigid and np.isfinite(world_from_camera).all() and looks_down and top_is_up):
        return None, (REJECTED_POSE_NOTE,)
    pose = world_from_camera.astype(float)
    pose[:3, :3] = Rotation.from_matrix(rotation).as_matrix()
    return pose, ()


def invert_pose(pose: np.ndarray) -> np.ndarray:
    """Return b_from_a of a rigid a_from_b, both of shape (4, 4)."""
    inverse = np.eye(4)
    inverse[:3, :3], inverse[:3, 3] = pose[:3, :3].T, -pose[:3, :3].T @ pose[:3, 3]
    return inverse
