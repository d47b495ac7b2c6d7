"""Requests of the mask canvas; its segmenters, the fallback where one fails, SAM 2's installation; uploaded frames."""

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from offline_studio import FRAME

from pipeline.frame import FrameError, load
from pipeline.resources import SAMPLE_SCENES
from pipeline.segmentation import DepthSegmenter, Prompt, ScriptedSegmenter, Segment, SegmentationError, encode_rle
from pipeline.segmentation.automatic import ProgressView
from studio.masks.mask_requests import endpoint
from studio.masks.uploads import Uploads, recording_in, strip_pictures, suggest_name
from studio.services import sam2_install, segmenter_choice
from studio.services.sam2_install import Installation, InstallError, requirements
from studio.services.segmenter_choice import FrameSegmenters, parse_automatic_settings
from studio.services.settings import Settings
from studio.web.errors import RequestError

MASK = np.zeros((40, 60), bool)
MASK[10:20, 15:40] = True


def open_session() -> SimpleNamespace:
    segmenters = FrameSegmenters(FRAME, ScriptedSegmenter([MASK]))
    return SimpleNamespace(project=SimpleNamespace(frame=FRAME), segmenters=segmenters)


def ask(session: SimpleNamespace | None = None, /, **request) -> dict:
    session = session or open_session()
    return endpoint(SimpleNamespace(get=lambda _: session))({"token": "known", **request})  # type: ignore[arg-type]


def test_an_invalid_request_is_refused_in_one_line():
    for request_, message in (
        (dict(points=[[20, 15]], labels=[]), "label"),
        (dict(points=[[70, 2]], labels=[1]), "outside the picture"),
        (dict(points=[[float("nan"), 2]], labels=[1]), ""),
        (dict(points="here", labels=[1]), ""),
        (dict(points=[[1, 2]] * 300, labels=[1] * 300), ""),
        (dict(rle={"size": [4, 4], "counts": [16]}), ""),
        (dict(points=[[15, MASK.shape[0] + 1]], labels=[1]), "outside the picture"),
        (dict(kind="compare", rle=encode_rle(np.zeros_like(MASK))), "nothing to compare"),
        (dict(kind="compare", rle={"size": [1, 2]}), "reload the page"),
        (dict(kind="choose", name="other"), "no segmenter 'other'"),
    ):
        answer = ask(seq=1, **request_)
        assert answer["error"] and message in answer["error"] and "\n" not in answer["error"] and answer["seq"] == 1


def test_the_chosen_segmenter_says_how_good_each_reading_is_and_a_stop_cancels_its_view(monkeypatch):
    segments = [Segment(0, MASK, score, "sam2") for score in (0.9, 0.5)]
    session, view = open_session(), Mock(ProgressView, segment=Mock(return_value=segments))
    monkeypatch.setattr(segmenter_choice, "create_segmenter", lambda *_: Mock(open=lambda _: view))
    assert ask(session, kind="choose", name="sam2")["chosen"] == "sam2"
    readings = ask(session, points=[[20, 15]], labels=[1])["candidates"]
    assert [(one["source"], one["quality"]) for one in readings] == [("sam2", 0.9), ("sam2", 0.5)]
    assert ask(session, kind="stop", name="sam2")["chosen"] == "sam2" and view.cancel.call_count == 1


def test_settings_of_sam2_are_read_from_the_browser_and_checked(monkeypatch: pytest.MonkeyPatch):
    settings = parse_automatic_settings({"points_per_side": 8.0, "keep_all": True, "unknown": 1})
    assert settings.points_per_side == 8 and settings.keep_all is True and settings.box_nms_thresh == 0.7
    for name, wrong in (("pred_iou_thresh", 2), *(("points_per_side", one) for one in (500, "many", None))):
        with pytest.raises(SegmentationError):
            parse_automatic_settings({name: wrong})
    monkeypatch.setenv("GRS_SAM2_DEVICE", "mps")
    assert Settings.from_environment().device == "mps"


def test_where_a_segmenter_fails_on_a_frame_depth_answers_the_clicks(monkeypatch: pytest.MonkeyPatch):
    failed = SimpleNamespace(status="failed", progress=0.0, message="The checkpoint is of another network.")
    monkeypatch.setattr(segmenter_choice, "create_segmenter", lambda *_: Mock(open=lambda _: Mock(state=failed)))
    segmenters = FrameSegmenters(load(SAMPLE_SCENES / "blocks"), DepthSegmenter())
    monkeypatch.setattr(segmenters, "_missing", {})  # neither packages nor weights
    segmenters.choose("sam2")
    assert segmenters.state("sam2")["note"] == failed.message
    height, width = segmenters.frame.depth.shape
    (best, *_) = segmenters.segment(Prompt(np.array([[width / 2, height / 2]]), np.array([1])))
    assert best.source == "depth" and segmenters.chosen == "sam2"


def finished(installation: Installation) -> Installation:
    installation.job.join(20)  # type: ignore[union-attr]
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


def test_a_project_is_named_after_its_files_or_else_after_the_date():
    for files, name in (
        (["kitchen_3.zip"], "kitchen_3"),
        (["desk_rgb.png", "desk_depth.png", "desk_camera.json"], "desk"),
        (["rgb_mugs-2.png", "depth_mugs-2.png", "camera_mugs-2.json"], "mugs_2"),
        (["rgb.png", "depth.png", "camera.json"], "table_2026_11_22_0304"),
        (["frame.npz"], "table_2026_11_22_0304"),
    ):
        assert suggest_name([Path(file) for file in files], time.strptime("2026-11-22 03:04", "%Y-%m-%d %H:%M")) == name


def test_an_upload_is_opened_and_an_old_one_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for place in ("first", "second"):
        (tmp_path / place).symlink_to(SAMPLE_SCENES / "blocks")
    uploads = Uploads(capacity=1)
    token = uploads.add([SAMPLE_SCENES / "blocks" / name for name in ("rgb.png", "depth.png", "camera.json")])
    upload = uploads.get(token)
    assert len(upload.recording) == 1 and upload.project_name(0) == upload.name
    assert upload.recording.frame(0).rgb.shape == load(SAMPLE_SCENES / "blocks").rgb.shape
    several = [tmp_path / f"{kind}_{number}.png" for kind in ("rgb", "depth") for number in (1, 2)]
    for file in several:
        file.symlink_to(SAMPLE_SCENES / "blocks" / f"{file.stem[:-2]}.png")
    last = uploads.add(several)
    pictures, about = [], {"ended": False}
    while not about["ended"]:
        about = strip_pictures(uploads, {"token": last, "have": len(pictures)})
        pictures += about["pictures"]
    assert len(pictures) == 2 and about["every"] == 1 and not about["failure"]
    with pytest.raises(RequestError, match="numbered from 0"):
        strip_pictures(uploads, {"token": last, "have": -1})
    with pytest.raises(RequestError, match="drop them again"):
        uploads.get(token)
    assert [copies.name for copies in tmp_path.glob("grs-studio-dropped-*/*")] == [last]
    uploads.add([SAMPLE_SCENES / "blocks" / name for name in ("rgb.png", "depth.png")])
    assert not list(tmp_path.glob("grs-studio-dropped-*/*"))
    with pytest.raises(FrameError, match="must contain depth"):
        recording_in([SAMPLE_SCENES / "blocks" / "rgb.png"], tmp_path / "copies")
    with pytest.raises(RequestError, match="Nothing was dropped"):
        uploads.add([])
