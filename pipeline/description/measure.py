"""Describe a segment by measurements: size and shape from depth, colour from its pixels."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import cv2
import numpy as np

from pipeline.description.colour import name_colour, white_balance
from pipeline.description.description import Attributes, Description
from pipeline.description.shape_fit import fit_shape
from pipeline.description.silhouette import looks_like
from pipeline.frame import Frame, FurtherView, Support
from pipeline.frame.depth_values import flying_pixels
from pipeline.frame.occlusion import HIDDEN_SHARE, hidden_share
from pipeline.frame.once_per_frame import once_per_frame
from pipeline.frame.plane_extraction import depth_noise, pixel_rays
from pipeline.frame.surfaces import lowered, surface_under
from pipeline.geometry import bounding_box, planar_rotation, transform
from pipeline.segmentation import Segment

MIN_POINTS = 40
"""Measured points below which a size is a guess."""
MAX_SIZE, MIN_SIZE, MIN_HEIGHT = 0.6, 0.012, 0.006
"""Metres; larger segments are furniture, smaller or flatter ones are noise."""
NOUNS = {"irregular": "object", "sphere": "ball"}
"""Noun for a shape, where it is not the shape's own name."""

KIND_DOUBTS = {
    "robot or hand": "It looks like a part of a robot, a hand or a person.",
    "wall or furniture": "It looks like a part of a wall or of furniture.",
}
"""Why a mask of another kind is no object."""

STEP_RANGE = 0.004
"""Metres around the height of a step in which points belong to it."""
MIN_MARGIN = 0.015
"""Metres from a step to the table and to the top of the object."""
MIN_STEP_SHARE = 0.04
"""Share of all points that lie on a step, with upward normals."""


def describe_all(
    frame: Frame, support: Support, segments: Iterable[Segment], views: Sequence[FurtherView] = ()
) -> tuple[Description, ...]:
    """Describe every segment, in order, with unique names."""
    described: list[Description] = []
    for segment in segments:
        described.append(describe(frame, support, segment, [earlier.name for earlier in described], views))
    return tuple(described)


def describe(
    frame: Frame,
    support: Support,
    segment: Segment,
    taken_names: Collection[str] = (),
    views: Sequence[FurtherView] = (),
) -> Description:
    """Describe a segment by measurements; `taken_names` are the names of other objects, `views` measured it too."""
    height, support = (surface := surface_under(frame, support, segment.mask)).height, lowered(surface)
    points, measured = measured_points(frame, support, segment.mask)
    in_air = hanging_height(frame, support, segment.mask)
    bottom = in_air or _bottom_height(frame, support, segment.mask, points)
    points, measured = _with_views(points, measured, height, segment.id, views)
    camera = support.world_from_camera[:3, 3]
    pixel_size = float(np.linalg.norm(points.mean(0) - camera)) / frame.intrinsics.fx
    fit = fit_shape(points, bottom, camera, pixel_size)
    colour, rgb = name_colour(_inner_pixels(_balanced(frame), segment.mask))
    is_sure = bool(fit.is_sure) and (not measured or looks_like(frame, support, segment.mask, fit))
    attributes = Attributes(colour, rgb, fit.shape, fit.size, fit.yaw, fit.centre, fit.error, shape_is_sure=is_sure)
    if in_air is not None:
        doubts = (f"It is {in_air * 100:.0f} cm up in the air with nothing below it: held by a robot or a hand?",)
        is_object = False
    else:
        doubts, is_object = _find_doubts(attributes, points, bottom, measured, segment.mask)
    if segment.kind != "object":
        doubts, is_object = (KIND_DOUBTS[segment.kind], *doubts), False
    if is_object and fit.shape != "bowl" and (step := stacking_height(frame, support, segment.mask)) is not None:
        doubts = (*doubts, f"It may be two objects, one on the other from {step * 100:.0f} cm up: split its mask?")
    confidence = float(np.clip(1 - 4 * fit.error / fit.size.mean(), 0.2, 0.95)) * 0.8 ** len(doubts)
    caption = f"{colour} {_noun_of(attributes)}, {' x '.join(_centimetres(extent) for extent in fit.size)} cm"
    if is_object and measured >= MIN_POINTS and hidden_share(frame, segment.mask) > HIDDEN_SHARE:
        low, high = np.percentile(points @ _box_axes(fit.yaw), (2, 98), axis=0)
        seen = np.minimum(high - low, fit.size)
        doubts = (*doubts, f"A part of it is hidden: {' x '.join(map(_centimetres, seen))} cm show, it may be larger.")
    name = unique_name(name_from_measurements(attributes), taken_names)
    attributes = replace(attributes, centre=attributes.centre + np.array([0, 0, height]))
    return Description(segment.id, is_object, name, caption, attributes, confidence, "measured", doubts)


