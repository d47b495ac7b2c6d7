"""Find a lost object again among the measured points that nothing explains."""

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.geometry import homogeneous, rotation_about_z
from pipeline.tracking.fit import Evidence, Target, centre_of, fit, judge
from pipeline.tracking.view import ObjectModel

CLUSTERS = 2
"""Clusters of points that are tried in each frame, the likeliest first; more take longer than a frame may."""
SURE_SCORE = 0.5
"""Evidence that a pose needs without a previous one to vouch for it."""


def relocate(model: ObjectModel, target: Target, last: np.ndarray) -> tuple[np.ndarray, Evidence] | None:
    """Return the pose (4, 4) of a lost object and its evidence; None if no cluster of free points shows it.

    Args:
        last: the pose at which it was seen last.
    """
    for mask in _clusters(model, target, last):
        centre = centre_of(model, target, mask)
        coarse = []
        for rotation in _rotations(last[:3, :3]):
            pose = fit(model, target, homogeneous(rotation, centre), 0.04, rounds=6)
            coarse.append((judge(model, pose, target).score, len(coarse), pose))
        best: tuple[np.ndarray, Evidence] | None = None
        for _, _, pose in sorted(coarse, reverse=True)[:2]:
            pose = fit(model, target, pose, 0.02)
            found = judge(model, pose, target)
            if best is None or found.score > best[1].score:
                best = pose, found
        if best is not None and best[1].score > SURE_SCORE and best[1].contradiction < 0.25 and best[1].agree >= 25:
            return best
    return None


def _clusters(model: ObjectModel, target: Target, last: np.ndarray) -> list[np.ndarray]:
    """Return the masks (h, w) of free points that may be the object, the likeliest first."""
    likely = (target.free & (target.weight > 0.5)).astype(np.uint8)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(likely, connectivity=4)
    found = []
    for number in range(1, count):
        pixels = int(stats[number, cv2.CC_STAT_AREA])
        if pixels < 25:
            continue
        mask = labels == number
        points = target.view.points[mask]
        extent = float(np.linalg.norm(np.quantile(points, 0.95, axis=0) - np.quantile(points, 0.05, axis=0)))
        if extent > 3 * model.radius:
            continue
        centre = np.median(points, axis=0)
        distance = float(np.linalg.norm(centre - last[:3, 3]))
        # a hand in between cuts an object into several clusters
        whole = likely.astype(bool) & (np.linalg.norm(target.view.points - centre, axis=-1) < 1.5 * model.radius)
        # 0.1 m farther away counts as much as a colour that is 0.1 less likely
        worth = float(target.weight[mask].mean()) + min(extent / (2 * model.radius), 1.0) - distance
        found.append((worth, number, whole))
    return [mask for _, _, mask in sorted(found, key=lambda one: one[:2], reverse=True)[:CLUSTERS]]


def _rotations(last: np.ndarray) -> list[np.ndarray]:
    """Return rotations to start from: the last one, turned about the vertical, and each other side down."""
    turns = [rotation_about_z(angle) @ last for angle in (0, np.pi / 2, np.pi, -np.pi / 2)]
    sides = [Rotation.from_euler(axis, angle).as_matrix() for axis, angle in (("x", np.pi / 2), ("y", np.pi / 2))]
    return turns + [rotation_about_z(angle) @ side @ last for side in sides for angle in (0, np.pi / 2)]
