"""What depth, colour and outline say about SAM 2's masks: whether one shows an object, and whether two show the same.

Both are logistic regressions over measured terms, fitted on drawn scenes of many grounds, layouts and depth cameras
(`python -m bench.sam2_fit`), on no photograph. SAM 2's own scores do not tell a whole from its part. Whether a
mask shows an object is mostly the affinity network's probability over it: it knows stains, shadows and carpet.
"""

from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.frame import Frame, Support, SupportError, find_support, register_depth
from pipeline.frame.frame import subsampling_step
from pipeline.frame.surfaces import local_points, surfaces
from pipeline.geometry import bounding_box
from pipeline.segmentation.depth.affinity import objectness
from pipeline.segmentation.depth.click_network import FrameNetworks
from pipeline.segmentation.depth.height_map import height_map
from pipeline.segmentation.mask_operations import WORKING_WIDTH, convex_hull, hull_area

RING = 5
"""Pixels at working size on each side of a border that are compared."""
OBJECT_WEIGHTS = {
    "known": 0.82, "on_plane": -0.6, "top": -0.12, "image_border": -4.13, "area": -0.58, "contrast": -0.79,
    "step": 2.09, "solidity": 2.04, "ring_known": -1.14, "lifted": 0.62, "objectness": 3.19, "objectness_gain": 3.43,
    "top_objectness": 1.12, "bias": -4.9,
}  # fmt: skip
BORDER_WEIGHTS = {
    "step": 3.67, "known": -0.47, "solidity_gain": 0.08, "hull_overlap": -0.96, "hue": 0.62, "lightness": 0.25,
    "footprint": 0.86, "rest_is_mask": 6.42, "length": -1.73, "balance": -0.58, "bias": -4.17,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class SceneDepth:
    """The frame's points and colours at working size (h, w)."""

    points: np.ndarray
    """World points in metres, z above the table or shelf under them, of shape (h, w, 3), float32, NaN where depth is
    unknown."""
    depth: np.ndarray
    """Depth in metres, of shape (h, w), float32, 0 where unknown."""
    lab: np.ndarray
    """CIELAB colours, of shape (h, w, 3), float32, 8-bit range."""
    table: np.ndarray
    """Pixels that show the top of the table or of a shelf, of shape (h, w), bool."""
    step: int
    """Pixels of the frame per pixel at working size."""
    has_table: bool = True
    """Whether a table was found; else points are in the camera's axes and heights mean nothing."""
    objectness: np.ndarray | None = None
    """The affinity network's probability that a pixel shows an object, of shape (h, w), float32; None without table."""

    @staticmethod
    def from_frame(frame: Frame, support: Support | None = None) -> "SceneDepth":
        """Read a frame. `support` is its table, found if None."""
        frame = register_depth(frame)
        try:
            support = support or find_support(frame)
        except SupportError:
            support = None
        step = subsampling_step(frame, WORKING_WIDTH)
        points = frame.points[::step, ::step]
        rgb = np.ascontiguousarray(frame.rgb[::step, ::step])
        lab = cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB).astype(np.float32)
        depth = np.nan_to_num(frame.depth[::step, ::step]).astype(np.float32)
        if support is None:
            return SceneDepth(points, depth, lab, np.zeros(depth.shape, bool), step, False)
        points = local_points(support, points, step).points
        table = np.any([one.inliers[::step, ::step] for one in surfaces(support)], axis=0)
        return SceneDepth(points, depth, lab, table, step, objectness=_objectness(frame, support, step))