def _box_axes(yaw: float) -> np.ndarray:
    """Return the axes of an upright box as columns, of shape (3, 3)."""
    axes = np.eye(3)
    axes[:2, :2] = planar_rotation(yaw)
    return axes


def name_from_measurements(attributes: Attributes) -> str:
    """Return a name made of colour and shape: "red_cube"; "red_object" where the shape is not sure."""
    return f"{attributes.colour}_{_noun_of(attributes)}"


def _noun_of(attributes: Attributes) -> str:
    """Return the noun of a measured shape; "object" where it is not sure: a wrong noun is worse than none."""
    return shape_noun(attributes) if attributes.shape_is_sure else "object"


def shape_noun(attributes: Attributes) -> str:
    """Return the noun of the shape that fits best."""
    return NOUNS.get(attributes.shape, attributes.shape)


def with_name(description: Description, name: str, taken_names: Collection[str]) -> Description:
    """Return the description with another name, made unique and valid for a MuJoCo body."""
    words = "".join(letter if letter.isalnum() else "_" for letter in name.strip().lower()).strip("_")
    return replace(description, name=unique_name(words or "object", taken_names))


@once_per_frame
def _balanced(frame: Frame) -> np.ndarray:
    """Return the frame's colours without a cold cast, of shape (H, W, 3), uint8."""
    return white_balance(frame.rgb)


def measured_points(frame: Frame, support: Support, mask: np.ndarray) -> tuple[np.ndarray, int]:
    """Return world points of the mask without flying pixels, of shape (N, 3), and the number of measured ones.

    Without depth, the pixels are placed on an upright plane where the mask's lower edge meets the table.
    """
    depth = np.where(mask, frame.depth, 0)
    solid, window = depth > 0, bounding_box(mask).slices  # nothing outside the mask's box matters, and it is small
    solid[window] &= ~flying_pixels(depth[window], frame.intrinsics.fx)
    solid = solid if solid.sum() > MIN_POINTS else depth > 0
    points = transform(support.world_from_camera, frame.points[solid].astype(float))
    lowest = -2 * depth_noise(depth[solid])
    points = _without_outliers(points[points[:, 2] > lowest])
    if len(points) >= MIN_POINTS // 2:
        return points, len(points)
    rays = pixel_rays(frame)[mask].astype(float)
    hits = -support.plane.offset / np.minimum(rays @ support.plane.normal, -1e-3)
    rows = np.nonzero(mask)[0]
    foot = float(np.median(hits[rows >= np.quantile(rows, 0.95)]))
    return transform(support.world_from_camera, rays * foot), 0


def _with_views(
    points: np.ndarray, measured: int, height: float, segment_id: int, views: Sequence[FurtherView]
) -> tuple[np.ndarray, int]:
    """Return the points (N, 3) with those of further views, above a surface at `height` metres, and their number."""
    fused, kept = [points] if measured else [], measured
    for view in views:
        pixels = view.mask(segment_id) & (view.frame.depth > 0)
        pixels &= ~flying_pixels(np.where(pixels, view.frame.depth, 0), view.frame.intrinsics.fx)
        seen = transform(view.world_from_camera, view.frame.points[pixels].astype(float)) - [0, 0, height]
        seen = seen[seen[:, 2] > -2 * depth_noise(view.frame.depth[pixels])]
        if len(seen) >= MIN_POINTS:
            fused.append(_without_outliers(seen))
            kept += len(fused[-1])
    return (np.concatenate(fused), kept) if kept > measured else (points, measured)


