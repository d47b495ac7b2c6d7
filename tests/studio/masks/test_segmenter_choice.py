"""Segmenters of a frame: settings, states, the fallback where one fails, and SAM 2's installation from the app."""

import threading
from pathlib import Path

import numpy as np
import pytest

from pipeline.frame import load
from pipeline.segmentation import SegmentationError
from studio.masks import sam2_install
from studio.masks.sam2_install import Installation, InstallError, requirements
from studio.masks.segmenter_choice import FrameSegmenters, parse_automatic_settings
from studio.server.services import Settings

SAMPLES = Path(__file__).parents[3] / "sample_scenes"


def test_settings_of_sam2_are_read_from_the_browser_and_checked(monkeypatch: pytest.MonkeyPatch):
    settings = parse_automatic_settings({"points_per_side": 8.0, "keep_all": True, "unknown": 1})
    assert settings.points_per_side == 8 and settings.keep_all is True and settings.box_nms_thresh == 0.7
    for name, wrong in (("pred_iou_thresh", 2), *(("points_per_side", one) for one in (500, "many", None))):
        with pytest.raises(SegmentationError):
            parse_automatic_settings({name: wrong})
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
    assert (idle := segmenters.state("sam2"))["state"] == "idle" and "Weights are installed, for cpu" in idle["note"]
    segmenters.choose("sam2")
    segmenters.open("sam2").wait(60)  # type: ignore[attr-defined]
    state = segmenters.state("sam2")
    assert state["state"] == "failed" and "\n" not in state["note"]
    height, width = frame.depth.shape
    (best, *_) = segmenters.segment(Prompt(np.array([[width / 2, height / 2]]), np.array([1])))
    assert best.source == "depth" and segmenters.chosen == "sam2"
    segmenters.choose("sam2")  # retries
    assert segmenters.state("sam2")["state"] in ("queued", "loading", "failed")


def finished(installation: Installation) -> Installation:
    """The same installation once its thread has ended."""
    assert installation._task is not None
    installation._task.join(20)
    assert not installation.running
    return installation


def test_the_sam2_extra_is_what_is_installed_and_a_failure_of_pip_is_one_line(monkeypatch):
    names = {requirement.split("=")[0].split("<")[0].split(">")[0] for requirement in requirements()}
    assert {"torch", "torchvision", "sam2"} <= names and "gradio" not in names
    monkeypatch.setattr(sam2_install, "requirements", lambda: ("no-such-package-name==1", "sam2==0"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(InstallError, match="pip could not install SAM 2: ERROR"):
        list(sam2_install.install(threading.Event()))


def test_progress_is_shown_a_second_start_does_nothing_and_a_stop_keeps_the_downloads():
    reached, go = threading.Event(), threading.Event()
    starts = []

    def pip(stop: threading.Event):
        starts.append(1)
        yield "Downloading torch"
        reached.set()
        assert go.wait(20)

    installation = Installation(pip)
    installation.start()
    assert reached.wait(20) and installation.running and installation.message == "Downloading torch"
    installation.start()
    go.set()
    assert finished(installation).message == "" and starts == [1]
    installation = Installation(lambda stop: (step for step in ["Downloading torch", stop.wait(20)]))
    installation.start()
    installation.stop()
    assert finished(installation).message.startswith("Stopped.")