def _objectness(frame: Frame, support: Support, step: int) -> np.ndarray:
    """Return the affinity network's probability that each `step`-th pixel shows an object."""
    view = height_map(frame, support)
    probability = objectness(FrameNetworks(view).affinities, view.depth.shape)
    rows, cols = (
        np.minimum(np.arange(0, full, step) // view.step, small - 1)
        for full, small in zip(frame.depth.shape, view.depth.shape, strict=True)
    )
    return probability[np.ix_(rows, cols)]


def object_probability(scene: SceneDepth, mask: np.ndarray) -> float:
    """Return the probability that a mask (h, w) shows an object or a part of one, not the ground or a wall."""
    return _probability(object_terms(scene, mask), OBJECT_WEIGHTS)


def separate_probability(scene: SceneDepth, one: np.ndarray, other: np.ndarray, others_are_masks: float) -> float:
    """Return the probability that two masks (h, w) that touch show two objects, not parts of one.

    `others_are_masks` is the IoU of `other` with the most similar of SAM 2's own masks, in [0, 1].
    """
    return _probability(border_terms(scene, one, other, others_are_masks), BORDER_WEIGHTS)


def _probability(terms: dict[str, float], weights: dict[str, float]) -> float:
    odds = weights["bias"] + sum(weights[name] * value for name, value in terms.items())
    return float(1 / (1 + np.exp(-np.clip(odds, -50, 50))))


def object_terms(scene: SceneDepth, mask: np.ndarray) -> dict[str, float]:
    """Return the terms of `object_probability` by name; shares, and lengths in decimetres."""
    box = bounding_box(mask).padded(RING + 2, mask.shape)
    rows, cols = box.slices
    own, depth, lab = mask[rows, cols], scene.depth[rows, cols], scene.lab[rows, cols]
    points, table = scene.points[rows, cols], scene.table[rows, cols]
    near = cv2.dilate(own.astype(np.uint8), np.ones((2 * RING + 1,) * 2, np.uint8)) > 0
    ring, inner = near & ~own, own & (cv2.erode(own.astype(np.uint8), np.ones((RING, RING), np.uint8)) == 0)
    known = own & (depth > 0)
    heights = points[known][:, 2] if scene.has_table else np.zeros(1)
    heights = heights if len(heights) > 20 else np.zeros(1)
    ring_heights = points[ring & (depth > 0)][:, 2] if scene.has_table else np.zeros(1)
    around = float(np.median(ring_heights)) if len(ring_heights) > 20 else 0.0
    edge = np.zeros_like(mask)
    edge[[0, -1]], edge[:, [0, -1]] = True, True
    outline = max(1, int(inner.sum() / max(1, RING // 2)))
    shown = np.full(own.shape, 0.5, np.float32) if scene.objectness is None else scene.objectness[rows, cols]
    shown_inside = float(shown[own].mean()) if own.any() else 0.5
    colours = [np.median(lab[part], axis=0) if part.any() else np.zeros(3) for part in (inner, ring)]
    return {
        "known": known.sum() / max(1, own.sum()),
        "on_plane": float((np.abs(heights) < 0.008).mean())
        if scene.has_table and len(heights) > 1
        else float((table & own).sum() / max(1, own.sum())),
        "top": float(np.clip(np.percentile(heights, 95), -0.1, 0.5)) * 10,
        "image_border": min(1.0, (mask & edge).sum() / outline),
        "area": float(np.log10(max(1e-5, mask.mean()))),
        "contrast": float(np.linalg.norm(colours[0] - colours[1])) / 50,
        "step": _step_share(depth, own, ring)[0],
        "solidity": float(own.sum() / max(1, convex_hull(own).sum())),
        "ring_known": float((depth[ring] > 0).mean()) if ring.any() else 0.0,
        "lifted": float(np.clip(np.median(heights) - around, -0.1, 0.3)) * 10,
        "objectness": shown_inside,
        "objectness_gain": shown_inside - float(shown[ring].mean()) if ring.any() else 0.0,
        "top_objectness": float(np.percentile(shown[own], 80)) if own.any() else 0.5,
    }


def border_terms(scene: SceneDepth, one: np.ndarray, other: np.ndarray, rest_is_mask: float) -> dict[str, float]:
    """Return the terms of `separate_probability` by name."""
    both = one | other
    box = bounding_box(both).padded(RING, both.shape)
    rows, cols = box.slices
    a, b, depth, lab = one[rows, cols], other[rows, cols], scene.depth[rows, cols], scene.lab[rows, cols]
    step, known, length = _step_share(depth, a, b)
    hulls = [convex_hull(part) for part in (a, b)]
    small, large = sorted((int(a.sum()), int(b.sum())))
    overlap = max((hulls[0] & b).sum() / max(1, b.sum()), (hulls[1] & a).sum() / max(1, a.sum()))
    solidity = [part.sum() / max(1, hull.sum()) for part, hull in zip((a, b), hulls, strict=True)]
    whole = (a | b).sum() / max(1, convex_hull(a | b).sum())
    colours = [np.median(lab[part], axis=0) for part in (a, b)]
    areas = [footprint(scene.points[rows, cols], part) for part in (a, b)]
    ratio = footprint(scene.points[rows, cols], a | b) / max(*areas, 1e-6) if scene.has_table and min(areas) else 1.2
    return {
        "step": step,
        "known": known,
        "solidity_gain": float(min(solidity) - whole) * 5,
        "hull_overlap": float(overlap),
        "hue": float(np.linalg.norm(colours[0][1:] - colours[1][1:])) / 25,
        "lightness": float(abs(colours[0][0] - colours[1][0])) / 50,
        "footprint": float(np.clip(ratio, 1, 2) - 1),
        "rest_is_mask": rest_is_mask,
        "length": float(np.clip(length / np.sqrt(small + 1), 0, 3)),
        "balance": small / max(1, large),
    }


def _step_share(depth: np.ndarray, one: np.ndarray, other: np.ndarray) -> tuple[float, float, int]:
    """Return the share of the known border with a step in depth, the share that is known, and its length in pixels.

    The nearest known depths on both sides are compared, as means over a few pixels.
    """
    kernel = np.ones((3, 3), np.uint8)
    border = (cv2.dilate(one.astype(np.uint8), kernel) > 0) & other
    border |= (cv2.dilate(other.astype(np.uint8), kernel) > 0) & one
    length = int(border.sum()) // 2
    means = []
    for side in (one, other):
        valid = (side & (depth > 0)).astype(np.float32)
        weight = cv2.boxFilter(valid, -1, (2 * RING + 1,) * 2, normalize=False)
        total = cv2.boxFilter(valid * depth, -1, (2 * RING + 1,) * 2, normalize=False)
        means.append(np.where(weight >= 4, total / np.maximum(weight, 1), np.nan)[border])
    if not length:
        return 0.0, 0.0, 0
    difference = np.abs(means[0] - means[1]) / np.fmin(*means)
    known = np.isfinite(difference)
    # Share of the distance by which depth must change across a border to be a step: noise stays below it
    return (float((difference[known] > 0.012).mean()) if known.any() else 0.0), float(known.mean()), length


def footprint(points: np.ndarray, mask: np.ndarray) -> float:
    """Return the area (m^2) of the convex hull of a mask's points (h, w, 3) on the ground, without the outermost."""
    ground = points[mask][:, :2]
    ground = ground[np.isfinite(ground).all(1)]
    if len(ground) < 10:
        return 0.0
    distance = np.linalg.norm(ground - np.median(ground, 0), axis=1)
    return float(hull_area(ground[distance <= np.quantile(distance, 0.98)]))
