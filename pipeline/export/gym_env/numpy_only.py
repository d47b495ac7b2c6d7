"""Stands in for the few functions of scipy that the measuring modules use, in an exported environment without scipy."""

from typing import Any

import numpy as np


class ConvexHull:
    """Convex hull of points in the plane, by Andrew's monotone chain."""

    def __init__(self, points: np.ndarray):
        self.vertices = np.array(_chain(np.asarray(points, float)), int)
        """Indices of the corners, anticlockwise."""


def _chain(points: np.ndarray) -> list[int]:
    order = np.lexsort((points[:, 1], points[:, 0])).tolist()
    lower, upper = _half(points, order), _half(points, order[::-1])
    return lower[:-1] + upper[:-1]


def _half(points: np.ndarray, order: list[int]) -> list[int]:
    kept: list[int] = []
    for index in order:
        while len(kept) > 1 and _turn(points[kept[-2]], points[kept[-1]], points[index]) <= 1e-15:
            kept.pop()
        kept.append(index)
    return kept


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


class Rotation:
    """A rotation in space, with the part of scipy's interface that is used here."""

    def __init__(self, matrix: np.ndarray):
        self._matrix = matrix

    @staticmethod
    def from_matrix(matrix: Any) -> "Rotation":
        return Rotation(np.asarray(matrix, float))

    @staticmethod
    def from_quat(quat: Any, scalar_first: bool = False) -> "Rotation":
        values = np.asarray(quat, float)
        w, x, y, z = (values if scalar_first else np.roll(values, 1)) / np.linalg.norm(values)
        return Rotation(np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]))  # fmt: skip

    @staticmethod
    def from_rotvec(vector: Any) -> "Rotation":
        vector = np.asarray(vector, float)
        angle = float(np.linalg.norm(vector))
        axis = vector / angle if angle else np.array([0.0, 0, 1])
        return Rotation.from_quat([np.cos(angle / 2), *(np.sin(angle / 2) * axis)], scalar_first=True)

    @staticmethod
    def from_euler(axes: str, angle: float) -> "Rotation":
        """Return a rotation about one axis: "x", "y" or "z"."""
        return Rotation.from_rotvec(angle * np.eye(3)["xyz".index(axes)])

    def as_matrix(self) -> np.ndarray:
        return self._matrix.copy()

    def as_quat(self, scalar_first: bool = False) -> np.ndarray:
        """Return the unit quaternion, as scipy: of the largest component first (Shepperd's method)."""
        m = self._matrix
        squares = np.array([1 + np.trace(m), *(1 + 2 * np.diag(m) - np.trace(m))])
        largest = int(squares.argmax())
        w, x, y, z = {
            0: (squares[0], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]),
            1: (m[2, 1] - m[1, 2], squares[1], m[1, 0] + m[0, 1], m[0, 2] + m[2, 0]),
            2: (m[0, 2] - m[2, 0], m[1, 0] + m[0, 1], squares[2], m[2, 1] + m[1, 2]),
            3: (m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[2, 1] + m[1, 2], squares[3]),
        }[largest]
        quat = np.array([w, x, y, z]) / np.linalg.norm([w, x, y, z])
        return quat if scalar_first else np.roll(quat, -1)

    def apply(self, points: Any) -> np.ndarray:
        return np.asarray(points, float) @ self._matrix.T

    def __mul__(self, other: "Rotation") -> "Rotation":
        return Rotation(self._matrix @ other._matrix)
