"""Flying pixels at depth edges."""

import numpy as np

from pipeline.frame.flying_pixels import flying_pixels


def step(near: float, far: float) -> np.ndarray:
    return np.where(np.arange(30) < 15, near, far)[None].repeat(20, axis=0).astype(np.float32)


def test_pixels_beside_a_depth_edge_are_flying():
    flying = flying_pixels(step(0.8, 1.0), 600.0)
    assert flying[:, 14:16].all() and flying.sum() == 2 * 20


def test_a_slope_and_noise_are_no_depth_edges():
    slope = np.linspace(0.8, 1.0, 30)[None].repeat(20, axis=0)
    noisy = slope + np.random.default_rng(0).normal(0, 0.0005, slope.shape)
    assert not flying_pixels(noisy.astype(np.float32), 600.0).any()


def test_unknown_pixels_are_neither_flying_nor_an_edge():
    assert not flying_pixels(step(0.8, 0.0), 600.0).any()
