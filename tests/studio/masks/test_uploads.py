"""Uploaded frames: which files make one, and the name of its project."""

import time
from pathlib import Path

import pytest

from pipeline.frame import FrameError, load
from studio.masks.uploads import Uploads, recording_in, suggest_name
from studio.server.errors import RequestError

SAMPLES = Path(__file__).parents[3] / "sample_scenes"


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
        (tmp_path / place).symlink_to(SAMPLES / "blocks")
    uploads = Uploads(capacity=1)
    token = uploads.add([SAMPLES / "blocks" / name for name in ("rgb.png", "depth.png", "camera.json")])
    upload = uploads.get(token)
    assert len(upload.recording) == 1 and upload.project_name(0) == upload.name
    assert upload.recording.frame(0).rgb.shape == load(SAMPLES / "blocks").rgb.shape
    several = [tmp_path / f"{kind}_{number}.png" for kind in ("rgb", "depth") for number in (1, 2)]
    for file in several:
        file.symlink_to(SAMPLES / "blocks" / f"{file.stem[:-2]}.png")
    last = uploads.add(several)
    with pytest.raises(RequestError, match="drop them again"):
        uploads.get(token)
    assert [copies.name for copies in tmp_path.glob("grs-studio-dropped-*/*")] == [last]
    uploads.add([SAMPLES / "blocks" / name for name in ("rgb.png", "depth.png")])
    assert not list(tmp_path.glob("grs-studio-dropped-*/*"))
    with pytest.raises(FrameError, match="must contain depth"):
        recording_in([SAMPLES / "blocks" / "rgb.png"], tmp_path / "copies")
    with pytest.raises(RequestError, match="Nothing was dropped"):
        uploads.add([])