def _without_outliers(points: np.ndarray) -> np.ndarray:
    """Return the points without small groups that are separate on the ground."""
    if len(points) < MIN_POINTS:
        return points
    # Side in metres of the grid cells in which points are connected on the ground
    cells = np.floor((points[:, :2] - np.median(points[:, :2], 0)) / 0.01).astype(int)
    cells = np.clip(cells, -150, 150) + 151
    grid = np.zeros((304, 304), np.uint8)
    grid[tuple(cells.T)] = 1
    _, labels = cv2.connectedComponents(cv2.dilate(grid, np.ones((3, 3), np.uint8)))
    groups = np.asarray(labels, int)[tuple(cells.T)]
    size = np.bincount(groups)
    return points[size[groups] >= 0.1 * size.max()]


def hanging_height(frame: Frame, support: Support, mask: np.ndarray) -> float | None:
    """Return the height in metres of an object in the air above its surface; None if it stands, or may.

    Below its lower edge the camera sees the surface far behind it, and nothing that it may stand on.
    """
    box, offset = bounding_box(mask), max(4, mask.shape[0] // 80)
    window = slice(box.top, box.bottom + offset), slice(box.left, box.right)
    mask, depth, points = mask[window], frame.depth[window], frame.points[window]
    own = mask & (depth > 0)
    if own.sum() < MIN_POINTS:
        return None
    low = float(np.percentile(transform(support.world_from_camera, points[own].astype(float))[:, 2], 3))
    above = np.zeros_like(depth)  # depth of the object so many pixels higher up
    above[offset:] = np.where(own, depth, 0)[:-offset]
    below = ~mask & (depth > 0) & (above > 0)
    # Height in metres below which depth that is torn at the edge may look like a gap
    if low < 0.04 or below.sum() < 20:
        return None
    heights = transform(support.world_from_camera, points[below].astype(float))[:, 2]
    # 0.015: height in metres from which, and up to the object, something may be what it stands on
    free = (heights < 0.015) | (heights > low + 0.05)
    # 0.05: metres by which the surface must be farther away, at 0.9 of the edge: 0.42 of it at most for what stands
    return low if float((free & (depth[below] > above[below] + 0.05)).mean()) > 0.9 else None


def _bottom_height(frame: Frame, support: Support, mask: np.ndarray, points: np.ndarray) -> float:
    """Return the height in metres of the surface that the object stands on: 0 for the table."""
    low = float(np.percentile(points[:, 2], 3))
    if low < 0.025:
        return 0.0
    offset = max(4, mask.shape[0] // 80)
    below = np.zeros_like(mask)
    below[offset:] = mask[:-offset]
    below &= ~mask & (frame.depth > 0)
    if below.sum() < 10:
        return 0.0
    distance = float(np.median(frame.depth[mask & (frame.depth > 0)])) if (mask & (frame.depth > 0)).any() else 0.0
    hidden = np.median(frame.depth[below]) < distance - 0.04  # an object in front hides the lower edge
    heights = transform(support.world_from_camera, frame.points[below].astype(float))[:, 2]
    return low if not hidden and float(np.median(heights)) > 0.015 else 0.0


def _inner_pixels(rgb: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return colours inside the mask, of shape (N, 3), without its edge, which mixes with the background."""
    distance = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 3)[1:-1, 1:-1]
    return rgb[distance > min(4.0, 0.5 * float(distance.max()))]


def _find_doubts(
    attributes: Attributes, points: np.ndarray, bottom: float, measured: int, mask: np.ndarray
) -> tuple[tuple[str, ...], bool]:
    """Return the doubts, one sentence each, and whether the segment is an object."""
    size, low = attributes.size, float(np.percentile(points[:, 2], 3))
    hull = cv2.contourArea(cv2.convexHull(cv2.findNonZero(mask.astype(np.uint8))))
    thin = mask.sum() < 0.35 * hull and size[2] < 0.03
    against = [
        (size.max() > MAX_SIZE, f"{size.max():.2f} m is too large for an object on a table."),
        (size.max() < MIN_SIZE, f"{size.max() * 100:.1f} cm is too small to distinguish from noise."),
        (size[2] < MIN_HEIGHT, f"It rises only {size[2] * 1000:.0f} mm above the table: print, a shadow or noise."),
        (
            # 0.003: metres above the table below which points belong to the table
            measured > 0 and float(np.percentile(points[:, 2], 80)) < 0.003,
            "Most of it lies flat on the table: print, a shadow or noise.",
        ),
        (thin, "It is long and thin and lies flat: a cable?"),
        (
            bottom == 0 and low > 0.25,
            f"It hangs {low * 100:.0f} cm above the table: a robot or an object in its gripper?",
        ),
    ]
    unsure = [
        (measured == 0, "No depth was measured: position and size are estimated from its outline."),
        (0 < measured < MIN_POINTS, f"Only {measured} points were measured."),
        (
            bottom == 0 and 0.03 < low <= 0.25,
            f"Its lowest {low * 100:.0f} cm are hidden; it is assumed to stand on the table.",
        ),
        (bottom > 0, f"It rests on an object {bottom * 100:.0f} cm high."),
    ]
    doubts = tuple(sentence for applies, sentence in against + unsure if applies)
    return doubts, not any(applies for applies, _ in against)


def _centimetres(extent: float) -> str:
    return f"{extent * 100:.0f}" if extent >= 0.02 else f"{extent * 100:.1f}"


def unique_name(name: str, taken_names: Collection[str]) -> str:
    """Return the name, with a number if it is taken: "red_cube", "red_cube_2"."""
    number = 2
    unique = name
    while unique in taken_names:
        unique, number = f"{name}_{number}", number + 1
    return unique


def lasting_names(names: Mapping[int, str], former: Mapping[int, str]) -> dict[int, str]:
    """Return the former names of the objects whose new names differ from them at most in the number, by segment id.

    Who keeps these names first and numbers the others around them renames no object because another one changed.
    """
    return {id: former[id] for id, name in names.items() if id in former and _stem(former[id]) == _stem(name)}


def _stem(name: str) -> str:
    return re.sub(r"_\d+$", "", name)


def stacking_height(frame: Frame, support: Support, mask: np.ndarray) -> float | None:
    """Return the height in metres at which one object stands on another; None if the mask shows one object.

    Colour alone would separate a bottle from its cap, and a step alone a drill from its battery.
    """
    inner = cv2.erode(mask.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool) & (frame.depth > 0)
    if inner.sum() < 200:
        return None
    points = transform(support.world_from_camera, frame.points[inner].astype(float))
    lab = cv2.cvtColor(frame.rgb[inner][None].astype(np.float32) / 255, cv2.COLOR_RGB2LAB)[0]
    # Points that are evaluated; more are subsampled
    step = max(1, len(points) // 1500)
    points, lab = points[::step], lab[::step]
    top = float(np.quantile(points[:, 2], 0.98))
    step_heights = points[_is_level(points, support.world_from_camera[:3, 3]), 2]
    step_heights = step_heights[(step_heights > MIN_MARGIN) & (step_heights < top - MIN_MARGIN)]
    if len(step_heights) < MIN_STEP_SHARE * len(points):
        return None
    counts, edges = np.histogram(step_heights, bins=np.arange(MIN_MARGIN, top, STEP_RANGE / 2))
    if not len(counts):
        return None
    windowed = np.convolve(counts, np.ones(3), "same")
    height = float(edges[int(windowed.argmax())] + STEP_RANGE / 4)
    above, below = points[:, 2] > height + STEP_RANGE, points[:, 2] < height - STEP_RANGE
    # 0.12: share of all points in each of the two parts
    if windowed.max() < MIN_STEP_SHARE * len(points) or min(above.mean(), below.mean()) < 0.12:
        return None
    distance = float(np.linalg.norm(np.median(lab[above], axis=0) - np.median(lab[below], axis=0)))
    # Distance in CIELAB between the parts above and below the step, from which their colours differ
    return height if distance > 28.0 else None


def _is_level(points: np.ndarray, camera: np.ndarray) -> np.ndarray:
    """Return which points (N, 3) lie on a surface with an upward normal, of shape (N,), bool."""
    import open3d  # takes a second to import

    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))
    cloud.estimate_normals(open3d.geometry.KDTreeSearchParamKNN(20))
    cloud.orient_normals_towards_camera_location(camera)
    return np.asarray(cloud.normals)[:, 2] > 0.85
