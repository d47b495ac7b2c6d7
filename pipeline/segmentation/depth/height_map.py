"""A frame at working size in world axes: heights above the table, and where they can be trusted."""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np

from pipeline.frame import Frame, Intrinsics, Support
from pipeline.frame.flying_pixels import flying_pixels
from pipeline.frame.plane_extraction import depth_noise
from pipeline.geometry import inside_polygon, transform
from pipeline.segmentation.tabletop_limits import MAX_HEIGHT, WORKING_WIDTH

DEPTH_EDGE = 0.003
"""Metres by which depth must change beyond noise and slope at a depth edge."""


@dataclass(frozen=True, eq=False)
class HeightMap:
    """A frame at working size, in world axes."""

    rgb: np.ndarray
    """Of shape (h, w, 3), uint8."""
    points: np.ndarray
    """World points in metres, of shape (h, w, 3), float32, NaN where depth is unknown."""
    depth: np.ndarray
    """In metres, of shape (h, w), 0 where unknown."""
    step: int
    """Pixels of the frame per pixel at working size."""
    focal: float
    """In pixels of working size."""
    polygon: np.ndarray
    """The table's outline, of shape (N, 2), world x and y."""
    full_rgb: np.ndarray
    """Colour at the frame's size, of shape (H, W, 3), uint8, for the edges of masks."""
    right: np.ndarray
    """The camera's right along the table, a unit vector in world axes, of shape (3,)."""

    @cached_property
    def known(self) -> np.ndarray:
        """Pixels with depth, of shape (h, w), bool."""
        return self.depth > 0

    @cached_property
    def flying(self) -> np.ndarray:
        """Flying pixels: pixels on a depth edge, whose points lie in the air; of shape (h, w), bool."""
        return flying_pixels(self.depth, self.focal, DEPTH_EDGE)

    @cached_property
    def above(self) -> np.ndarray:
        """Pixels above the table's plane by more than noise, of shape (h, w), bool."""
        z = self.points[..., 2]
        return (z > np.maximum(0.006, depth_noise(self.depth))) & (z < MAX_HEIGHT)

    @cached_property
    def on_table(self) -> np.ndarray:
        """Pixels whose point lies over the visible table or up to 3 cm beside it, of shape (h, w), bool."""
        centre = self.polygon.mean(0)
        radius = float(np.linalg.norm(self.polygon - centre, axis=1).mean())
        return inside_polygon(self.points[..., :2], centre + (self.polygon - centre) * (1 + 0.03 / radius))


def height_map(frame: Frame, support: Support) -> HeightMap:
    """Return the frame at working size, in world axes."""
    step = max(1, frame.depth.shape[1] // WORKING_WIDTH)
    k = frame.intrinsics
    depth = np.ascontiguousarray(frame.depth[::step, ::step])
    h, w = depth.shape
    small = Intrinsics(w, h, k.fx / step, k.fy / step, k.cx / step, k.cy / step)
    points = Frame(frame.rgb[:1, :1], depth, small).points
    rgb = frame.rgb if step == 1 else cv2.resize(frame.rgb, (w, h), interpolation=cv2.INTER_AREA)
    world = transform(support.world_from_camera.astype(np.float32), points)
    right = support.world_from_camera[:3, 0] * [1, 1, 0]
    right = right / np.linalg.norm(right) if np.linalg.norm(right) > 0.1 else np.array([1.0, 0, 0])
    return HeightMap(rgb, world, depth, step, small.fx, support.polygon, frame.rgb, right)
