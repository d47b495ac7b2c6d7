"""Poses, planes and boxes. Lengths in metres, quaternions wxyz, a transform is named a_from_b."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation


@dataclass(frozen=True, eq=False)
class Pose:
    """A rigid transform, as position and unit quaternion."""

    pos: np.ndarray
    """Of shape (3,), float64, in metres."""
    quat_wxyz: np.ndarray
    """Of shape (4,), float64, unit length, scalar first."""

    @staticmethod
    def identity() -> "Pose":
        return Pose(np.zeros(3), np.array([1.0, 0, 0, 0]))

    @staticmethod
    def from_matrix(matrix: np.ndarray) -> "Pose":
        """Of a homogeneous matrix, of shape (4, 4)."""
        return Pose.from_rotation(matrix[:3, 3], matrix[:3, :3])

    @staticmethod
    def from_rotation(pos: np.ndarray, rotation: np.ndarray) -> "Pose":
        """Of a position, of shape (3,), and a rotation matrix, of shape (3, 3)."""
        quat = Rotation.from_matrix(np.asarray(rotation, float)).as_quat(scalar_first=True)
        return Pose(np.asarray(pos, float).copy(), quat if quat[0] >= 0 else -quat)

    @property
    def rotation(self) -> np.ndarray:
        """The rotation matrix, of shape (3, 3)."""
        return Rotation.from_quat(self.quat_wxyz, scalar_first=True).as_matrix()

    @property
    def matrix(self) -> np.ndarray:
        """The homogeneous matrix, of shape (4, 4)."""
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = self.rotation, self.pos
        return matrix

    def inverse(self) -> "Pose":
        turn = self.rotation.T
        return Pose.from_rotation(-turn @ self.pos, turn)

    def __matmul__(self, other: "Pose") -> "Pose":
        """a_from_b @ b_from_c = a_from_c."""
        return Pose.from_rotation(self.rotation @ other.pos + self.pos, self.rotation @ other.rotation)


@dataclass(frozen=True, eq=False)
class Plane:
    """All points p with normal . p + offset = 0; positive on the normal's side."""

    normal: np.ndarray
    """Of shape (3,), unit length."""
    offset: float
    """In metres."""

    def height(self, points: np.ndarray) -> np.ndarray:
        """Signed distance in metres of points of shape (..., 3), of shape (...)."""
        return points @ self.normal + self.offset


def transform(a_from_b: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points of shape (..., 3) in frame b, given a matrix of shape (4, 4), to the same shape in frame a."""
    return points @ a_from_b[:3, :3].T + a_from_b[:3, 3]
