"""Fit a primitive to the visible points of an object: box, cylinder, sphere or bowl, including its hidden side."""

from dataclasses import dataclass, replace

import numpy as np

from pipeline.description.description import Shape
from pipeline.geometry import planar_rotation

TRIM_PERCENT = 0.7
"""Of the points, cut off at each end of an extent, because depth bleeds over edges."""


@dataclass(frozen=True, eq=False)
class PrimitiveFit:
    """An upright box around a primitive, in world axes."""

    shape: Shape
    size: np.ndarray
    """Of shape (3,), metres, in the box's own axes."""
    yaw: float
    """Rotation about world z, in radians."""
    centre: np.ndarray
    """Of shape (3,), metres."""
    error: float
    """Median distance of the points to the primitive's surface, in metres."""
    corners: int = 0
    """How many of the two ground corners of its box that are nearest to the camera have points."""

    @property
    def is_sure(self) -> bool:
        """Whether the points leave no doubt about the shape: an object of another shape is called by no noun."""
        if self.shape == "bowl":
            # Shorter over longer side from which a hollow object is a bowl, and not a mug with its handle
            return float(self.size[:2].min()) > 0.75 * float(self.size[:2].max())
        of_corners = {"box": 2, "cube": 2, "cylinder": 0}.get(self.shape, self.corners)
        # Fit error over mean extent up to which a shape is sure. On three photographs 8 of 14 nouns beyond it were
        # wrong: a tin was a ball, a drill a box.
        return self.error < 0.05 * float(self.size.mean()) and self.corners == of_corners


def fit_shape(points: np.ndarray, bottom: float, camera: np.ndarray, pixel_size: float = 0.0) -> PrimitiveFit:
    """Return the primitive that fits world points (N, 3) best; it stands on z = `bottom`.

    `camera` (3,) is the camera's position. `pixel_size` (m) is added to the radius of round objects, because depth is
    lost about a pixel wide where their surface turns away.
    """
    top = max(float(np.percentile(points[:, 2], 100 - 2 * TRIM_PERCENT)), bottom + 0.004)
    box = _box(points, bottom, top)
    cylinder, sphere = (
        _cylinder(points, bottom, top, camera, pixel_size),
        _sphere(points, bottom, top, camera, pixel_size),
    )
    if _is_hollow(points, box, top):
        is_wide = top - bottom < 0.8 * float(box.size[:2].mean())
        base = box if _reached_corners(points, box, camera) > 0 else cylinder
        error = min(base.error, 0.1 * float(base.size.mean()))
        return PrimitiveFit("bowl" if is_wide else "cylinder", base.size, base.yaw, base.centre, error)
    corners = _reached_corners(points, box, camera)
    looks_round = corners == 0 and box.size[:2].max() < 1.7 * box.size[:2].min() and box.error > 0.7 * cylinder.error
    fits = [cylinder, sphere] if looks_round else [box, sphere] if corners == 2 else [box, cylinder, sphere]
    best = min(fits, key=lambda fit: fit.error)
    # Median error over mean extent above which the shape is irregular
    if best.error > 0.12 * float(best.size.mean()):
        return PrimitiveFit("irregular", box.size, box.yaw, box.centre, box.error)
    return replace(best, corners=corners)


