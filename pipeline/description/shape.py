"""Primitives fitted to what is seen of a thing: box, cylinder, sphere, bowl, with the hidden side filled in."""

from dataclasses import dataclass

import numpy as np

from pipeline.description.description import Shape

EDGE = 0.7
"""Per cent of points cut off at each end of an extent: what bleeds over an edge in depth."""
ODD = 0.12
"""Median error, as a share of the mean extent, above which no primitive is a fair name."""


@dataclass(frozen=True, eq=False)
class Fit:
    """An upright box around a primitive, in world axes."""

    shape: Shape
    size: np.ndarray
    """Of shape (3,), metres, in the box's own axes."""
    yaw: float
    """In radians."""
    centre: np.ndarray
    """Of shape (3,), metres."""
    error: float
    """Median distance of the points to the primitive's surface, in metres."""


def fit_shape(points: np.ndarray, bottom: float, camera: np.ndarray, pixel: float = 0.0) -> Fit:
    """The primitive that best explains world points (N, 3); they stand on z = bottom, seen from `camera` (3,).

    A round thing loses about a `pixel`, in metres, at each side, where it turns away.
    """
    top = max(float(np.percentile(points[:, 2], 100 - 2 * EDGE)), bottom + 0.004)
    box = _box(points, bottom, top)
    cylinder, sphere = _cylinder(points, bottom, top, camera, pixel), _sphere(points, bottom, top, camera, pixel)
    if _hollow(points, box, top):
        wide = top - bottom < 0.8 * float(box.size[:2].mean())
        base = box if _corners(points, box, camera) > 0 else cylinder
        error = min(base.error, 0.1 * float(base.size.mean()))
        return Fit("bowl" if wide else "cylinder", base.size, base.yaw, base.centre, error)
    corners = _corners(points, box, camera)
    round_seen = corners == 0 and box.size[:2].max() < 1.7 * box.size[:2].min() and box.error > 0.7 * cylinder.error
    fits = [cylinder, sphere] if round_seen else [box, sphere] if corners == 2 else [box, cylinder, sphere]
    best = min(fits, key=lambda fit: fit.error)
    if best.error > ODD * float(best.size.mean()):
        return Fit("irregular", box.size, box.yaw, box.centre, box.error)
    return best


def upright_box(ground: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """The smallest turned rectangle around points (N, 2): size (2,), yaw within 45 degrees, in radians, centre (2,)."""
    best = None
    for yaw in np.radians(np.arange(-45, 45, 1.5)):
        axes = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
        low, high = np.percentile(ground @ axes.T, (EDGE, 100 - EDGE), axis=0)
        area = float(np.prod(high - low))
        if best is None or area < best[0]:
            best = area, high - low, float(yaw), (low + high) / 2 @ axes
    assert best is not None
    return best[1], best[2], best[3]


def _box(points: np.ndarray, bottom: float, top: float) -> Fit:
    size, yaw, centre = upright_box(points[:, :2])
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    own = (points[:, :2] - centre) @ turn
    gaps = np.column_stack([np.abs(np.abs(own) - size / 2), np.abs(points[:, 2] - top)])
    size3 = np.maximum([*size, top - bottom], 0.004)
    cube = size3.max() < 1.25 * size3.min()
    middle = np.array([*centre, (bottom + top) / 2])
    return Fit("cube" if cube else "box", size3, yaw, middle, float(np.median(gaps.min(1))))


def _across(points: np.ndarray, camera: np.ndarray, pixel: float) -> tuple[np.ndarray, float]:
    """Ground centre (2,) and radius of the round thing whose whole width and near side the points show."""
    ground = points[:, :2]
    along = ground.mean(0) - camera[:2]
    along = along / max(1e-6, float(np.linalg.norm(along)))
    side = np.array([-along[1], along[0]])
    low, high = np.percentile(ground @ side, (0.3, 99.7))
    radius = max(0.003, float(high - low) / 2 + pixel)
    near, far = np.percentile(ground @ along, (EDGE, 100 - EDGE))
    middle = near + radius if far - near < 2 * radius else (near + far) / 2
    return side * (low + high) / 2 + along * middle, radius


def _cylinder(points: np.ndarray, bottom: float, top: float, camera: np.ndarray, pixel: float) -> Fit:
    centre, radius = _across(points, camera, pixel)
    off = np.abs(np.linalg.norm(points[:, :2] - centre, axis=1) - radius)
    error = float(np.median(np.minimum(off, np.abs(points[:, 2] - top))))
    error += 0.25 * float(np.mean(off > 0.25 * radius) * np.mean(points[:, 2] < top - 0.01) * radius)
    size = np.array([2 * radius, 2 * radius, top - bottom])
    return Fit("cylinder", size, 0.0, np.array([*centre, (bottom + top) / 2]), error)


def _sphere(points: np.ndarray, bottom: float, top: float, camera: np.ndarray, pixel: float) -> Fit:
    centre, radius = _across(points, camera, pixel)
    if abs(2 * radius - (top - bottom)) > 0.35 * radius:
        return Fit("sphere", np.full(3, 2 * radius), 0.0, np.array([*centre, bottom + radius]), float("inf"))
    radius = (2 * radius + top - bottom) / 4
    middle = np.array([*centre, bottom + radius])
    error = float(np.median(np.abs(np.linalg.norm(points - middle, axis=1) - radius)))
    return Fit("sphere", np.full(3, 2 * radius), 0.0, middle, error)


def _hollow(points: np.ndarray, box: Fit, top: float) -> bool:
    """Whether much of what is seen in the middle lies well below the rim, and the rim is all around."""
    turn = np.array([[np.cos(box.yaw), -np.sin(box.yaw)], [np.sin(box.yaw), np.cos(box.yaw)]])
    own = np.abs((points[:, :2] - box.centre[:2]) @ turn) / (box.size[:2] / 2)
    inner = (own < 0.55).all(1)
    height = box.size[2]
    if inner.sum() < 15 or height < 0.02:
        return False
    deep = points[inner, 2] < top - 0.22 * height
    rim = points[points[:, 2] > top - 0.2 * height][:, :2] - box.centre[:2]
    eighths = np.histogram(np.arctan2(rim[:, 1], rim[:, 0]), bins=8, range=(-np.pi, np.pi))[0]
    return bool(deep.mean() > 0.7 and np.count_nonzero(eighths > 0.01 * max(1, len(rim))) >= 6)


def _corners(points: np.ndarray, box: Fit, camera: np.ndarray) -> int:
    """How many of the two ground corners nearest to the camera are reached: 2 by boxes, 0 by round things."""
    turn = np.array([[np.cos(box.yaw), -np.sin(box.yaw)], [np.sin(box.yaw), np.cos(box.yaw)]])
    own = (points[:, :2] - box.centre[:2]) @ turn / (box.size[:2] / 2)
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    places = signs * box.size[:2] / 2 @ turn.T + box.centre[:2]
    nearest = signs[np.argsort(np.linalg.norm(places - camera[:2], axis=1))[:2]]
    return sum(bool(((own * sign) > 0.84).all(1).mean() > 0.002) for sign in nearest)
