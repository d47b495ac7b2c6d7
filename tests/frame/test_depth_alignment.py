"""Depth that is shifted against its colour is aligned, if most of the image agrees; edges have flying pixels."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from pipeline.frame import Frame, Intrinsics
from pipeline.frame.depth_alignment import _improves_most_cells, register_depth
from pipeline.frame.flying_pixels import flying_pixels
from tests.frame.rendered import render


def table(shift: int = 0) -> Frame:
    """Return a frame of eighteen boxes on a table, with depth shifted by `shift` pixels."""
    rng = np.random.default_rng(0)
    rgb, depth = np.full((480, 640, 3), 120, np.uint8), np.full((480, 640), 1.0, np.float32)
    for x in range(60, 600, 100):
        for y in range(60, 360, 120):
            rgb[y : y + 50, x : x + 50], depth[y : y + 50, x : x + 50] = int(rng.choice([60, 75, 170, 190])), 0.9
    rgb = np.clip(rgb + rng.normal(0, 6, rgb.shape), 0, 255).astype(np.uint8)
    return Frame(rgb, np.roll(depth, shift, axis=1), Intrinsics(640, 480, 600.0, 600.0, 320.0, 240.0))


@pytest.mark.parametrize("shift", [-6, -5, 5, 6])
def test_shifted_depth_is_aligned(shift):
    moved = register_depth(table(shift))
    assert moved.notes and "moved by" in moved.notes[-1]
    inner = np.s_[20:-20, 20:-20]
    assert (np.abs(moved.depth - table().depth)[inner] > 0.01).mean() < 0.012


def test_shifted_and_scaled_depth_is_aligned_and_aligned_depth_is_not_changed():
    frame, zoom = render(width=640, noise=0.5).frame, 1.02
    warp = np.column_stack([np.eye(2) * zoom, [-5, 2] + np.array([320, 240]) * (1 - zoom)])
    off = cv2.warpAffine(frame.depth, warp, (640, 480), flags=cv2.INTER_NEAREST)
    aligned = register_depth(replace(frame, depth=off))
    depths = off, aligned.depth
    wrong, left = (np.count_nonzero(np.abs(depth - frame.depth)[60:-60, 60:-60] > 0.05) for depth in depths)
    assert aligned.notes and left < 0.35 * wrong
    frame = table()
    assert register_depth(frame) is frame


@pytest.mark.parametrize("improved_cells, expected", [(2, False), (3, False), (4, True), (6, True)])
def test_a_shift_must_improve_more_than_half_of_the_image_cells(improved_cells, expected):
    """The long edge of a table along a plank's seam must not outweigh the objects on it."""
    edges, points = np.zeros((60, 60, 2), np.float32), []
    for cell in range(6):
        improves = cell < improved_cells
        points += [(cell * 10 + 3, row) for row in np.repeat(np.arange(0, 10), 8 if improves else 2)]
        edges[:10, cell * 10 + (6 if improves else 3), 0] = 9.0 if improves else 1.0
    places, normals = np.array(points, float), np.tile([1.0, 0.0], (len(points), 1))
    assert _improves_most_cells(edges, places, places + np.array([3.0, 0.0]), normals) is expected


def step(near: float, far: float) -> np.ndarray:
    return np.where(np.arange(30) < 15, near, far)[None].repeat(20, axis=0).astype(np.float32)


def test_only_pixels_beside_a_depth_edge_are_flying():
    flying = flying_pixels(step(0.8, 1.0), 600.0)
    assert flying[:, 14:16].all() and flying.sum() == 2 * 20
    slope = np.linspace(0.8, 1.0, 30)[None].repeat(20, axis=0)
    noisy = slope + np.random.default_rng(0).normal(0, 0.0005, slope.shape)
    assert not flying_pixels(noisy.astype(np.float32), 600.0).any()
    assert not flying_pixels(step(0.8, 0.0), 600.0).any()
