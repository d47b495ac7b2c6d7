"""What the training scripts read and write: shares of folders, weights of exported networks, reserved scenes."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from bench.drawn_masks import KINDS, frame_kinds, scene_conditions
from scripts.training.depth_sensors import SENSORS, TrueSurface, measure_depth
from scripts.training.frame_folders import FrameFolder, WeightedFrames


def written(folder: Path, count: int) -> Path:
    """Write empty labelled frames."""
    for number in range(count):
        (folder / f"frame_{number}").mkdir(parents=True)
        (folder / f"frame_{number}" / "expected.json").write_text("{}")
    return folder


def test_frames_are_drawn_by_the_shares_of_their_folders(tmp_path):
    many, few = written(tmp_path / "many", 9), written(tmp_path / "few", 1)
    folders = [FrameFolder.parse(f"{many}=1"), FrameFolder.parse(f"{few}=3")]
    frames = WeightedFrames.load(folders, lambda path, number: path.parent.name)
    random = np.random.default_rng(0)
    drawn = Counter(frames.draw(random) for _ in range(2000))
    assert drawn["few"] / 2000 == pytest.approx(0.75, abs=0.04)


def test_without_shares_every_frame_is_drawn_as_often(tmp_path):
    many, few = written(tmp_path / "many", 3), written(tmp_path / "few", 1)
    frames = WeightedFrames.load([FrameFolder(many), FrameFolder(few)], lambda path, number: (path, number))
    assert np.allclose(frames.probabilities, 0.25)
    assert [number for _, number in frames.frames] == [0, 1, 2, 3]


def test_a_frame_that_cannot_be_used_leaves_its_share_to_the_others(tmp_path):
    folders = [FrameFolder(written(tmp_path / "a", 4), 1.0), FrameFolder(written(tmp_path / "b", 2), 1.0)]
    frames = WeightedFrames.load(folders, lambda path, number: None if number == 0 else path.parent.name)
    share = sum(p for p, name in zip(frames.probabilities, frames.frames, strict=True) if name == "a")
    assert share == pytest.approx(0.5)


def test_a_folder_without_frames_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"no labelled frames in .*empty"):
        WeightedFrames.load([FrameFolder(tmp_path / "empty")], lambda path, number: path)


def test_averaged_weights_lie_between_both_networks():
    torch = pytest.importorskip("torch")
    from scripts.training.exported_weights import average

    first, second = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    result = average(torch.nn.Linear(3, 2), first, second, 0.25)
    assert torch.allclose(result.weight, 0.75 * first.weight + 0.25 * second.weight)
    assert torch.equal(average(torch.nn.Linear(3, 2), first, second, 1.0).bias, second.bias)


def test_a_named_depth_camera_measures_and_the_rest_stays_random():
    depth = np.full((60, 80), 1.0, np.float32)
    none = np.zeros(depth.shape, bool)
    view = TrueSurface(depth, np.full((60, 80, 3), 128, np.uint8), none, none, depth, 80.0)
    measured = measure_depth(view, np.random.default_rng(1), lambda view, random: np.full(depth.shape, 2.0))
    assert np.all((measured == 0) | (measured == 2)) and (measured == 2).mean() > 0.3


def test_the_reserved_scenes_hold_every_ground_with_every_layout_camera_and_elevation():
    scenes = [scene_conditions(number) for number in range(40)]
    for kind, count in (("layout", 8), ("depth camera", len(SENSORS)), ("elevation", 3)):
        assert len({(one["ground"], one[kind]) for one in scenes}) == 5 * count
    assert len({(one["layout"], one["depth camera"]) for one in scenes}) == 8 * len(SENSORS)


def test_the_name_of_a_reserved_frame_says_its_kinds():
    for number in (0, 17, 39):
        kinds = scene_conditions(number)
        assert tuple(kinds) == KINDS and frame_kinds("_".join([*kinds.values(), "640001", "0"])) == kinds
