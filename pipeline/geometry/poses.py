"""Rigid transforms. Lengths in metres, angles in radians, quaternions wxyz; a transform is named a_from_b."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.transform import Rotation


@dataclass(frozen=True, eq=False)
class Pose:
    """A rigid transform: a position and a unit quaternion."""

    pos: np.ndarray
    """Of shape (3,), float64, in metres."""
    quat_wxyz: np.ndarray
    """Of shape (4,), float64, unit length, scalar first."""

    @staticmethod
    def identity() -> "Pose":
        return Pose(np.zeros(3), np.array([1.0, 0, 0, 0]))

    @staticmethod
    def from_matrix(matrix: np.ndarray) -> "Pose":
        """Return the pose of a homogeneous matrix of shape (4, 4)."""
        return Pose.from_rotation(matrix[:3, 3], matrix[:3, :3])

    @staticmethod
    def from_rotation(pos: np.ndarray, rotation: np.ndarray) -> "Pose":
        """Return the pose of a position of shape (3,) and a rotation matrix of shape (3, 3)."""
        quat = Rotation.from_matrix(np.asarray(rotation, float)).as_quat(scalar_first=True)
        return Pose(np.asarray(pos, float).copy(), quat if quat[0] >= 0 else -quat)

    @cached_property
    def rotation(self) -> np.ndarray:
        """The rotation matrix, of shape (3, 3); not to be written to."""
        rotation = Rotation.from_quat(self.quat_wxyz, scalar_first=True).as_matrix()
        rotation.flags.writeable = False
        return rotation

    @property
    def matrix(self) -> np.ndarray:
        """The homogeneous matrix, of shape (4, 4)."""
        return homogeneous(self.rotation, self.pos)

    def inverse(self) -> "Pose":
        """Return b_from_a of a_from_b."""
        rotation = self.rotation.T
        return Pose.from_rotation(-rotation @ self.pos, rotation)

    def __matmul__(self, other: "Pose") -> "Pose":
        """Compose two poses: a_from_b @ b_from_c = a_from_c."""
        return Pose.from_rotation(self.rotation @ other.pos + self.pos, self.rotation @ other.rotation)


def transform(a_from_b: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return points of shape (..., 3), given in frame b, in frame a; `a_from_b` is a matrix of shape (4, 4)."""
    return points @ a_from_b[:3, :3].T + a_from_b[:3, 3]


def homogeneous(rotation: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Return the matrix (4, 4) of a rotation (3, 3) and a position (3,)."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, position
    return matrix


def shifted(a_from_b: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return a transform (4, 4) moved by an offset (3,), given in frame a."""
    moved = a_from_b.copy()
    moved[:3, 3] += offset
    return moved


def box_corners(size: np.ndarray) -> np.ndarray:
    """Return the corners of a box of extents `size` (3,) about its centre, of shape (8, 3)."""
    return np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T * size / 2


def quat_about_z(angle: float) -> np.ndarray:
    """Return the quaternion wxyz of a rotation about z by `angle` radians, of shape (4,)."""
    return np.array([np.cos(angle / 2), 0, 0, np.sin(angle / 2)])


def rotation_about_z(angle: float) -> np.ndarray:
    """Return the matrix of a rotation about z by `angle` radians, of shape (3, 3)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])


def planar_rotation(angle: float) -> np.ndarray:
    """Return the matrix of a rotation in the plane by `angle` radians, of shape (2, 2)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])
