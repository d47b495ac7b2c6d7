"""Where splats stand in the twin: before the photograph's camera, in the world, or in an object's box."""

from typing import NamedTuple

import numpy as np

from pipeline.frame import Observation
from pipeline.geometry import transform
from pipeline.scene.mjcf.background import TABLE_BAND_M
from pipeline.scene.mjcf.builder import table_slab
from pipeline.scene.placement import Placement, Scene
from pipeline.scene.splats.read_splats import SplatError

OPAQUE = 128
"""Opacity of 255 from which on a splat is taken as a surface."""
LEAST_PIXELS = 200
"""Fewest pixels with a measured depth and a splat from which a scale is taken."""
AGREES = 0.05
"""Share of the measured depth within which a splat agrees with it."""
UPRIGHT = np.array(
    [[[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, -1], [0, 1, 0]], [[1, 0, 0], [0, 0, 1], [0, -1, 0]]], float
)
"""Turns, of shape (3, 3, 3), to z up: of files with z up, with y up, and with y down."""
OUTSIDE = 0.02
"""Share of the splats at each end of an axis that does not count in a box: strays around an object."""


class SplatPlace(NamedTuple):
    """Where splats stand."""

    matrix: np.ndarray
    """world_from_splats or object_from_splats, of shape (4, 4), with one factor for the scale."""
    source: str
    """How that was found, in a few words."""


def place_before_camera(splats: np.ndarray, observation: Observation) -> SplatPlace:
    """Return where splats of the photograph's camera stand, at the scale that the measured depth has.

    Their axes are OpenCV's, or OpenGL's if most of them would lie behind that camera. Raises SplatError.
    """
    frame, turn = observation.frame, np.eye(4)
    if np.median(splats["position"][:, 2]) < 0:
        turn[:3, :3] = np.diag([1, -1, -1])
    points = transform(turn, splats["position"].astype(float))[splats["rgba"][:, 3] >= OPAQUE]
    k, points = frame.intrinsics, points[points[:, 2] > 1e-6]
    u, v = (points[:, :2] / points[:, 2:] * [k.fx, k.fy] + [k.cx, k.cy]).round().T
    inside = (u >= 0) & (u < k.width) & (v >= 0) & (v < k.height)
    if not inside.any():
        raise SplatError("no splat lies in the photograph; say that they are in the twin's world, or give their pose")
    nearest = np.full(frame.depth.shape, np.inf)
    np.minimum.at(nearest, (v[inside].astype(int), u[inside].astype(int)), points[inside, 2])
    both = np.isfinite(nearest) & (frame.depth > 0)
    if both.sum() < LEAST_PIXELS:
        source = "in the photograph's camera, at the file's scale"
        return SplatPlace(observation.support.world_from_camera @ turn, source)
    ratio = frame.depth[both] / nearest[both]
    scale = float(np.median(ratio))
    agreement = float(np.mean(np.abs(nearest[both] * scale / frame.depth[both] - 1) < AGREES))
    turn[:3] *= scale
    source = f"in the photograph's camera, {scale:.3g} times the file's size: {agreement:.0%} agree with the depth"
    return SplatPlace(observation.support.world_from_camera @ turn, source)


def place_in_object(splats: np.ndarray, placement: Placement) -> SplatPlace:
    """Return where splats of an object stand in its frame: upright, their box on the object's, the heading guessed.

    Raises SplatError.
    """
    solid = splats["position"][splats["rgba"][:, 3] >= OPAQUE].astype(float)
    if len(solid) < LEAST_PIXELS:
        raise SplatError(f"the file has {len(solid)} opaque splats, too few for an object")
    best: tuple[float, np.ndarray, np.ndarray] | None = None
    size = np.log(np.maximum(placement.size, 1e-4))
    for upright in UPRIGHT:
        low, high = np.quantile(solid @ upright.T, [OUTSIDE, 1 - OUTSIDE], axis=0)
        ratio = size - np.log(np.maximum(high - low, 1e-9))
        misfit = float(np.std(ratio))
        if best is None or misfit < best[0] - 1e-6:
            best = misfit, upright * np.exp(ratio.mean()), (low + high) / 2 * np.exp(ratio.mean())
    assert best is not None
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = best[1], -best[2]
    return SplatPlace(matrix, "its box on the object's, the heading guessed")


def outside_the_table(splats: np.ndarray, scene: Scene) -> np.ndarray:
    """Return which splats (N,) in world axes the twin does not draw itself: beside, behind or high over its table."""
    slab, top = table_slab(scene), max((p.top for p in scene.placements), default=0.0)
    cos, sin = np.cos(slab.yaw), np.sin(slab.yaw)
    position = splats["position"].astype(float)
    own = (position[:, :2] - slab.centre) @ np.array([[cos, -sin], [sin, cos]])
    over = (np.abs(own) <= slab.half).all(1) & (np.abs(position[:, 2]) <= top + TABLE_BAND_M)
    return ~over
