"""Find the support (the table and its shelves): planes, regions in the image, and the world frame on the table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.frame.frame import Frame, FrameError, FurtherView, subsampling_step
from pipeline.frame.once_per_frame import once_per_frame
from pipeline.frame.plane_extraction import (
    SEARCH_WIDTH,
    depth_noise,
    pixel_rays,
    plane_inliers,
    refine_plane,
    subsample_frame,
    with_hidden_parts,
)
from pipeline.frame.support_candidates import SupportCandidate, find_apart, find_candidates
from pipeline.geometry import Plane, transform
from pipeline.one_blas_thread import one_blas_thread

POSE_TOLERANCE = (0.10, float(np.radians(10)))
"""Metres and radians between the frame's camera pose and the measured table up to which no note is added."""
MAX_LEAN = float(np.radians(8))
"""Radians between two surfaces up to which both are taken as level: an object on a board at 5 degrees is 6 mm off."""
MIN_GROUND_PROBABILITY = 0.1
"""Probability from which a surface is offered as another ground."""
MIN_SHELF_PROBABILITY = 0.01
"""The same for one that carries objects and is parallel to the ground: 0.02 to 0.05 for shelves on drawn tables."""


class SupportError(FrameError):
    """A frame in which no table can be found."""


@dataclass(frozen=True, eq=False)
class Support:
    """The surface that objects stand on: the table, or a shelf above it. World frame: z up, table top at z = 0.

    If the frame has no camera pose, the world's origin is the centroid of the table's visible outline, x points to the
    camera's right and y away from the camera.
    """

    world_from_camera: np.ndarray
    """Of shape (4, 4). That of a shelf is turned about the shelf's middle so that its top is level."""
    plane: Plane
    """In camera axes, the normal towards the camera."""
    polygon: np.ndarray
    """Convex outline of the visible top, of shape (N, 2), world x and y in metres, anticlockwise."""
    inliers: np.ndarray
    """Pixels that show the top, of shape (H, W), bool."""
    notes: tuple[str, ...] = ()
    """Remarks on the pose and on further surfaces, one sentence each."""
    height: float = 0.0
    """Metres of its top above the table; 0 for the table."""
    shelves: tuple["Support", ...] = ()
    """Further surfaces that a person chose, the lowest first. A shelf has none."""


@dataclass(frozen=True, eq=False)
class Observation:
    """What the camera measured: the frame and the support in it, and further views of the same table."""

    frame: Frame
    support: Support
    views: tuple[FurtherView, ...] = ()


@dataclass(frozen=True, eq=False)
class Ground:
    """A surface that may carry the objects, as a person may choose it."""

    outline: np.ndarray
    """Convex outline in the image, of shape (N, 2), x and y in pixels."""
    pixel: tuple[int, int]
    """A pixel (x, y) that shows it and no other surface, for `Frame.ground_pixel`."""
    probability: float
    """Of being the surface that carries the objects."""
    chosen: bool = False
    """Whether it is the present ground or was chosen beside it."""
    parallel: bool = False
    """Whether it may carry objects together with the present ground."""
    is_likely: bool = True
    """Whether it may be the ground by itself."""


@dataclass(frozen=True, eq=False)
class _Surface:
    """One of the surfaces that a person chose, in camera axes."""

    pixel: tuple[int, int] | None
    plane: Plane
    inliers: np.ndarray
    middle: np.ndarray
    """Centre of its outline, of shape (3,)."""


@once_per_frame
@one_blas_thread()
def find_support(frame: Frame) -> Support:
    """Return the surface that most likely carries the objects, refined on all its pixels. Raises SupportError.

    A surface that a person chose by `ground_pixel` takes precedence. Of several that a person chose, the lowest is the
    table, and those above it are its shelves. Raises SupportError for those that lean against the first.
    If the frame has a `world_from_camera`, its x, y and heading are used; tilt and height follow the measured table.
    """
    candidates = find_candidates(frame)
    if not candidates:
        raise SupportError(
            "No flat surface that objects could stand on is found in the depth image; "
            "point the camera at a table, floor or bin 0.3 to 3 m away."
        )
    pixels = (frame.ground_pixel, *frame.also_ground_pixels)
    surfaces = [_surface(frame, candidates, pixel) for pixel in pixels]
    table, level, above = _by_height(frame, surfaces)
    inliers = np.any([table.inliers, *(one.inliers for one in level)], axis=0)
    outline = _outline(frame, table.plane, inliers)
    world, notes = _world_pose(frame, table.plane, outline)
    polygon, shelves = _polygon(world, outline), tuple(_shelf(frame, one, world) for one in above)
    return Support(world, table.plane, polygon, inliers, (*notes, *map(_level_note, level)), shelves=shelves)


