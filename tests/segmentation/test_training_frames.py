"""The frames that networks are trained on are drawn by the shares of their folders."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

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
