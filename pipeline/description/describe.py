"""A segment measured: its points above the table, its pixels' colour, and so a name and a caption."""

from collections.abc import Collection, Iterable
from dataclasses import replace

import cv2
import numpy as np

from pipeline.description.colour import balanced, name_colour
from pipeline.description.description import Attributes, Description
from pipeline.description.shape import fit_shape
from pipeline.description.stacked import step_height
from pipeline.frame import Frame, Support
from pipeline.frame.planes import noise, pixel_rays
from pipeline.geometry import transform
from pipeline.segmentation import Segment

FEWEST = 40
"""Points below which a size is a guess."""
LARGEST, SMALLEST, THINNEST = 0.6, 0.012, 0.006
"""Metres: what is larger is furniture, what is smaller or flatter is noise."""
FLAT = 0.003
"""Metres above the table below which most of a thing's points are the table's own."""
CELL = 0.01
NOUNS = {"irregular": "object", "sphere": "ball"}
"""What a person calls a thing of a shape, where that is another word."""


def describe_all(frame: Frame, support: Support, segments: Iterable[Segment]) -> tuple[Description, ...]:
    """Every segment described, names unique, in the segments' order."""
    described: list[Description] = []
    for segment in segments:
        described.append(describe(frame, support, segment, [done.name for done in described]))
    return tuple(described)


def describe(frame: Frame, support: Support, segment: Segment, taken: Collection[str] = ()) -> Description:
    """What can be measured of a segment; `taken` are the names already given away."""
    points, measured = _points(frame, support, segment.mask)
    bottom = _bottom(frame, support, segment.mask, points)
    camera = support.world_from_camera[:3, 3]
    pixel = float(np.linalg.norm(points.mean(0) - camera)) / frame.intrinsics.fx
    fit = fit_shape(points, bottom, camera, pixel)
    colour, rgb = name_colour(_pixels(balanced(frame.rgb), segment.mask))
    seen = Attributes(colour, rgb, fit.shape, fit.size, fit.yaw, fit.centre, fit.error)
    doubts, is_object = _doubts(seen, points, bottom, measured, segment.mask)
    if is_object and fit.shape != "bowl" and (step := step_height(frame, support, segment.mask)) is not None:
        doubts = (*doubts, f"It seems to be two things, one on the other from {step * 100:.0f} cm up: split its mask?")
    noun = NOUNS.get(fit.shape, fit.shape)
    confidence = float(np.clip(1 - 4 * fit.error / fit.size.mean(), 0.2, 0.95)) * 0.8 ** len(doubts)
    caption = f"{colour} {noun}, {' x '.join(_centimetres(extent) for extent in fit.size)} cm"
    name = unused(measured_name(seen), taken)
    return Description(segment.id, is_object, name, caption, seen, confidence, "measured", doubts)


def measured_name(seen: Attributes) -> str:
    """What a thing is called of which only colour and shape are known: "red_cube"."""
    return f"{seen.colour}_{NOUNS.get(seen.shape, seen.shape)}"


def renamed(description: Description, name: str, taken: Collection[str]) -> Description:
    """The same under another name, made fit for a MuJoCo body and unique."""
    words = "".join(letter if letter.isalnum() else "_" for letter in name.strip().lower()).strip("_")
    return replace(description, name=unused(words or "object", taken))


def _points(frame: Frame, support: Support, mask: np.ndarray) -> tuple[np.ndarray, int]:
    """World points of the mask without what bleeds over its edge, of shape (N, 3), and how many were measured.

    Where depth is missing altogether, the outline stands upright where its foot meets the table.
    """
    depth = np.where(mask, frame.depth, 0)
    far = cv2.dilate(depth, np.ones((3, 3), np.uint8))
    near = cv2.erode(np.where(depth > 0, depth, 1e3).astype(np.float32), np.ones((3, 3), np.uint8))
    limit = 0.004 + 0.002 * depth**2 + 8 * depth / frame.intrinsics.fx
    solid = (depth > 0) & (far - near < limit)
    solid = solid if solid.sum() > FEWEST else depth > 0
    points = transform(support.world_from_camera, frame.points[solid].astype(float))
    low = -2 * noise(depth[solid])
    points = _together(points[points[:, 2] > low])
    if len(points) >= FEWEST // 2:
        return points, len(points)
    rays = pixel_rays(frame)[mask].astype(float)
    hits = -support.plane.offset / np.minimum(rays @ support.plane.normal, -1e-3)
    rows = np.nonzero(mask)[0]
    foot = float(np.median(hits[rows >= np.quantile(rows, 0.95)]))
    return transform(support.world_from_camera, rays * foot), 0


