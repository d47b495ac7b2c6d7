"""Segmenters of a frame: settings, states, and the fallback where one fails."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.frame import load
from pipeline.segmentation import SegmentationError
from studio.masks.segmenter_choice import FrameSegmenters, parse_automatic_settings
from studio.server.services import Settings

SAMPLES = Path(__file__).parents[3] / "sample_scenes"


def test_settings_of_sam2_are_read_from_the_browser_and_checked(monkeypatch: pytest.MonkeyPatch):
    settings = parse_automatic_settings({"points_per_side": 8.0, "keep_all": True, "unknown": 1})
    assert settings.points_per_side == 8 and settings.keep_all is True and settings.box_nms_thresh == 0.7
    for wrong in (
        {"points_per_side": 500},
        {"pred_iou_thresh": 2},
        {"points_per_side": "many"},
        {"points_per_side": None},
    ):
        with pytest.raises(SegmentationError):
            parse_automatic_settings(wrong)
    monkeypatch.setenv("GRS_SAM2_DEVICE", "mps")
    assert Settings.from_environment().device == "mps"


def test_where_a_checkpoint_cannot_be_loaded_depth_answers_the_clicks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    torch = pytest.importorskip("torch", reason="LIGHT set-up: torch and sam2 are not installed")
    pytest.importorskip("sam2", reason="LIGHT set-up: torch and sam2 are not installed")
    from pipeline.segmentation import DepthSegmenter, Prompt

    layer = {"image_encoder.trunk.patch_embed.proj.weight": torch.zeros(7, 3, 7, 7)}
    torch.save({"model": layer}, tmp_path / "odd.pt")
    monkeypatch.setenv("GRS_SAM2", str(tmp_path / "odd.pt"))
    frame = load(SAMPLES / "blocks")
    segmenters = FrameSegmenters(frame, DepthSegmenter())
    assert segmenters.state("sam2")["state"] == "idle"
    segmenters.choose("sam2")
    segmenters.open("sam2").wait(60)  # type: ignore[attr-defined]
    state = segmenters.state("sam2")
    assert state["state"] == "failed" and "\n" not in state["note"]
    height, width = frame.depth.shape
    (best, *_) = segmenters.segment(Prompt(np.array([[width / 2, height / 2]]), np.array([1])))
    assert best.source == "depth" and segmenters.chosen == "sam2"
    segmenters.choose("sam2")  # retries
    assert segmenters.state("sam2")["state"] in ("queued", "loading", "failed")