def _surface(frame: Frame, candidates: Sequence[SupportCandidate], pixel: tuple[int, int] | None) -> _Surface:
    """Return the surface at a pixel, or the likeliest one, refined on all its pixels."""
    if pixel is not None:
        candidates = [*candidates, *find_apart(frame)]
    chosen = candidates[_choose(frame, candidates, pixel)]
    plane, _ = refine_plane(subsample_frame(frame, 640), chosen.plane)
    seeds = None
    if chosen.is_apart:
        h, w = frame.depth.shape
        seeds = cv2.resize(chosen.inliers.astype(np.uint8), (w, h), interpolation=cv2.INTER_NEAREST) > 0
    inliers = plane_inliers(frame, plane, seeds)
    return _Surface(pixel, plane, inliers, _outline(frame, plane, inliers).mean(0))


def _by_height(frame: Frame, surfaces: Sequence[_Surface]) -> tuple[_Surface, list[_Surface], list[_Surface]]:
    """Return the table, which is the lowest surface, those as high as it, and those above it, the lowest first.

    A surface above the table that was chosen twice counts once. Raises SupportError.
    """
    first = surfaces[0]
    for one in surfaces[1:]:
        _require_parallel(one, first)
    rising = sorted(surfaces, key=lambda one: float(first.plane.height(one.middle)))
    table = first if _is_level_with(frame, first, rising[0]) else rising[0]
    level, above = [], []
    for one in (one for one in rising if one is not table):
        if _is_level_with(frame, one, table):
            level.append(one)
        elif not any((one.inliers & other.inliers).any() for other in above):
            above.append(one)
    return table, level, above


def _require_parallel(one: _Surface, first: _Surface) -> None:
    """Raise SupportError if a surface leans against the first by more than MAX_LEAN."""
    lean = float(np.arccos(np.clip(one.plane.normal @ first.plane.normal, -1, 1)))
    if lean > MAX_LEAN and one.pixel is not None:
        raise SupportError(
            f"The surface at pixel {one.pixel[0]}, {one.pixel[1]} leans {np.degrees(lean):.0f} degrees against the "
            f"first; surfaces that carry objects together lean at most {np.degrees(MAX_LEAN):.0f}. Leave it out."
        )


def _is_level_with(frame: Frame, one: _Surface, table: _Surface) -> bool:
    """Whether a surface is no higher than the table, as far as depth can tell."""
    return abs(float(table.plane.height(one.middle))) < 2 * float(np.median(depth_noise(frame.depth[one.inliers])))


def _level_note(one: _Surface) -> str:
    x, y = one.pixel or (0, 0)
    return f"The surface at pixel {x}, {y} is as high as the table; both are one table."


def _shelf(frame: Frame, one: _Surface, world: np.ndarray) -> Support:
    """Return a surface above the table as a shelf; `world` is the table's world_from_camera."""
    inliers = with_hidden_parts(frame, one.plane, one.inliers)
    outline = _outline(frame, one.plane, inliers)
    levelled, middle = _levelled(world, one.plane, outline.mean(0))
    return Support(levelled, one.plane, _polygon(levelled, outline), inliers, height=float(middle[2]))


def _polygon(world_from_camera: np.ndarray, outline: np.ndarray) -> np.ndarray:
    """Return an outline (N, 3) in camera axes as world x and y, of shape (N, 2), anticlockwise."""
    polygon = transform(world_from_camera, outline)[:, :2]
    return polygon if _signed_area(polygon) > 0 else polygon[::-1]


def likely_grounds(frame: Frame) -> tuple[Ground, ...]:
    """Return the surfaces that may carry the objects: those `find_support` chooses, then others, likely ones first.

    Others have a probability of at least MIN_GROUND_PROBABILITY. Empty if no surface is found.
    """
    return tuple(one for one in offered_grounds(frame) if one.is_likely)


