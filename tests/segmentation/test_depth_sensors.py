"""The simulated depth cameras that training frames are drawn with."""

import numpy as np
import pytest

from scripts.training.depth_sensors import SENSORS, TrueSurface, measure_depth

CLEAR = np.zeros((240, 320), bool)
CLEAR[60:180, 200:280] = True


def surface(**changes) -> TrueSurface:
    """Return a wall 1.2 m away with a box at 0.8 m in front of it."""
    depth = np.full((240, 320), 1.2, np.float32)
    depth[80:160, 60:140] = 0.8
    rgb = np.random.default_rng(1).integers(60, 200, (240, 320, 3)).astype(np.uint8)
    none = np.zeros(depth.shape, bool)
    values = {"depth": depth, "rgb": rgb, "shiny": none, "clear": none, "depth_behind": depth, "focal": 300.0}
    return TrueSurface(**values | changes)


@pytest.mark.parametrize("sensor", SENSORS)
def test_what_is_measured_inside_a_surface_is_near_the_truth(sensor):
    for seed in range(5):
        measured = sensor(surface(), np.random.default_rng(seed))
        inside = np.zeros(measured.shape, bool)
        inside[100:140, 80:120] = True
        known = inside & (measured > 0)
        assert np.median(np.abs(measured[known] - 0.8)) < 0.03


@pytest.mark.parametrize("sensor", SENSORS)
def test_a_clear_object_is_a_hole_or_shows_what_is_behind_it_in_some_frames(sensor):
    true = surface()
    depth = np.where(CLEAR, 1.0, true.depth).astype(np.float32)
    clear = surface(depth=depth, clear=CLEAR)
    wrong = [
        np.mean(np.abs(sensor(clear, np.random.default_rng(seed))[80:160, 220:260] - 1.0) > 0.05) for seed in range(12)
    ]
    assert max(wrong) > 0.8


def test_the_same_seed_measures_the_same_depth():
    first, again = (measure_depth(surface(), np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first, again)
    assert first.dtype == np.float32 and first.min() >= 0
