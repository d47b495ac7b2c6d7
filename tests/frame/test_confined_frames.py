"""Formats from outside are read in a confined child: the same frame, within limits, and nothing else is reached."""

import io
import json
import zipfile
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image

from bench.frame_reading import KINDS
from pipeline.frame import Frame, FrameError, confined_reader, load, load_files, open_recording
from pipeline.frame.load import open_in_process
from pipeline.untrusted.isolated import IsolationError, Limits
from tests.frame import written

pytestmark = pytest.mark.confined


def ply(frame: Frame, path: Path) -> Path:
    known = frame.depth > 0
    points = np.hstack([frame.points[known], frame.rgb[known]])
    properties = [f"property float {axis}" for axis in "xyz"]
    properties += [f"property uchar {c}" for c in ("red", "green", "blue")]
    header = ["ply", "format ascii 1.0", f"element vertex {len(points)}", *properties, "end_header"]
    lines = [f"{x:.4f} {y:.4f} {z:.4f} {r:.0f} {g:.0f} {b:.0f}" for x, y, z, r, g, b in points]
    (path / "cloud.ply").write_text("\n".join([*header, *lines]) + "\n")
    return path / "cloud.ply"


def doubtful(frame: Frame, path: Path) -> Path:
    return written.zipped(path / "d.zip", {**KINDS["0.125 mm, unsaid"](frame)})


EXACT = [doubtful, written.plain_zip, written.npz, ply, written.float_exr, written.video]


@pytest.mark.parametrize(
    ("write", "depth_error"),
    # Depth of the recording changes by 1 mm a frame, and librealsense drops some at the start on a busy machine.
    [*((write, 0.0) for write in EXACT), (lambda *_: Path(__file__).parent / "synthetic.bag", 0.0121)],
)
def test_a_confined_reader_returns_the_same_frame(frame, tmp_path, write, depth_error):
    path = write(frame, tmp_path)
    here, confined = open_in_process(path).frame(0), load(path)
    assert np.array_equal(here.rgb, confined.rgb)
    assert np.allclose(here.depth, confined.depth, rtol=0, atol=depth_error)
    assert (here.intrinsics, here.notes, here.source) == (confined.intrinsics, confined.notes, confined.source)
    assert here.doubts == confined.doubts and bool(here.doubts) == (write is doubtful)
    assert (here.world_from_camera is None) == (confined.world_from_camera is None)


def test_only_a_plain_folder_of_png_and_jpeg_is_decoded_in_this_process(frame, tmp_path, monkeypatch):
    monkeypatch.setattr(confined_reader, "call", Mock(side_effect=IsolationError("not here")))
    load(written.plain(frame, tmp_path))
    for write in (written.plain_zip, written.npz, written.float_tiff, written.tum, written.r3d, written.video):
        folder = tmp_path / write.__name__
        folder.mkdir()
        with pytest.raises(FrameError, match="not here"):
            load(write(frame, folder))
    disguised = tmp_path / "plain"
    Image.fromarray(frame.rgb).save(disguised / "rgb.png", format="TIFF")
    with pytest.raises(FrameError, match="not here"):
        load(disguised)
    with pytest.raises(FrameError, match="not here"):
        load_files(disguised / "rgb.png", disguised / "depth.png")


def test_frames_of_a_recording_are_read_by_index_and_a_link_in_a_folder_leads_nowhere(frame, tmp_path):
    recording = open_recording(written.two_frames(frame, tmp_path))
    assert len(recording) == 2 and np.array_equal(recording.frame(1).rgb, frame.rgb)
    home = written.write(tmp_path / "f", written.tum_files(frame))
    secret = tmp_path / "secret.png"
    (home / "rgb" / "1305031102.175304.png").rename(secret)
    (home / "rgb" / "1305031102.175304.png").symlink_to(secret)
    with pytest.raises(FrameError) as caught:
        load(home)
    assert "\n" not in str(caught.value)


def test_only_the_arrays_of_a_frame_are_read_from_an_npz_and_not_for_too_long(frame, tmp_path, monkeypatch):
    path = written.npz(frame, tmp_path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("K2.npy", b"\x93NUMPY not an array at all")
    assert np.array_equal(load(path).rgb, frame.rgb)
    monkeypatch.setattr(confined_reader, "LIMITS", Limits(seconds=0.0))
    with pytest.raises(FrameError, match="takes longer than 0 s"):
        load(written.npz(frame, tmp_path))


WIDE, HIGH = 8000, 8000


def big_png(mode: str) -> bytes:
    raw = io.BytesIO()
    Image.new(mode, (WIDE, HIGH)).save(raw, "PNG", compress_level=1)
    return raw.getvalue()


def test_frames_and_arrays_above_25_megapixels_are_refused_before_they_are_decoded(frame, tmp_path, monkeypatch):
    camera = json.dumps({"width": WIDE, "height": HIGH, "fx": 6000, "fy": 6000, "cx": 4000, "cy": 4000})
    files = {"rgb.png": big_png("RGB"), "depth.png": big_png("I;16"), "camera.json": camera}
    monkeypatch.setattr(Image.Image, "load", lambda self: pytest.fail("decoded"))
    for path in (written.write(tmp_path / "plain", files), written.zipped(tmp_path / "f.zip", files)):
        with pytest.raises(FrameError, match="8000 x 8000 pixels; a frame has at most 25 million") as caught:
            load(path)
        assert "\n" not in str(caught.value)
    path = tmp_path / "f.npz"
    np.savez_compressed(path, rgb=np.zeros((5100, 5100, 3), np.uint8), depth=np.ones((5100, 5100), np.uint16))
    with pytest.raises(FrameError, match="5100 x 5100 pixels; a frame has at most 25 million"):
        load(path)
