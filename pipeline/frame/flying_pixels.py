"""Find flying pixels: points that a depth camera places in the air between the two sides of a depth edge."""

import cv2
import numpy as np

MAX_SLOPE = 8.0
"""Change of depth over a 3 x 3 neighbourhood, in widths of a pixel at that depth, that a surface may show."""


def flying_pixels(depth: np.ndarray, focal: float, tolerance: float = 0.004) -> np.ndarray:
    """Return the known pixels that lie on a depth edge, of shape (H, W), bool.

    `depth` is in metres, of shape (H, W), 0 where unknown; `focal` is in pixels. A pixel lies on an edge where depth
    changes within its 3 x 3 neighbourhood by more than `tolerance` metres, the sensor's noise and MAX_SLOPE allow.
    """
    known, kernel = depth > 0, np.ones((3, 3), np.uint8)
    farthest = cv2.dilate(np.where(known, depth, 0).astype(np.float32), kernel)
    nearest = cv2.erode(np.where(known, depth, 1e3).astype(np.float32), kernel)
    return known & (farthest - nearest > tolerance + 0.002 * depth**2 + MAX_SLOPE * depth / focal)
