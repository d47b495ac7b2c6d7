"""SAM 2's own code on random weights in a real checkpoint file, loaded as a user's would be."""

import numpy as np
import pytest

from pipeline.segmentation import Prompt, Sam2Segmenter, SegmentationError
from pipeline.segmentation.sam2 import cleaned
from tests.frame.rendered import render


def test_masks_of_table_and_wall_are_left_out():
    seen = render()
    truth = list(seen.labels.values())
    background = ~np.logical_or.reduce(truth)
    halves = [background & (np.arange(320) < 160), background & (np.arange(320) >= 160)]
    kept = cleaned(seen.frame, [(mask, 0.9) for mask in [*halves, *truth, truth[0]]])
    assert len(kept) == len(truth) and all(segment.source == "sam2" for segment in kept)


def test_an_unnamed_or_absent_checkpoint_is_said():
    pytest.importorskip("sam2", reason="LIGHT set-up: torch and sam2 are not installed")
    for checkpoint in ("", "/nowhere/sam2.pt"):
        with pytest.raises(SegmentationError, match=r"facebook/sam2\.1-hiera-tiny"):
            Sam2Segmenter(checkpoint)


@pytest.mark.parametrize("kind", ["text", "other", "cut"])
def test_a_broken_checkpoint_is_one_clear_line(tmp_path, kind):
    torch = pytest.importorskip("torch", reason="LIGHT set-up: torch is not installed")
    pytest.importorskip("sam2", reason="LIGHT set-up: sam2 is not installed")
    file = tmp_path / "sam2.pt"
    torch.save({"model": {"weight": torch.zeros(9)}}, file)
    if kind == "text":
        file.write_text("not weights")
    if kind == "cut":
        file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(SegmentationError, match=r"sam2\.pt") as caught:
        Sam2Segmenter(str(file))
    assert "\n" not in str(caught.value)


def test_the_packages_tiny_network_answers_prompts(tmp_path):
    torch = pytest.importorskip("torch", reason="LIGHT set-up: torch is not installed")
    build = pytest.importorskip("sam2.build_sam", reason="LIGHT set-up: sam2 is not installed")
    torch.manual_seed(0)
    model = build.build_sam2("configs/sam2.1/sam2.1_hiera_t.yaml", None, device="cpu")
    torch.save({"model": model.state_dict()}, tmp_path / "tiny.pt")
    frame = render().frame
    view = Sam2Segmenter(str(tmp_path / "tiny.pt")).open(frame)
    one = Prompt(np.array([[160.0, 120]]), np.array([1]))
    readings = view.segment(one)
    assert len(readings) == 3 and readings[0].score >= readings[-1].score
    assert all(r.mask.shape == frame.depth.shape and r.mask.dtype == bool and r.source == "sam2" for r in readings)
    again = view.segment(Prompt(one.points, one.labels, mask=readings[0].mask))
    assert len(again) == 1
    with pytest.raises(SegmentationError, match="outside"):
        view.segment(Prompt(np.array([[900.0, 1]]), np.array([1])))
