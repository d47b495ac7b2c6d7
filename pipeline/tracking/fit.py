"""Fit one object's pose to a view: point-to-plane ICP (Chen and Medioni 1992) in six degrees of freedom.

Measured points look for the nearest surface (far capture), and visible surface points for the depth at their own pixel
(projective association, as in KinectFusion, Newcombe et al. 2011). A pose is judged by the depth that it predicts:
pixels behind it contradict it, pixels in front of it may be an occluder.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.geometry import homogeneous, transform
from pipeline.tracking.view import ObjectModel, View

TOLERANCE_M = 0.010
"""Depth error of a right pose: three standard deviations of a stereo camera at 1 m, and its steps at edges."""
SAMPLES = 400
"""Measured and surface points in each round."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """How far a view supports a pose."""

    agree: int
    """Pixels of the object with the depth that the pose predicts."""
    front: int
    """Pixels that show something nearer."""
    behind: int
    """Pixels that show something farther away, where the object cannot be."""
    closeness: float
    """Sum over agreeing pixels of 1 - (error / tolerance)^2, less where the colour is another's."""
    spread: float
    """Sum over agreeing pixels of (error / tolerance)^2."""

    @property
    def visible_share(self) -> float:
        """Share of the object's pixels that nothing hides."""
        return 1 - self.front / max(self.agree + self.front + self.behind, 1)

    @property
    def contradiction(self) -> float:
        """Share of the pixels that nothing hides which contradict the pose."""
        return self.behind / max(self.agree + self.behind, 1)

    @property
    def score(self) -> float:
        """At most 1; what is hidden counts for half a pixel that contradicts."""
        counted = self.agree + 0.5 * self.front + self.behind
        return (self.closeness - self.behind) / max(counted, 1.0)


def evidence(
    area: tuple[slice, slice], own: np.ndarray, others: np.ndarray, view: View, weight: np.ndarray | None = None
) -> Evidence:
    """Compare a rendering of an object (area, own depth) with a view.

    Args:
        others: depth of all else, of shape (h, w).
        weight: probability of each pixel by its colour, of shape (h, w); None if colours do not count.
    """
    measured = view.depth[area]
    counted = np.isfinite(own) & (own < others[area] + 0.002) & (measured > 0)
    error = (measured[counted] - own[counted]) / TOLERANCE_M
    near = np.abs(error) <= 1
    spread = error[near] ** 2
    # a colour that was not seen at first says nothing; a limb of the object's shape has another's colour
    colour = 1.0 if weight is None else np.clip(2 * weight[area][counted][near], 0.2, 1.0)
    front, behind = int((error < -1).sum()), int((error > 1).sum())
    return Evidence(int(near.sum()), front, behind, float(((1 - spread) * colour).sum()), float(spread.sum()))


@dataclass(frozen=True, eq=False)
class Target:
    """The measured points that may belong to an object."""

    view: View
    free: np.ndarray
    """Pixels that neither the table nor another object explains, of shape (h, w), bool."""
    weight: np.ndarray
    """Probability of each pixel by its colour, of shape (h, w)."""
    others: np.ndarray
    """Depth of all else, of shape (h, w)."""


def judge(model: ObjectModel, pose: np.ndarray, target: Target) -> Evidence:
    """Return how far the view supports a pose (4, 4)."""
    return evidence(*model.render(pose, target.view), target.others, target.view, target.weight)


def fit(
    model: ObjectModel, target: Target, start: np.ndarray, reach: float, rounds: int = 14, planar: bool = False
) -> np.ndarray:
    """Return the pose (4, 4) found from a start pose; measured points up to `reach` metres from it may be used.

    With `planar` only x, y and yaw change.
    """
    points, weights = nearby(model, target, start, reach)
    if len(points) < 12:
        return start
    pose = start
    for i in range(rounds):
        gate = max(0.012, reach * (1 - (i + 1) / (0.6 * rounds)))
        rows, errors, w = _towards_surface(model, pose, points, weights, gate)
        if i >= rounds // 3:
            more = _towards_pixels(model, pose, target, gate)
            rows, errors, w = np.vstack([rows, more[0]]), np.append(errors, more[1]), np.append(w, more[2])
        if len(errors) < 12:
            break
        pose, step = _moved(pose, rows, errors, w * _robust(errors, gate / 3), model.radius, planar)
        if step < 2e-4 and i > rounds // 3:
            break
    return pose


