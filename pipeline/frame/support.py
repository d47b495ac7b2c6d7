"""Find the support (the table): its plane, its region in the image, and the world frame on top of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.frame.frame import Frame, FrameError, subsampling_step
from pipeline.frame.once_per_frame import once_per_frame
from pipeline.frame.plane_extraction import SEARCH_WIDTH, pixel_rays, plane_inliers, refine_plane, subsample_frame
from pipeline.frame.support_candidates import SupportCandidate, find_candidates
from pipeline.geometry import Plane, transform
from pipeline.one_blas_thread import one_blas_thread

POSE_TOLERANCE = (0.10, float(np.radians(10)))
"""Metres and radians between the frame's camera pose and the measured table up to which no note is added."""
MIN_GROUND_PROBABILITY = 0.1
"""Probability from which a surface is offered as another ground."""


class SupportError(FrameError):
    """A frame in which no table can be found."""


@dataclass(frozen=True, eq=False)
class Support:
    """The surface that objects stand on. World frame: z up, table top at z = 0.

    If the frame has no camera pose, the world's origin is the centroid of the table's visible outline, x points to the
    camera's right and y away from the camera.
    """

    world_from_camera: np.ndarray
    """Of shape (4, 4)."""
    plane: Plane
    """In camera axes, the normal towards the camera."""
    polygon: np.ndarray
    """Convex outline of the table's visible top, of shape (N, 2), world x and y in metres, anticlockwise."""
    inliers: np.ndarray
    """Pixels that show the table's top, of shape (H, W), bool."""
    notes: tuple[str, ...] = ()
    """Remarks on the pose, one sentence each."""


@dataclass(frozen=True, eq=False)
class Ground:
    """A surface that may carry the objects, as a person may choose it."""

    outline: np.ndarray
    """Convex outline in the image, of shape (N, 2), x and y in pixels."""
    pixel: tuple[int, int]
    """A pixel (x, y) that shows it and no other surface, for `Frame.ground_pixel`."""
    probability: float
    """Of being the surface that carries the objects."""


@once_per_frame
@one_blas_thread()
def find_support(frame: Frame) -> Support:
    """Return the surface that most likely carries the objects, refined on all its pixels. Raises SupportError.

    A surface that a person chose by `ground_pixel` takes precedence.
    If the frame has a `world_from_camera`, its x, y and heading are used; tilt and height follow the measured table.
    """
    candidates = find_candidates(frame)
    if not candidates:
        raise SupportError(
            "No flat surface that objects could stand on is found in the depth image; "
            "point the camera at a table, floor or bin 0.3 to 3 m away."
        )
    plane, _ = refine_plane(subsample_frame(frame, 640), candidates[_choose(frame, candidates)].plane)
    inliers = plane_inliers(frame, plane)
    outline = _outline(frame, plane, inliers)
    world, notes = _world_pose(frame, plane, outline)
    polygon = transform(world, outline)[:, :2]
    return Support(world, plane, polygon if _signed_area(polygon) > 0 else polygon[::-1], inliers, notes)


@once_per_frame
def likely_grounds(frame: Frame) -> tuple[Ground, ...]:
    """Return the surfaces that may carry the objects: the one `find_support` chooses, then others, likely ones first.

    Others have a probability of at least MIN_GROUND_PROBABILITY. Empty if no surface is found.
    """
    candidates = find_candidates(frame)
    if not candidates:
        return ()
    chosen, scores = _choose(frame, candidates), np.array([_score(frame, one) for one in candidates])
    probabilities = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    others = [i for i in np.argsort(-scores) if i != chosen and probabilities[i] >= MIN_GROUND_PROBABILITY]
    return tuple(_ground(frame, candidates, i, float(probabilities[i])) for i in (chosen, *others))


