"""Superpixels of a window."""

import numpy as np

from pipeline.segmentation.depth.superpixels import SurfaceMap, superpixels


def test_superpixels_do_not_extend_across_a_gap():
    h, w = 60, 80
    mask = np.zeros((h, w), bool)
    mask[10:50, 10:38], mask[10:50, 42:70] = True, True
    flat = np.zeros((h, w, 3), np.float32)
    up = flat + np.float32([0, 0, 1])
    surface = SurfaceMap(flat, flat, up, np.ones((h, w), np.float32), np.ones((h, w), bool))
    labels = superpixels(surface, mask)
    assert ((labels > 0) == mask).all() and not set(labels[:, :40].ravel()) & set(labels[:, 40:].ravel()) - {0}
