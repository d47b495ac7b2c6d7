"""Frames that networks are trained on: drawn by the shares of their folders, with the errors of real depth cameras."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from scripts.training.depth_sensors import SENSORS, TrueSurface, measure_depth
from scripts.training.frame_folders import FrameFolder, WeightedFrames


def written(folder: Path, count: int) -> Path:
    for number in range(count):
        (folder / f"frame_{number}").mkdir(parents=True)
        (folder / f"frame_{number}" / "expected.json").write_text("{}")
    return folder


def test_frames_are_drawn_by_shares_and_one_seed_measures_the_same_depth(tmp_path):
    many, few = written(tmp_path / "many", 9), written(tmp_path / "few", 1)
    folders = [FrameFolder.parse(f"{many}=1"), FrameFolder.parse(f"{few}=3")]
    frames = WeightedFrames.load(folders, lambda path, number: path.parent.name)
    random = np.random.default_rng(0)
    drawn = Counter(frames.draw(random) for _ in range(2000))
    assert drawn["few"] / 2000 == pytest.approx(0.75, abs=0.04)
    folders = [FrameFolder(written(tmp_path / "a", 4), 1.0), FrameFolder(written(tmp_path / "b", 2), 1.0)]
    frames = WeightedFrames.load(folders, lambda path, number: None if number == 0 else path.parent.name)
    share = sum(p for p, name in zip(frames.probabilities, frames.frames, strict=True) if name == "a")
    assert share == pytest.approx(0.5)
    with pytest.raises(ValueError, match=r"no labelled frames in .*empty"):
        WeightedFrames.load([FrameFolder(tmp_path / "empty")], lambda path, number: path)
    first, again = (measure_depth(surface(), np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first, again) and first.dtype == np.float32 and first.min() >= 0


CLEAR = np.zeros((240, 320), bool)
CLEAR[60:180, 200:280] = True


def surface(**changes) -> TrueSurface:
    depth = np.full((240, 320), 1.2, np.float32)
    depth[80:160, 60:140] = 0.8
    rgb = np.random.default_rng(1).integers(60, 200, (240, 320, 3)).astype(np.uint8)
    none = np.zeros(depth.shape, bool)
    values = {"depth": depth, "rgb": rgb, "shiny": none, "clear": none, "depth_behind": depth, "focal": 300.0}
    return TrueSurface(**values | changes)


@pytest.mark.parametrize("sensor", SENSORS)
def test_a_sensor_measures_near_the_truth_but_not_always_at_clear_objects(sensor):
    for seed in range(5):
        measured = sensor(surface(), np.random.default_rng(seed))
        inside = np.zeros(measured.shape, bool)
        inside[100:140, 80:120] = True
        assert np.median(np.abs(measured[(inside & (measured > 0))] - 0.8)) < 0.03
    depth = np.where(CLEAR, 1.0, surface().depth).astype(np.float32)
    clear = surface(depth=depth, clear=CLEAR)
    depths = [sensor(clear, np.random.default_rng(seed))[80:160, 220:260] for seed in range(12)]
    wrong = [np.mean(np.abs(depth - 1.0) > 0.05) for depth in depths]
    assert max(wrong) > 0.8
