"""Read the numbers of a depth image: unknown values, numbers that are no distance along z, and flying pixels."""

from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.frame.frame import Doubt, FrameError, Intrinsics
from pipeline.frame.planarity import TOLERANCE, DepthSamples, planar_share, sample_depth, shares_above_and_below

CODES = (2047, 4095, 8191, 16383, 32767, 32768, 65535, 10_000)
"""Values that recorders write for unknown or too far: all bits set, and 10 m in millimetres."""
ALWAYS_UNKNOWN = 65535
"""Of 16 bits: at least saturated, so not a distance."""
MIN_FREQUENCY = 0.0002
"""Share of the pixels from which an extreme value is frequent: noise spreads a far surface over many values."""
MIN_GAP = 3.0
"""Ratio of an extreme value to nearly all others from which it is no distance, whatever its number."""
MIN_CODE_GAP = 1.5
"""The same ratio, to the median of the others, for CODES."""
KINECT_UNKNOWN, MAX_KINECT = 2047, 1084
"""Of raw values: that for unknown, and the largest with a distance."""
CLEARLY_FLATTER = 1.2
"""Ratio of planar shares from which another reading than distance along z is accepted. On 17 reference frames and 6
samples it was at most 1.0 for distances along z, at least 1.3 for distances along the ray, 1.36 for disparity."""
POSSIBLY_FLAT, MOSTLY_BELOW, MIN_BELOW = 0.75, 3.0, 0.02
"""Ratio of planar shares, ratio of the samples behind the largest plane to those before it, and their share, from which
depth may be disparity. On the same frames at most as many were behind as before."""
NO_LESS_FLAT = 0.9
"""The same ratio of a z buffer, whose numbers differ by little: at least 0.94 there, at most 0.75 for distances."""
Z_BUFFER_CURE = "Save distances instead: near * far / (far - value * (far - near))."
MIN_PLANAR_SHARE = 0.1
"""Planar share from which a reading is accepted at all."""
ROTATED_BITS, MIN_ROTATED = 3, 0.95
"""SUN3D rotates 16 bits by three; share of values that then have three zeros at the end: those below 8.192 m."""
MIN_DISTINCT = 64
"""Different values from which a common divisor is no chance."""

MAX_SLOPE = 8.0
"""Change of depth over a 3 x 3 neighbourhood, in widths of a pixel at that depth, that a surface may show."""


@dataclass(frozen=True, eq=False)
class DepthValues:
    """Depth in an unknown or given unit, without values that stand for unknown."""

    values: np.ndarray
    """Distance along z, of shape (H, W), integer or float; 0 where unknown."""
    notes: tuple[str, ...] = ()
    """What was recognised, one sentence each."""
    in_metres: bool = False
    """Whether the unit follows from what was recognised."""
    doubt: Doubt | None = None


def remove_unknown(raw: np.ndarray) -> tuple[np.ndarray, tuple[float, ...]]:
    """Return values (H, W), 0 where unknown, and the positive numbers that stood for unknown.

    Zero, negative numbers and those that are not finite are unknown. So is a frequent extreme value that lies apart
    from all others.
    """
    values, found = np.where(np.isfinite(raw) & (raw > 0), raw, 0), []
    for _ in range(2):  # some recorders write one number for too near and one for too far
        number = _unknown_number(values)
        if number is None:
            break
        values = np.where(values == number, 0, values)
        found.append(number)
    return values, tuple(found)


def read_values(raw: np.ndarray, k: Intrinsics, unit_given: bool, name: str) -> DepthValues:
    """Return distances along z of depth (H, W) in its own numbers. Raises FrameError for numbers that give none."""
    values, unknown = remove_unknown(raw)
    notes = tuple(
        f"{np.mean(raw == number):.0%} of the pixels of depth hold {number:g}, which was taken as unknown."
        for number in unknown
    )
    if not values.any():
        return DepthValues(values, notes)
    is_integer = not np.issubdtype(raw.dtype, np.floating)
    if is_integer and not unit_given and _has_rotated_bits(values):
        values = (values.astype(np.uint16) >> ROTATED_BITS) | (values.astype(np.uint16) << (16 - ROTATED_BITS))
        notes += ("The bits of depth are rotated by three, as SUN3D stores them: they were rotated back.",)
    samples = sample_depth(values, k)
    if samples is None:
        return DepthValues(values, notes)
    known, lengths = samples.values[samples.known], samples.ray_lengths
    along_z = planar_share(samples, 1 / known, TOLERANCE / known)
    affine = planar_share(samples, known, TOLERANCE * known)
    if is_integer and KINECT_UNKNOWN in unknown and values.max() <= MAX_KINECT and affine > along_z:
        # z of the first Kinect's raw values d is a tan(d / b + c) metres
        # (https://openkinect.org/wiki/Imaging_Information)
        a, b, c = (0.1236, 2842.5, 1.1863)
        metres = np.where(values > 0, a * np.tan(values / b + c), 0).astype(np.float32)
        return DepthValues(
            metres, (*notes, "Depth is the first Kinect's raw 11 bits: it was converted to metres."), True
        )
    doubt = None if is_integer or values.max() > 1 else _doubt_z_buffer(samples, float(np.mean(raw == 1)), name)
    if affine > max(CLEARLY_FLATTER * along_z, MIN_PLANAR_SHARE):
        raise FrameError(
            f"{name}: depth looks like disparity, not like distance: planes are flat in its values, not in their "
            "inverse. Save distances instead: focal length * baseline / disparity."
        )
    if planar_share(samples, lengths / known, TOLERANCE * lengths / known) > max(
        CLEARLY_FLATTER * along_z, MIN_PLANAR_SHARE
    ):
        u, v = np.meshgrid(np.arange(k.width, dtype=np.float32), np.arange(k.height, dtype=np.float32))
        values = (values / np.linalg.norm(k.ray_directions(u, v), axis=-1)).astype(np.float32)
        note = "Depth is the distance along each pixel's ray: it was converted to the distance along z."
        return DepthValues(values, (*notes, note))
    if affine > POSSIBLY_FLAT * along_z:  # seen from above, planes are flat either way
        doubt = _doubt_disparity(samples) or doubt
    return DepthValues(values, notes, doubt=doubt)


