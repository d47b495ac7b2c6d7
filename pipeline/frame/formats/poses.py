"""Camera poses of recordings, kept only where their world stands upright as ours does."""

import numpy as np
from scipy.spatial.transform import Rotation

LEANING = "The recording's camera pose was left aside: its world is not one with z up and the camera above the table."


def upright(world_from_camera: np.ndarray) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """The pose (4, 4) if z is up in its world and the camera looks down, and what is to be said; else None.

    Datasets call anything the world, the first camera's axes for one; a table found with such a pose would be a wall.
    """
    turn = world_from_camera[:3, :3]
    rigid = np.abs(turn).max() < 2 and np.allclose(turn @ turn.T, np.eye(3), atol=1e-2) and np.linalg.det(turn) > 0
    looks_down, top_is_up = turn[2, 2] < 0, turn[2, 1] < 0.1
    if not (rigid and np.isfinite(world_from_camera).all() and looks_down and top_is_up):
        return None, (LEANING,)
    pose = world_from_camera.astype(float)
    pose[:3, :3] = Rotation.from_matrix(turn).as_matrix()
    return pose, ()


def inverted(pose: np.ndarray) -> np.ndarray:
    """a_from_b as b_from_a, both (4, 4) and rigid."""
    back = np.eye(4)
    back[:3, :3], back[:3, 3] = pose[:3, :3].T, -pose[:3, :3].T @ pose[:3, 3]
    return back
