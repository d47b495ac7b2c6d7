"""Points on the surfaces of shapes, for boxes around them; numpy alone, since other programs' Pythons import it."""

import numpy as np

STEPS = 128
"""Directions around a circle: a radius of 10 cm is found to 0.03 mm."""


def points(kind: str, size) -> np.ndarray:
    """Return points (N, 3) of a shape about its centre whose box is the shape's.

    Args:
        kind: box, sphere, ellipsoid, cylinder or capsule; the last two along z.
        size: Half extents, the radius, the half axes, or radius and half length, in metres.
    """
    size = np.ravel(np.asarray(size, float))
    if kind in ("box", "ellipsoid"):
        return size[:3] * (_corners() if kind == "box" else _sphere())
    if kind == "sphere":
        return size[0] * _sphere()
    radius, half = size[:2]
    ends = np.array([0, 0, half])
    round_ = radius * (_sphere() if kind == "capsule" else _circle())
    return np.concatenate([round_ - ends, round_ + ends])


def box_of(points: np.ndarray) -> list[list[float]]:
    """Return the least and the greatest of points (N, 3)."""
    return [points.min(0).tolist(), points.max(0).tolist()]


def placed(points: np.ndarray, pos, quat_wxyz) -> np.ndarray:
    """Return points (N, 3) of a frame in the one where it has this pose."""
    w, x, y, z = quat_wxyz
    vector = np.array([x, y, z], float)
    turned = np.cross(vector, points) + w * points
    return points + 2 * np.cross(vector, turned) + np.asarray(pos, float)


def _corners() -> np.ndarray:
    return np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)


def _circle() -> np.ndarray:
    angles = np.linspace(0, 2 * np.pi, STEPS, endpoint=False)
    return np.stack([np.cos(angles), np.sin(angles), np.zeros(STEPS)], 1)


def _sphere() -> np.ndarray:
    heights = np.sin(np.linspace(-np.pi / 2, np.pi / 2, STEPS + 1))
    circle = _circle()
    rings = [circle * [r, r, 0] + [0, 0, z] for z, r in zip(heights, np.sqrt(1 - heights**2), strict=True)]
    return np.concatenate(rings)
