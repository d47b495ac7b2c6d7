"""A segment as it compares with views of assets: upright, filled, and as large as it is."""

from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.assets.features import PIXELS, Look, describe_pictures
from pipeline.assets.views import MARGIN
from pipeline.description import Description
from pipeline.frame import Frame, Support
from pipeline.segmentation import Segment


@dataclass(frozen=True, eq=False)
class Sight:
    """A segment as it compares with views of assets."""

    look: Look
    """Turned so that up is up."""
    elevation: float
    """Of the camera above it, in degrees."""
    picture: np.ndarray
    """What an encoder is shown, of shape (P, P, 3), uint8."""
    mask: np.ndarray
    """Of shape (P, P), bool."""


def sight(frame: Frame, support: Support, segment: Segment, description: Description, pixels: int = PIXELS) -> Sight:
    """A segment's crop, upright, filled, and its metric width and height as seen at its distance.

    `pixels` is the side of the picture that the encoder takes.
    """
    camera_from_world = np.linalg.inv(support.world_from_camera)
    known = frame.depth[segment.mask & (frame.depth > 0)]
    middle = camera_from_world[:3, :3] @ description.attributes.centre + camera_from_world[:3, 3]
    distance = float(np.median(known)) if len(known) > 30 else float(middle[2])
    v, u = np.nonzero(segment.mask)
    k = frame.intrinsics
    ray = np.array([(u.mean() - k.cx) / k.fx, (v.mean() - k.cy) / k.fy, 1.0])
    up = camera_from_world[:3, 2]
    elevation = np.rad2deg(np.arcsin(np.clip(-(ray @ up) / np.linalg.norm(ray), -1, 1)))
    upwards = (up - ray * up[2])[:2] * [k.fx, k.fy]  # how the pixel moves as the point moves up
    turn = np.arctan2(upwards[0], -upwards[1])
    cos, sin = np.cos(turn), np.sin(turn)
    upright = np.array([[cos, sin], [-sin, cos]])
    turned = np.stack([u, v], 1) @ upright.T
    low, high = turned.min(axis=0) - 0.5, turned.max(axis=0) + 0.5
    side = MARGIN * (high - low).max()
    corner = (low + high - side) / 2
    crop, mask = _cut(frame, segment, upright, corner, side, PIXELS)
    fine, inside = _cut(frame, segment, upright, corner, side, pixels)
    away = frame.points @ (ray / np.linalg.norm(ray)).astype(np.float32)
    away = cv2.warpAffine(
        away, _warp(upright, corner, side, PIXELS), (PIXELS, PIXELS), flags=cv2.INTER_NEAREST, borderValue=np.nan
    )
    extents = (high - low) * distance / np.array([k.fx, k.fy])
    look = describe_pictures(crop[None], mask[None], away[None], extents[None])
    return Sight(look, float(elevation), fine, inside)


def _warp(upright: np.ndarray, corner: np.ndarray, side: float, pixels: int) -> np.ndarray:
    """The map (2, 3) from the frame to a picture of so many pixels."""
    factor = pixels / side
    return np.c_[upright * factor, -corner * factor - 0.5 + 0.5 * factor]


def _cut(
    frame: Frame, segment: Segment, upright: np.ndarray, corner: np.ndarray, side: float, pixels: int
) -> tuple[np.ndarray, np.ndarray]:
    """The square at `corner` (2,), upright, as a picture (pixels, pixels, 3) and its mask."""
    factor, warp = pixels / side, _warp(upright, corner, side, pixels)
    blur = frame.rgb if factor > 0.7 else cv2.blur(frame.rgb, (int(np.ceil(1 / factor)),) * 2)
    picture = cv2.warpAffine(blur, warp, (pixels, pixels))
    return picture, cv2.warpAffine(segment.mask.astype(np.float32), warp, (pixels, pixels)) > 0.5
