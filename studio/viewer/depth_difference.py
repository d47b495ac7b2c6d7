"""The difference in depth between the twin and the photograph, as colours."""

import cv2
import numpy as np

FULL_COLOUR_M = 0.03
"""Difference at which the colour is saturated."""
NEARER, EQUAL, FARTHER = np.array([215, 48, 39.0]), np.array([247, 247, 247.0]), np.array([33, 102, 172.0])
"""Red, white and blue of ColorBrewer's RdBu, which the colour-blind can tell apart."""


def colourise(difference: np.ndarray) -> bytes:
    """Return a PNG with transparency: red where the twin is nearer than the measured depth, blue where it is farther.

    Args:
        difference: metres by which the twin is behind the measured depth, of shape (H, W); NaN if unknown.
    """
    share = np.nan_to_num(difference / FULL_COLOUR_M).clip(-1, 1)[..., None]
    rgb = EQUAL + np.where(share < 0, NEARER - EQUAL, FARTHER - EQUAL) * np.abs(share)
    strength = np.abs(np.nan_to_num(difference))[..., None]
    alpha = np.where(np.isnan(difference)[..., None], 0, 70 + 185 * (strength / FULL_COLOUR_M).clip(0, 1) ** 0.5)
    # 0.0015: difference that a depth camera may measure anyway, which is drawn faintly
    alpha = np.where(strength < 0.0015, np.minimum(alpha, 70), alpha)
    rgba = np.concatenate([rgb[..., ::-1], alpha], -1).astype(np.uint8)
    return cv2.imencode(".png", rgba, [cv2.IMWRITE_PNG_COMPRESSION, 3])[1].tobytes()
