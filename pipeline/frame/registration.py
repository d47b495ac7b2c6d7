"""Measure whether depth belongs to its colour: depth edges lie on colour edges, unless depth is turned or elsewhere."""

from collections.abc import Callable
from typing import NamedTuple

import cv2
import numpy as np

from pipeline.frame.frame import Doubt

REACH = 3
"""Pixels at working width on both sides of an edge."""
MIN_EDGE_PIXELS, MAX_EDGE_PIXELS = 100, 2000
"""Depth edges below which nothing can be said, and those that are used."""
SHIFTS = np.arange(-30, 31, 2)
"""Shifts along each axis, in pixels at working width."""
MIN_AGREEMENT = 1.6
"""Agreement below which depth and colour do not belong together. Over the sources that bench/doubts.py does not keep
aside it is 1.65 to 4 for depth in its place, but 1.4 for a tote; up to 1.56 for flipped, shifted and cropped depth."""
CLEAR_RATIO = 1.25
"""Ratio of agreement from which one placement is clearly better than another; at least 1.29 on the same frames."""
TURNS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "flipped top to bottom": np.flipud,
    "mirrored left to right": np.fliplr,
    "turned by 180 degrees": lambda image: np.rot90(image, 2),
    "turned by 90 degrees": np.rot90,
    "turned by 270 degrees": lambda image: np.rot90(image, 3),
}
"""What can be done to a depth image so that it fits; anticlockwise."""


class Registration(NamedTuple):
    """How depth fits its colour."""

    turn: str | None
    """The one of TURNS by which depth clearly fits; None if it fits as it is, or no turn is clearly better."""
    agreement: float | None
    """Of colour and depth, so turned; None if depth shows too few edges, or fits in no turn by its size."""


def measure_agreement(rgb: np.ndarray, depth: np.ndarray) -> float | None:
    """Return how many times stronger the colour edges are at the depth edges than at the same edges shifted.

    1 is chance. Colour is (H, W, 3), depth (H, W) in any unit, 0 where unknown. None if depth shows too few edges.
    """
    # Pixels in a row of the images that are compared
    step = max(1, round(depth.shape[1] / 320))
    depth = _filled(np.ascontiguousarray(depth[::step, ::step], dtype=np.float32))
    h, w = depth.shape
    known = depth > 0
    if not known.any():
        return None
    inverse = np.divide(np.median(depth[known]), depth, out=np.zeros_like(depth), where=known)
    # Step of depth, relative to the distance, from which it is an edge: several times the noise of depth cameras
    v, u = np.nonzero(_near_side(inverse) > 0.02)
    if len(v) < MIN_EDGE_PIXELS:
        return None
    used = slice(None, None, -(-len(v) // MAX_EDGE_PIXELS))
    v, u = v[used], u[used]
    normals = _unit(_gradient(cv2.GaussianBlur(inverse, (0, 0), 1.5))[v, u])
    pad = SHIFTS.max()
    edges = np.pad(_colour_edges(cv2.resize(rgb, (w, h), interpolation=cv2.INTER_AREA)), ((pad,), (pad,), (0,)))
    inside = np.pad(np.ones((h, w), np.float32), pad)
    strength = np.empty((len(SHIFTS), len(SHIFTS)))
    for i, j in np.ndindex(strength.shape):
        at = v + pad + SHIFTS[i], u + pad + SHIFTS[j]
        strength[i, j] = np.abs((edges[at] * normals).sum(1)).sum() / max(1, inside[at].sum())
    length = np.hypot(*np.meshgrid(SHIFTS, SHIFTS))
    # Pixels up to which a shift is none, and from which it is a wrong one
    return float(strength[length <= 3].max() / max(strength[length >= 10].mean(), 1e-6))


def find_registration(rgb: np.ndarray, depth: np.ndarray) -> Registration:
    """Return how depth (h, w), in any unit and 0 where unknown, fits colour (H, W, 3)."""
    stored = measure_agreement(rgb, depth) if depth.shape == rgb.shape[:2] else None
    if stored is not None and stored >= MIN_AGREEMENT:
        return Registration(None, stored)
    turned = {name: turn(depth) for name, turn in TURNS.items()}
    found = {name: measure_agreement(rgb, image) or 0 for name, image in turned.items() if image.shape == rgb.shape[:2]}
    best = max(found, key=lambda turn: found[turn], default=None)
    if best and found[best] >= max(MIN_AGREEMENT, CLEAR_RATIO * (stored or 0)):
        return Registration(best, found[best])
    return Registration(None, stored)


def doubt_registration(agreement: float | None) -> Doubt | None:
    """Return a doubt if depth does not lie where its colour is; None if it does, or shows too little to tell."""
    if agreement is None or agreement >= MIN_AGREEMENT:
        return None
    return Doubt(
        "registration",
        f"Depth does not fit the colour: their edges agree {agreement:.1f} times as well as by chance.",
        "Check that neither is flipped or of another moment; register depth to colour when recording, or give "
        '"depth" and "color_from_depth" in camera.json.',
    )


def _filled(depth: np.ndarray) -> np.ndarray:
    """Return depth (H, W) with small unknown regions filled and without single wrong pixels."""
    known = depth > 0
    if not known.any():
        return depth
    distance, labels = cv2.distanceTransformWithLabels(
        (~known).astype(np.uint8), cv2.DIST_L2, 3, labelType=cv2.DIST_LABEL_PIXEL
    )
    label = labels.astype(int)
    nearest = np.zeros(label.max() + 1, np.float32)
    nearest[label[known]] = depth[known]
    # 6.0: pixels at working width over which unknown depth takes the nearest known one: the shadows of depth cameras
    return cv2.medianBlur(np.where(distance <= 6.0, nearest[label], 0).astype(np.float32), 5)


def _near_side(inverse: np.ndarray) -> np.ndarray:
    """Return the steps of depth at their near sides, relative to the distance, of shape (H, W).

    Inverse depth is linear in the image of a plane, so that its second difference is zero on planes of any slope.
    """
    step = np.zeros_like(inverse)
    for rows, cols in ((REACH, 0), (0, REACH)):
        size = inverse.shape[0] - 2 * rows, inverse.shape[1] - 2 * cols
        before, middle, after = (
            inverse[k * rows : k * rows + size[0], k * cols : k * cols + size[1]] for k in range(3)
        )
        known = (before > 0) & (middle > 0) & (after > 0)
        second = np.where(known, (2 * middle - before - after) / np.maximum(middle, 1e-6), 0)
        part = step[rows : rows + size[0], cols : cols + size[1]]
        np.maximum(part, second, out=part)
    return step


def _colour_edges(rgb: np.ndarray) -> np.ndarray:
    """Return the gradient of the channel of CIELAB that changes most, of shape (H, W, 2), its length at most 1."""
    smooth = cv2.GaussianBlur(cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB).astype(np.float32), (0, 0), 1.0)
    gradient = _gradient(smooth)
    channel = (gradient**2).sum(-1).argmax(-1)
    gradient = np.take_along_axis(gradient, channel[..., None, None], 2)[:, :, 0]
    length = np.linalg.norm(gradient, axis=-1, keepdims=True)
    return gradient / np.maximum(length, np.percentile(length, 90) + 1e-6)


def _gradient(image: np.ndarray) -> np.ndarray:
    """Return the derivatives along x and y of an image (H, W, ...), of shape (H, W, ..., 2)."""
    return np.stack([cv2.Sobel(image, cv2.CV_32F, 1, 0), cv2.Sobel(image, cv2.CV_32F, 0, 1)], -1)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / (np.linalg.norm(vectors, axis=-1, keepdims=True) + 1e-9)
