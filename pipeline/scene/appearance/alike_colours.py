"""Which colours are like those of a sample, such as the pixels that show a table."""

import cv2
import numpy as np


def are_common(rgb: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """Return which colours (N, 3) are common among a sample's (M, 3), of shape (N,): patterns of several colours."""
    # 24: bins a channel of the table's colour histogram. OpenCV 5.0's calcBackProject gives 0 for three channels
    bins, own = ((colours.astype(np.int32) * 24 // 256) @ (24 * 24, 24, 1) for colours in (sample, rgb))
    # Share of the table's pixels from which a colour is one of the table's
    return (np.bincount(bins, minlength=24**3) > 0.001 * len(sample))[own]


def to_lab(rgb: np.ndarray) -> np.ndarray:
    """Return the CIELAB colours (H, W, 3), float32, of a picture (H, W, 3), uint8."""
    return cv2.cvtColor(rgb / np.float32(255), cv2.COLOR_RGB2LAB)


def are_within(lab: np.ndarray, sample: np.ndarray, deviations: float) -> np.ndarray:
    """Return which colours (..., 3) lie within so many standard deviations of a sample's (N, 3), of shape (...)."""
    # 3.0: deviation in CIELAB by which a table's colours differ at least, from light alone
    whitening = np.linalg.cholesky(np.linalg.inv(np.cov(sample.T) + np.eye(3) * 3.0**2)).astype(np.float32)
    return np.square((lab - sample.mean(0)) @ whitening).sum(-1) < deviations**2