def _choose(frame: Frame, candidates: Sequence[SupportCandidate]) -> int:
    """Return the index of the surface on which a person put the ground, else of the most likely one."""
    scores = np.array([_score(frame, candidate) for candidate in candidates])
    if frame.ground_pixel is not None:
        h, w = candidates[0].inliers.shape
        step = subsampling_step(frame, SEARCH_WIDTH)
        x, y = (min(max(at // step, 0), size - 1) for at, size in zip(frame.ground_pixel, (w, h), strict=True))
        distance = [cv2.distanceTransform((~one.inliers).astype(np.uint8), cv2.DIST_L2, 3)[y, x] for one in candidates]
        scores = np.where(np.array(distance) <= min(distance), scores, -np.inf)
    return int(np.argmax(scores))


def _ground(frame: Frame, candidates: Sequence[SupportCandidate], chosen: int, probability: float) -> Ground:
    """Return a candidate with its outline in the image and a pixel in the middle of what shows it alone."""
    step = subsampling_step(frame, SEARCH_WIDTH)
    inliers = candidates[chosen].inliers
    solid = cv2.morphologyEx(inliers.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    solid = solid if solid.any() else inliers.astype(np.uint8)
    shared = np.any([one.inliers for i, one in enumerate(candidates) if i != chosen] or [~inliers], axis=0)
    alone = np.where(shared, 0, solid).astype(np.uint8)
    distance = cv2.distanceTransform(np.pad(alone if alone.any() else solid, 1), cv2.DIST_L2, 5)[1:-1, 1:-1]
    y, x = np.unravel_index(distance.argmax(), distance.shape)
    outline = cv2.approxPolyDP(cv2.convexHull(cv2.findNonZero(solid)), 1.0, True)[:, 0] * step
    return Ground(outline, (int(x) * step, int(y) * step), probability)


def _score(frame: Frame, candidate: SupportCandidate) -> float:
    """Return the log odds that a candidate is the support. A given camera pose counts for how level it is."""
    score = candidate.log_odds
    if frame.world_from_camera is not None:
        level = float((frame.world_from_camera[:3, :3] @ candidate.plane.normal)[2])
        score += 8 * np.log(max(level, 0.01))
    return score


def _outline(frame: Frame, plane: Plane, inliers: np.ndarray) -> np.ndarray:
    """Return the corners of the table's convex outline, on the plane, in camera axes, of shape (N, 3)."""
    size = max(3, inliers.shape[1] // 100) | 1
    solid = cv2.morphologyEx(inliers.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    solid = cv2.morphologyEx(solid, cv2.MORPH_OPEN, np.ones((size, size), np.uint8))
    pixels = cv2.findNonZero(solid if solid.any() else inliers.astype(np.uint8))
    corners = cv2.approxPolyDP(cv2.convexHull(pixels), 1.5, True)[:, 0]
    if len(corners) < 3:
        corners = cv2.boxPoints(cv2.minAreaRect(pixels))
    corners = np.asarray(corners).round().astype(int)
    height, width = inliers.shape
    rays = pixel_rays(frame)[np.clip(corners[:, 1], 0, height - 1), np.clip(corners[:, 0], 0, width - 1)].astype(float)
    return rays * (-plane.offset / (rays @ plane.normal))[:, None]


def _world_pose(frame: Frame, plane: Plane, outline: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return world_from_camera, of shape (4, 4), and remarks on it."""
    calibrated = frame.world_from_camera
    if calibrated is None:
        return _pose_from_table(plane, outline), ()
    up = calibrated[:3, :3] @ plane.normal
    tilt = float(np.arccos(np.clip(up[2], -1, 1)))
    if tilt > np.radians(60):
        reason = f"the table leans {np.degrees(tilt):.0f} degrees in it: is it camera_from_world, or another camera's?"
        return _pose_from_table(plane, outline), (f"The given camera pose was left aside, for {reason}",)
    middle = transform(calibrated, outline.mean(0))
    levelling = Rotation.align_vectors([[0.0, 0, 1]], [up])[0].as_matrix()  # about the table's middle
    world = np.eye(4)
    world[:3, :3] = levelling @ calibrated[:3, :3]
    world[:3, 3] = levelling @ (calibrated[:3, 3] - middle) + middle - [0, 0, middle[2]]
    far, steep = abs(middle[2]) > POSE_TOLERANCE[0], tilt > POSE_TOLERANCE[1]
    error = f"puts the table's top at z = {middle[2]:.3f} m, leaning {np.degrees(tilt):.1f} degrees"
    return world, (f"The given camera pose {error}; tilt and height follow the table.",) if far or steep else ()


def _pose_from_table(plane: Plane, outline: np.ndarray) -> np.ndarray:
    """Return world_from_camera, of shape (4, 4), with its origin at the centroid of the table's outline."""
    z = plane.normal
    right = np.array([1.0, 0, 0]) - z[0] * z
    x = right / np.linalg.norm(right)
    rotation = np.stack([x, np.cross(z, x), z])
    world = np.eye(4)
    flat = (outline @ rotation.T)[:, :2]
    moments = cv2.moments(flat.astype(np.float32))
    middle = np.array([moments["m10"], moments["m01"]]) / moments["m00"] if moments["m00"] > 1e-9 else flat.mean(0)
    world[:3, :3], world[:3, 3] = rotation, [-middle[0], -middle[1], plane.offset]
    return world


def _signed_area(polygon: np.ndarray) -> float:
    x, y = polygon.T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2
