"""The table: the plane things stand on, its region, and the world frame on top of it."""

from dataclasses import dataclass

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.planes import find_planes, inliers, pixel_rays, refine, thinned
from pipeline.geometry import Plane, transform

POSE_TOLERANCE = (0.10, float(np.radians(10)))
"""Metres and radians by which a given camera pose may miss the measured table without a word."""


class SupportError(FrameError):
    """A frame in which no table can be found."""


@dataclass(frozen=True, eq=False)
class Support:
    """What the objects stand on. World frame: z up, table top at z = 0.

    Where the frame gives no camera pose, the world's origin lies on the table under the middle of what is seen of
    it, x points to the camera's right and y away from the camera.
    """

    world_from_camera: np.ndarray
    """Of shape (4, 4)."""
    plane: Plane
    """In camera axes, the normal towards the camera."""
    polygon: np.ndarray
    """Convex outline of the table's seen top, of shape (N, 2), world x and y in metres, anticlockwise."""
    inliers: np.ndarray
    """Pixels that show the table's top, of shape (H, W), bool."""
    notes: tuple[str, ...] = ()
    """What a person should know of the pose, one sentence each."""


def find_support(frame: Frame) -> Support:
    """The table's top: the plane that most speaks for a table, refined on all its pixels. Raises SupportError.

    A given `world_from_camera` keeps its x, y and heading; its tilt and height follow the table that is seen.
    """
    small = thinned(frame, 320)
    found = [refine(small, plane) for plane in find_planes(small)]
    scores = [_score(small, plane, seen) for plane, seen in found]
    scores = [score * _unless_floor(i, found, scores) for i, score in enumerate(scores)]
    if not scores or max(scores) <= 0:
        raise SupportError(
            "No flat surface that things could stand on is seen in the depth picture; "
            "point the camera down at a table 0.3 to 3 m away."
        )
    plane, _ = refine(thinned(frame, 640), found[int(np.argmax(scores))][0])
    seen = inliers(frame, plane)
    outline = _outline(frame, plane, seen)
    world, notes = _world(frame, plane, outline)
    polygon = transform(world, outline)[:, :2]
    return Support(world, plane, polygon if _signed_area(polygon) > 0 else polygon[::-1], seen, notes)


def _score(frame: Frame, plane: Plane, inliers: np.ndarray) -> float:
    """Seen pixels, weighed by how level the plane is, as far as the camera can tell. 0: no table at all."""
    share = np.count_nonzero(inliers) / inliers.size
    if share < 0.01:
        return 0.0
    if frame.world_from_camera is not None:
        level = float((frame.world_from_camera[:3, :3] @ plane.normal)[2])
        return share * max(level, 0.0) ** 8
    upward = -float(plane.normal[1])  # 1 seen along the table, 0 from straight above, negative for a ceiling
    if upward < -0.3:
        return 0.0
    tilted = np.clip((upward - 0.1) / 0.25, 0.1, 1)  # a wall looks like a table from straight above: last choice
    return share * tilted * float(np.clip(1.6 - 2 * abs(plane.normal[0]), 0.05, 1))


def _unless_floor(index: int, found: list[tuple[Plane, np.ndarray]], scores: list[float]) -> float:
    """Small where another plane, parallel and large enough to be a table, lies above this one."""
    plane, _ = found[index]
    for other, (above, _) in enumerate(found):
        parallel = above.normal @ plane.normal > np.cos(np.radians(8))
        if parallel and plane.offset - above.offset > 0.25 and scores[other] > 0.15 * scores[index]:
            return 0.1
    return 1.0


def _outline(frame: Frame, plane: Plane, inliers: np.ndarray) -> np.ndarray:
    """Corners of the table's convex outline, on the plane, in camera axes, of shape (N, 3)."""
    reach = max(3, inliers.shape[1] // 100) | 1
    solid = cv2.morphologyEx(inliers.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    solid = cv2.morphologyEx(solid, cv2.MORPH_OPEN, np.ones((reach, reach), np.uint8))
    pixels = cv2.findNonZero(solid if solid.any() else inliers.astype(np.uint8))
    corners = cv2.approxPolyDP(cv2.convexHull(pixels), 1.5, True)[:, 0]
    if len(corners) < 3:
        corners = cv2.boxPoints(cv2.minAreaRect(pixels))
    corners = np.asarray(corners).round().astype(int)
    height, width = inliers.shape
    rays = pixel_rays(frame)[np.clip(corners[:, 1], 0, height - 1), np.clip(corners[:, 0], 0, width - 1)].astype(float)
    return rays * (-plane.offset / (rays @ plane.normal))[:, None]


def _world(frame: Frame, plane: Plane, outline: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """world_from_camera, of shape (4, 4), and what there is to say about it."""
    given = frame.world_from_camera
    if given is None:
        return _own_world(plane, outline), ()
    up = given[:3, :3] @ plane.normal
    tilt = float(np.arccos(np.clip(up[2], -1, 1)))
    if tilt > np.radians(60):
        told = f"the table leans {np.degrees(tilt):.0f} degrees in it: is it camera_from_world, or another camera's?"
        return _own_world(plane, outline), (f"The given camera pose was left aside, for {told}",)
    middle = transform(given, outline.mean(0))
    turn = Rotation.align_vectors([[0.0, 0, 1]], [up])[0].as_matrix()  # about the table's middle, which stays put
    world = np.eye(4)
    world[:3, :3] = turn @ given[:3, :3]
    world[:3, 3] = turn @ (given[:3, 3] - middle) + middle - [0, 0, middle[2]]
    far, steep = abs(middle[2]) > POSE_TOLERANCE[0], tilt > POSE_TOLERANCE[1]
    told = f"puts the table's top at z = {middle[2]:.3f} m, leaning {np.degrees(tilt):.1f} degrees"
    return world, (f"The given camera pose {told}; tilt and height follow the table.",) if far or steep else ()


def _own_world(plane: Plane, outline: np.ndarray) -> np.ndarray:
    z = plane.normal
    right = np.array([1.0, 0, 0]) - z[0] * z
    x = right / np.linalg.norm(right)
    turn = np.stack([x, np.cross(z, x), z])
    world = np.eye(4)
    flat = (outline @ turn.T)[:, :2]
    moments = cv2.moments(flat.astype(np.float32))
    middle = np.array([moments["m10"], moments["m01"]]) / moments["m00"] if moments["m00"] > 1e-9 else flat.mean(0)
    world[:3, :3], world[:3, 3] = turn, [-middle[0], -middle[1], plane.offset]
    return world


def _signed_area(polygon: np.ndarray) -> float:
    x, y = polygon.T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2