@once_per_frame
def offered_grounds(frame: Frame) -> tuple[Ground, ...]:
    """Return the likely grounds, then others that may carry objects together with the first: shelves, other tables."""
    candidates = find_candidates(frame)
    if not candidates:
        return ()
    count, candidates = len(candidates), [*candidates, *find_apart(frame)]
    scores = np.array([_score(frame, one) for one in candidates])
    probabilities = np.exp(scores - scores[:count].max()) / np.exp(scores[:count] - scores[:count].max()).sum()
    probabilities[count:] = probabilities[count:] / (1 + probabilities[count:].sum())
    pixels = (frame.ground_pixel, *frame.also_ground_pixels)
    chosen = list(dict.fromkeys(_choose(frame, candidates[: None if pixel else count], pixel) for pixel in pixels))
    first, order = candidates[chosen[0]], np.argsort(-scores)
    parallel = [float(one.plane.normal @ first.plane.normal) >= np.cos(MAX_LEAN) for one in candidates]
    likely = [i for i in order if i < count and probabilities[i] >= MIN_GROUND_PROBABILITY]
    possible = [i for i in order if parallel[i] and probabilities[i] >= MIN_SHELF_PROBABILITY]
    shelves = [i for i in possible if candidates[i].object_count and not _is_part_of(frame, candidates[i], first)]
    return tuple(
        replace(
            _ground(frame, candidates, i, float(probabilities[i])),
            chosen=i in chosen,
            parallel=parallel[i],
            is_likely=i in likely or i in chosen,
        )
        for i in dict.fromkeys((*chosen, *likely, *shelves))
    )


def _is_part_of(frame: Frame, one: SupportCandidate, ground: SupportCandidate) -> bool:
    """Whether a candidate is as high as the ground and not apart from it, so that both are one surface."""
    if one.is_apart:
        return False
    small = subsample_frame(frame, SEARCH_WIDTH)
    heights = ground.plane.height(small.points[one.inliers])
    return float(np.median(np.abs(heights))) < 2 * float(np.median(depth_noise(small.depth[one.inliers])))


def _choose(frame: Frame, candidates: Sequence[SupportCandidate], pixel: tuple[int, int] | None) -> int:
    """Return the index of the surface at a pixel that a person chose, else of the most likely one."""
    scores = np.array([_score(frame, candidate) for candidate in candidates])
    if pixel is not None:
        h, w = candidates[0].inliers.shape
        step = subsampling_step(frame, SEARCH_WIDTH)
        x, y = (min(max(at // step, 0), size - 1) for at, size in zip(pixel, (w, h), strict=True))
        distance = [cv2.distanceTransform((~one.inliers).astype(np.uint8), cv2.DIST_L2, 3)[y, x] for one in candidates]
        scores = np.where(np.array(distance) <= min(distance), scores, -np.inf)
    return int(np.argmax(scores))


def _ground(frame: Frame, candidates: Sequence[SupportCandidate], number: int, probability: float) -> Ground:
    """Return a candidate with its outline in the image and a pixel in the middle of what shows it alone."""
    step = subsampling_step(frame, SEARCH_WIDTH)
    inliers = candidates[number].inliers
    solid = cv2.morphologyEx(inliers.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    solid = solid if solid.any() else inliers.astype(np.uint8)
    shared = np.any([one.inliers for i, one in enumerate(candidates) if i != number] or [~inliers], axis=0)
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
    world, middle = _levelled(calibrated, plane, outline.mean(0))
    world[:3, 3] -= [0, 0, middle[2]]
    far, steep = abs(middle[2]) > POSE_TOLERANCE[0], tilt > POSE_TOLERANCE[1]
    error = f"puts the table's top at z = {middle[2]:.3f} m, leaning {np.degrees(tilt):.1f} degrees"
    return world, (f"The given camera pose {error}; tilt and height follow the table.",) if far or steep else ()


def _levelled(
    world_from_camera: np.ndarray, plane: Plane, middle_in_camera: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pose (4, 4) turned about a point of the plane so that the plane is level, and that point in world."""
    middle = transform(world_from_camera, middle_in_camera)
    up = world_from_camera[:3, :3] @ plane.normal
    levelling = Rotation.align_vectors([[0.0, 0, 1]], [up])[0].as_matrix()
    world = np.eye(4)
    world[:3, :3] = levelling @ world_from_camera[:3, :3]
    world[:3, 3] = levelling @ (world_from_camera[:3, 3] - middle) + middle
    return world, middle


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
