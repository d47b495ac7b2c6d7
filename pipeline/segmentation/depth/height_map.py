"""A frame at working size in world axes: heights above the table or a shelf, and where they can be trusted."""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np

from pipeline.frame import Frame, Intrinsics, Support
from pipeline.frame.depth_values import flying_pixels
from pipeline.frame.plane_extraction import depth_noise
from pipeline.frame.surfaces import local_points
from pipeline.geometry import inside_polygon
from pipeline.segmentation.mask_operations import MAX_HEIGHT, WORKING_WIDTH


@dataclass(frozen=True, eq=False)
class HeightMap:
    """A frame at working size, in world axes."""

    rgb: np.ndarray
    """Of shape (h, w, 3), uint8."""
    points: np.ndarray
    """World points in metres, of shape (h, w, 3), float32, NaN where depth is unknown. z is above the surface under it,
    which is the table unless shelves were chosen."""
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
    surface: np.ndarray | None = None
    """Number of the surface under each pixel, of shape (h, w), uint8: 0 for the table. None: the table alone."""
    shelves: tuple[np.ndarray, ...] = ()
    """Outlines of the shelves, each of shape (N, 2), world x and y."""

    @cached_property
    def known(self) -> np.ndarray:
        """Pixels with depth, of shape (h, w), bool."""
        return self.depth > 0

    @cached_property
    def flying(self) -> np.ndarray:
        """Flying pixels: pixels on a depth edge, whose points lie in the air; of shape (h, w), bool."""
        # Metres by which depth must change beyond noise and slope at a depth edge
        return flying_pixels(self.depth, self.focal, 0.003)

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
        inside = inside_polygon(self.points[..., :2], centre + (self.polygon - centre) * (1 + 0.03 / radius))
        return inside if self.surface is None else inside | (self.surface > 0)

    def outline_under(self, mask: np.ndarray) -> np.ndarray:
        """Return the outline (N, 2) of the surface that most of a mask (h, w) stands on."""
        number = 0 if self.surface is None else int(np.bincount(self.surface[mask & self.known], minlength=1).argmax())
        return (self.polygon, *self.shelves)[number]

    def by_surface(self, mask: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the parts of a mask (h, w) over each surface: what stands on two is not connected."""
        if self.surface is None:
            return (mask,)
        return tuple(mask & (self.surface == number) for number in range(len(self.shelves) + 1))


def height_map(frame: Frame, support: Support) -> HeightMap:
    """Return the frame at working size, in world axes."""
    step = max(1, frame.depth.shape[1] // WORKING_WIDTH)
    k = frame.intrinsics
    depth = np.ascontiguousarray(frame.depth[::step, ::step])
    h, w = depth.shape
    small = Intrinsics(w, h, k.fx / step, k.fy / step, k.cx / step, k.cy / step)
    points = Frame(frame.rgb[:1, :1], depth, small).points
    rgb = frame.rgb if step == 1 else cv2.resize(frame.rgb, (w, h), interpolation=cv2.INTER_AREA)
    world, surface, _ = local_points(support, points, step)
    right = support.world_from_camera[:3, 0] * [1, 1, 0]
    right = right / np.linalg.norm(right) if np.linalg.norm(right) > 0.1 else np.array([1.0, 0, 0])
    shelves = tuple(one.polygon for one in support.shelves)
    return HeightMap(
        rgb, world, depth, step, small.fx, support.polygon, frame.rgb, right, surface if shelves else None, shelves
    )