def _doubt_z_buffer(samples: DepthSamples, share_of_ones: float, name: str) -> Doubt | None:
    """Return a doubt if numbers from 0 to 1 may be a z buffer. Raises FrameError if they are one."""
    flatter = _flatness_as_z_buffer(samples)
    if flatter > CLEARLY_FLATTER or (flatter > NO_LESS_FLAT and share_of_ones >= MIN_FREQUENCY):
        raise FrameError(f"{name}: depth looks like a z buffer from 0 to 1, not like distance. {Z_BUFFER_CURE}")
    if flatter <= NO_LESS_FLAT:
        return None
    return Doubt("depth", "Depth may be a z buffer from 0 to 1, and not distances.", Z_BUFFER_CURE)


def _doubt_disparity(samples: DepthSamples) -> Doubt | None:
    above, below = shares_above_and_below(samples)
    if below <= max(MOSTLY_BELOW * above, MIN_BELOW):
        return None
    why = "What should stand on the largest plane lies behind it, as in disparity."
    return Doubt("depth", why, "If depth is disparity, save focal length * baseline / disparity instead.")


def _unknown_number(values: np.ndarray) -> float | None:
    """Return the extreme value that stands for unknown; None if there is none."""
    known = values[values > 0]
    if not known.size:
        return None
    top, bottom = known.max(), known.min()
    if np.issubdtype(values.dtype, np.integer) and top == ALWAYS_UNKNOWN:
        return float(top)
    for extreme in (top, bottom):
        if np.count_nonzero(known == extreme) < MIN_FREQUENCY * values.size:
            continue
        others = known[known != extreme]
        if not others.size:
            return None
        if extreme == top and top > MIN_GAP * np.quantile(others, 0.99):
            return float(top)
        if extreme == bottom and bottom < np.quantile(others, 0.01) / MIN_GAP:
            return float(bottom)
        # 10: ratio of a code's count to that of all values up to a tenth below it: a wall's values would be spread
        is_spike = np.count_nonzero(known == extreme) > 10 * np.count_nonzero(others > 0.9 * extreme)
        if extreme == top and top in CODES and is_spike and top > MIN_CODE_GAP * np.median(others):
            return float(top)
    return None


def common_divisor(values: np.ndarray) -> int:
    """Return the greatest common divisor of known integer values (H, W); 1 if there are too few to tell."""
    distinct = np.unique(values[values > 0])
    return int(np.gcd.reduce(distinct.astype(np.int64))) if len(distinct) >= MIN_DISTINCT else 1


def _has_rotated_bits(values: np.ndarray) -> bool:
    distinct = np.unique(values[values > 0]).astype(np.int64)
    if len(distinct) < MIN_DISTINCT or distinct[-1] > ALWAYS_UNKNOWN:
        return False
    return bool(np.mean(distinct % (1 << ROTATED_BITS) == 0) >= MIN_ROTATED)


def _flatness_as_z_buffer(samples: DepthSamples) -> float:
    """Return the planar share of numbers from 0 to 1 over that of their inverse; the tolerance follows their spread."""
    known = samples.values[samples.known]
    tolerance = np.full(len(known), TOLERANCE * float(np.subtract(*np.quantile(known, (0.9, 0.1)))))
    along_z = planar_share(samples, 1 / known, tolerance / known**2)
    return planar_share(samples, known, tolerance) / max(along_z, MIN_PLANAR_SHARE / 2)


def flying_pixels(depth: np.ndarray, focal: float, tolerance: float = 0.004) -> np.ndarray:
    """Return the known pixels that lie on a depth edge, of shape (H, W), bool.

    `depth` is in metres, of shape (H, W), 0 where unknown; `focal` is in pixels. A pixel lies on an edge where depth
    changes within its 3 x 3 neighbourhood by more than `tolerance` metres, the sensor's noise and MAX_SLOPE allow.
    """
    known, kernel = depth > 0, np.ones((3, 3), np.uint8)
    farthest = cv2.dilate(np.where(known, depth, 0).astype(np.float32), kernel)
    nearest = cv2.erode(np.where(known, depth, 1e3).astype(np.float32), kernel)
    return known & (farthest - nearest > tolerance + 0.002 * depth**2 + MAX_SLOPE * depth / focal)
