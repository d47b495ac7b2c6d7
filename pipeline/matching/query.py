"""The object to match: its segment and description, and its crop as it is compared with rendered views of assets."""

from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.assets.appearance.features import VIEW_PIXELS, ViewDescriptors, describe_views
from pipeline.assets.appearance.ray_views import VIEW_MARGIN
from pipeline.description import Description
from pipeline.frame import Frame, Observation
from pipeline.segmentation import Segment


@dataclass(frozen=True, eq=False)
class Query:
    """One object of a frame that a matcher looks up in a library."""

    observation: Observation
    segment: Segment
    description: Description


@dataclass(frozen=True, eq=False)
class QueryView:
    """The crop of a segment, rotated upright, as it is compared with rendered views of assets."""

    descriptors: ViewDescriptors
    """Of one view, with the segment's metric width and height."""
    elevation: float
    """Elevation of the camera above the object in degrees."""
    crop: np.ndarray
    """Input of the encoder, of shape (P, P, 3), uint8."""
    mask: np.ndarray
    """The segment in `crop`, of shape (P, P), bool."""
    embedding: np.ndarray | None = None
    """Unit vectors of the crop in colour and in grey, of shape (2, D), float32; None without an encoder."""


@dataclass(frozen=True, eq=False)
class _UprightSquare:
    """A square part of a frame, rotated so that the world's z axis points up in the picture."""

    rotation: np.ndarray
    """Frame to upright pixel coordinates, of shape (2, 2)."""
    corner: np.ndarray
    """Top left corner in upright pixel coordinates, of shape (2,)."""
    side: float
    """Length of a side in pixels of the frame."""

    def warp(self, pixels: int) -> np.ndarray:
        """Return the affine map of shape (2, 3) from the frame to a picture with this many pixels a side."""
        factor = pixels / self.side
        return np.c_[self.rotation * factor, -self.corner * factor - 0.5 + 0.5 * factor]

    def crop(self, frame: Frame, segment: Segment, pixels: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the square as a picture of shape (pixels, pixels, 3), uint8, and the segment's mask in it."""
        factor, warp = pixels / self.side, self.warp(pixels)
        blur = frame.rgb if factor > 0.7 else cv2.blur(frame.rgb, (int(np.ceil(1 / factor)),) * 2)
        picture = cv2.warpAffine(blur, warp, (pixels, pixels))
        return picture, cv2.warpAffine(segment.mask.astype(np.float32), warp, (pixels, pixels)) > 0.5


def query_view(query: Query, pixels: int = VIEW_PIXELS) -> QueryView:
    """Return the upright crop of a segment with its metric width and height at its measured distance.

    `pixels` is the side of the picture that the encoder takes.
    """
    frame, segment = query.observation.frame, query.segment
    camera_from_world = np.linalg.inv(query.observation.support.world_from_camera)
    depths = frame.depth[segment.mask & (frame.depth > 0)]
    centre = camera_from_world[:3, :3] @ query.description.attributes.centre + camera_from_world[:3, 3]
    distance = float(np.median(depths)) if len(depths) > 30 else float(centre[2])
    v, u = np.nonzero(segment.mask)
    k = frame.intrinsics
    ray = np.array([(u.mean() - k.cx) / k.fx, (v.mean() - k.cy) / k.fy, 1.0])
    up = camera_from_world[:3, 2]
    elevation = np.rad2deg(np.arcsin(np.clip(-(ray @ up) / np.linalg.norm(ray), -1, 1)))
    upwards = (up - ray * up[2])[:2] * [k.fx, k.fy]  # how the pixel moves as the point moves up
    roll = np.arctan2(upwards[0], -upwards[1])
    cos, sin = np.cos(roll), np.sin(roll)
    rotation = np.array([[cos, sin], [-sin, cos]])
    upright = np.stack([u, v], 1) @ rotation.T
    low, high = upright.min(axis=0) - 0.5, upright.max(axis=0) + 0.5
    side = VIEW_MARGIN * (high - low).max()
    square = _UprightSquare(rotation, (low + high - side) / 2, side)
    small, small_mask = square.crop(frame, segment, VIEW_PIXELS)
    crop, mask = square.crop(frame, segment, pixels)
    along_ray = frame.points @ (ray / np.linalg.norm(ray)).astype(np.float32)
    along_ray = cv2.warpAffine(
        along_ray, square.warp(VIEW_PIXELS), (VIEW_PIXELS, VIEW_PIXELS), flags=cv2.INTER_NEAREST, borderValue=np.nan
    )
    extents = (high - low) * distance / np.array([k.fx, k.fy])
    descriptors = describe_views(small[None], small_mask[None], along_ray[None], extents[None])
    return QueryView(descriptors, float(elevation), crop, mask)