def nearby(model: ObjectModel, target: Target, pose: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the free measured points (N, 3) within the object's radius and `reach` of a pose, and their weights."""
    rows, columns = np.nonzero(target.free)
    points = target.view.points[rows, columns]
    near = np.linalg.norm(points - pose[:3, 3], axis=1) < model.radius + reach
    points, weights = points[near], target.weight[rows[near], columns[near]]
    step = max(1, len(points) // SAMPLES)
    return points[::step], weights[::step] ** 2


def _towards_surface(
    model: ObjectModel, pose: np.ndarray, points: np.ndarray, weights: np.ndarray, gate: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the equations of measured points and their nearest surface points."""
    local = (points - pose[:3, 3]) @ pose[:3, :3]
    distance, nearest = model.tree.query(local, distance_upper_bound=gate)
    hit = np.isfinite(distance)
    local, nearest = local[hit], np.asarray(nearest)[hit]
    normals = model.surface.normals[nearest]
    errors = np.einsum("ij,ij->i", normals, local - model.surface.points[nearest])
    return _rows(local @ pose[:3, :3].T, normals @ pose[:3, :3].T), errors, weights[hit]


def _towards_pixels(
    model: ObjectModel, pose: np.ndarray, target: Target, gate: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the equations of visible surface points and the measured points at their pixels."""
    camera = (target.view.world_from_camera[:3, 3] - pose[:3, 3]) @ pose[:3, :3]
    facing = np.flatnonzero(model.surface.faces_local_camera(camera))
    facing = facing[:: max(1, len(facing) // SAMPLES)]
    arms = model.surface.points[facing] @ pose[:3, :3].T
    rows, columns, inside = target.view.pixels(arms + pose[:3, 3])
    gaps = target.view.points[rows, columns] - pose[:3, 3] - arms
    used = inside & target.free[rows, columns] & (np.einsum("ij,ij->i", gaps, gaps) < gate**2)
    normals = model.surface.normals[facing][used] @ pose[:3, :3].T
    errors = np.einsum("ij,ij->i", normals, gaps[used])
    return _rows(arms[used], normals), errors, target.weight[rows[used], columns[used]] ** 2


def _rows(arms: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Return the derivatives of plane distances with respect to translation and rotation, of shape (N, 6)."""
    return np.hstack([normals, np.cross(arms, normals)])


def _robust(errors: np.ndarray, kernel: float) -> np.ndarray:
    return 1 / (1 + (errors / kernel) ** 2)


def _moved(
    pose: np.ndarray, rows: np.ndarray, errors: np.ndarray, weights: np.ndarray, radius: float, planar: bool
) -> tuple[np.ndarray, float]:
    """Return the pose after one weighted least-squares step, and the step's length in metres at the object's radius."""
    free = [0, 1, 5] if planar else [0, 1, 2, 3, 4, 5]
    a = rows[:, free]
    normal = a.T @ (a * weights[:, None])
    # 0.01, 0.03: damping relative to the points' number; a turn that the shape does not show stays as it was
    damping = np.array([0.01] * 3 + [0.03 * (radius / 1.7) ** 2] * 3)[free] * weights.sum()
    step = np.zeros(6)
    step[free] = np.linalg.solve(normal + np.diag(damping), a.T @ (weights * errors))
    length = float(np.linalg.norm(step[:3]) + radius * np.linalg.norm(step[3:]))
    turn = Rotation.from_rotvec(step[3:]).as_matrix()
    return homogeneous(turn @ pose[:3, :3], pose[:3, 3] + step[:3]), length


def centre_of(model: ObjectModel, target: Target, mask: np.ndarray) -> np.ndarray:
    """Return where the object's centre would be if it showed the measured points of a mask (h, w), of shape (3,)."""
    centre = np.median(target.view.points[mask], axis=0)
    along = centre - target.view.world_from_camera[:3, 3]
    return centre + along / np.linalg.norm(along) * 0.5 * float(np.median(model.placement.size)) * 0.8


def moved_between(a: np.ndarray, b: np.ndarray, points: np.ndarray) -> float:
    """Return the mean distance in metres of a surface's points (N, 3) at two poses: ADD (Hinterstoisser 2012)."""
    return float(np.linalg.norm(transform(a, points) - transform(b, points), axis=1).mean())
