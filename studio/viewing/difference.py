"""Twin and photograph compared in depth, as colours."""

import cv2
import numpy as np

MOST = 0.03
"""Metres at which the colour is full."""
SAME = 0.0015
"""Metres that say nothing: no more than a veil is painted there."""
NEARER, EVEN, FARTHER = np.array([215, 48, 39.0]), np.array([247, 247, 247.0]), np.array([33, 102, 172.0])
"""Red, white, blue, as in ColorBrewer's RdBu: told apart by the colour-blind, too."""


def painted(difference: np.ndarray) -> bytes:
    """A PNG with transparency: red where the twin is nearer than was measured, blue where it is farther.

    Args:
        difference: metres by which the twin lies behind, of shape (H, W); NaN, transparent, where unknown.
    """
    share = np.nan_to_num(difference / MOST).clip(-1, 1)[..., None]
    rgb = EVEN + np.where(share < 0, NEARER - EVEN, FARTHER - EVEN) * np.abs(share)
    strength = np.abs(np.nan_to_num(difference))[..., None]
    alpha = np.where(np.isnan(difference)[..., None], 0, 70 + 185 * (strength / MOST).clip(0, 1) ** 0.5)
    alpha = np.where(strength < SAME, np.minimum(alpha, 70), alpha)
    rgba = np.concatenate([rgb[..., ::-1], alpha], -1).astype(np.uint8)
    return cv2.imencode(".png", rgba, [cv2.IMWRITE_PNG_COMPRESSION, 3])[1].tobytes()