def _together(points: np.ndarray) -> np.ndarray:
    """The points without small groups that lie apart on the ground."""
    if len(points) < FEWEST:
        return points
    cells = np.floor((points[:, :2] - np.median(points[:, :2], 0)) / CELL).astype(int)
    cells = np.clip(cells, -150, 150) + 151
    grid = np.zeros((304, 304), np.uint8)
    grid[tuple(cells.T)] = 1
    _, labels = cv2.connectedComponents(cv2.dilate(grid, np.ones((3, 3), np.uint8)))
    own = np.asarray(labels, int)[tuple(cells.T)]
    size = np.bincount(own)
    return points[size[own] >= 0.1 * size.max()]


def _bottom(frame: Frame, support: Support, mask: np.ndarray, points: np.ndarray) -> float:
    """Height in metres at which the thing rests: 0 on the table, else the top of what is seen right below it."""
    low = float(np.percentile(points[:, 2], 3))
    if low < 0.025:
        return 0.0
    reach = max(4, mask.shape[0] // 80)
    below = np.zeros_like(mask)
    below[reach:] = mask[:-reach]
    below &= ~mask & (frame.depth > 0)
    if below.sum() < 10:
        return 0.0
    own = float(np.median(frame.depth[mask & (frame.depth > 0)])) if (mask & (frame.depth > 0)).any() else 0.0
    nearer = np.median(frame.depth[below]) < own - 0.04  # what stands in front hides the foot
    heights = transform(support.world_from_camera, frame.points[below].astype(float))[:, 2]
    return low if not nearer and float(np.median(heights)) > 0.015 else 0.0


def _pixels(rgb: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Colours of the mask's inside, of shape (N, 3): its edge takes colour from what lies behind."""
    depth = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 3)[1:-1, 1:-1]
    return rgb[depth > min(4.0, 0.5 * float(depth.max()))]


def _doubts(
    seen: Attributes, points: np.ndarray, bottom: float, measured: int, mask: np.ndarray
) -> tuple[tuple[str, ...], bool]:
    """What is in doubt, one sentence each, and whether it is an object at all."""
    size, low = seen.size, float(np.percentile(points[:, 2], 3))
    hull = cv2.contourArea(cv2.convexHull(cv2.findNonZero(mask.astype(np.uint8))))
    thin = mask.sum() < 0.35 * hull and size[2] < 0.03
    against = [
        (size.max() > LARGEST, f"{size.max():.2f} m is larger than what stands on a table."),
        (size.max() < SMALLEST, f"{size.max() * 100:.1f} cm is too small to be told from noise."),
        (size[2] < THINNEST, f"It rises only {size[2] * 1000:.0f} mm above the table: print, a shadow or noise."),
        (
            measured > 0 and float(np.percentile(points[:, 2], 80)) < FLAT,
            "Most of it lies flat on the table: print, a shadow or noise.",
        ),
        (thin, "It is long and thin and lies flat: a cable?"),
        (bottom == 0 and low > 0.25, f"It hangs {low * 100:.0f} cm above the table: a robot or something it holds?"),
    ]
    unsure = [
        (measured == 0, "No depth was measured on it: position and size are guessed from its outline."),
        (0 < measured < FEWEST, f"Only {measured} points were measured."),
        (
            bottom == 0 and 0.03 < low <= 0.25,
            f"Its lowest {low * 100:.0f} cm are hidden; it was taken to stand on the table.",
        ),
        (bottom > 0, f"It rests on something {bottom * 100:.0f} cm high."),
    ]
    told = tuple(sentence for holds, sentence in against + unsure if holds)
    return told, not any(holds for holds, _ in against)


def _centimetres(extent: float) -> str:
    return f"{extent * 100:.0f}" if extent >= 0.02 else f"{extent * 100:.1f}"


def unused(name: str, taken: Collection[str]) -> str:
    """The name, numbered where it is taken: "red_cube", "red_cube_2"."""
    number = 2
    unique = name
    while unique in taken:
        unique, number = f"{name}_{number}", number + 1
    return unique