def fit_upright_rectangle(ground: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Return size (2,), yaw (radians, within pi / 4) and centre (2,) of the smallest rectangle around points (N, 2)."""
    best = None
    for yaw in np.radians(np.arange(-45, 45, 1.5)):
        axes = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
        low, high = np.percentile(ground @ axes.T, (TRIM_PERCENT, 100 - TRIM_PERCENT), axis=0)
        area = float(np.prod(high - low))
        if best is None or area < best[0]:
            best = area, high - low, float(yaw), (low + high) / 2 @ axes
    assert best is not None
    return best[1], best[2], best[3]


def _box(points: np.ndarray, bottom: float, top: float) -> PrimitiveFit:
    size, yaw, centre = fit_upright_rectangle(points[:, :2])
    rotation = planar_rotation(yaw)
    local = (points[:, :2] - centre) @ rotation
    gaps = np.column_stack([np.abs(np.abs(local) - size / 2), np.abs(points[:, 2] - top)])
    size3 = np.maximum([*size, top - bottom], 0.004)
    is_cube = size3.max() < 1.25 * size3.min()
    middle = np.array([*centre, (bottom + top) / 2])
    return PrimitiveFit("cube" if is_cube else "box", size3, yaw, middle, float(np.median(gaps.min(1))))


def _circle(points: np.ndarray, camera: np.ndarray, pixel_size: float) -> tuple[np.ndarray, float]:
    """Return ground centre (2,) and radius of a round object, from its width and its near side."""
    ground = points[:, :2]
    along = ground.mean(0) - camera[:2]
    along = along / max(1e-6, float(np.linalg.norm(along)))
    side = np.array([-along[1], along[0]])
    low, high = np.percentile(ground @ side, (0.3, 99.7))
    radius = max(0.003, float(high - low) / 2 + pixel_size)
    near, far = np.percentile(ground @ along, (TRIM_PERCENT, 100 - TRIM_PERCENT))
    middle = near + radius if far - near < 2 * radius else (near + far) / 2
    return side * (low + high) / 2 + along * middle, radius


def _cylinder(points: np.ndarray, bottom: float, top: float, camera: np.ndarray, pixel_size: float) -> PrimitiveFit:
    centre, radius = _circle(points, camera, pixel_size)
    off = np.abs(np.linalg.norm(points[:, :2] - centre, axis=1) - radius)
    error = float(np.median(np.minimum(off, np.abs(points[:, 2] - top))))
    error += 0.25 * float(np.mean(off > 0.25 * radius) * np.mean(points[:, 2] < top - 0.01) * radius)
    size = np.array([2 * radius, 2 * radius, top - bottom])
    return PrimitiveFit("cylinder", size, 0.0, np.array([*centre, (bottom + top) / 2]), error)


def _sphere(points: np.ndarray, bottom: float, top: float, camera: np.ndarray, pixel_size: float) -> PrimitiveFit:
    centre, radius = _circle(points, camera, pixel_size)
    if abs(2 * radius - (top - bottom)) > 0.35 * radius:
        return PrimitiveFit("sphere", np.full(3, 2 * radius), 0.0, np.array([*centre, bottom + radius]), float("inf"))
    radius = (2 * radius + top - bottom) / 4
    middle = np.array([*centre, bottom + radius])
    error = float(np.median(np.abs(np.linalg.norm(points - middle, axis=1) - radius)))
    return PrimitiveFit("sphere", np.full(3, 2 * radius), 0.0, middle, error)


def _is_hollow(points: np.ndarray, box: PrimitiveFit, top: float) -> bool:
    """Return whether most points in the middle lie well below the rim, and the rim goes all around."""
    rotation = planar_rotation(box.yaw)
    local = np.abs((points[:, :2] - box.centre[:2]) @ rotation) / (box.size[:2] / 2)
    inner = (local < 0.55).all(1)
    height = box.size[2]
    if inner.sum() < 15 or height < 0.02:
        return False
    deep = points[inner, 2] < top - 0.22 * height
    rim = points[points[:, 2] > top - 0.2 * height][:, :2] - box.centre[:2]
    eighths = np.histogram(np.arctan2(rim[:, 1], rim[:, 0]), bins=8, range=(-np.pi, np.pi))[0]
    return bool(deep.mean() > 0.7 and np.count_nonzero(eighths > 0.01 * max(1, len(rim))) >= 6)


def _reached_corners(points: np.ndarray, box: PrimitiveFit, camera: np.ndarray) -> int:
    """Return how many of the two ground corners nearest to the camera have points: 2 for boxes, 0 for round objects."""
    rotation = planar_rotation(box.yaw)
    local = (points[:, :2] - box.centre[:2]) @ rotation / (box.size[:2] / 2)
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    corners = signs * box.size[:2] / 2 @ rotation.T + box.centre[:2]
    nearest = signs[np.argsort(np.linalg.norm(corners - camera[:2], axis=1))[:2]]
    return sum(bool(((local * sign) > 0.84).all(1).mean() > 0.002) for sign in nearest)
