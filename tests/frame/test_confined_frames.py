"""Frames from outside are read in a confined child, the same and within bounds."""

import json
import zipfile
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import trimesh
from PIL import Image
from scipy.spatial.transform import Rotation

from bench.frame_reading import KINDS
from pipeline.frame import Frame, FrameError, confined_reader, load, load_files, open_recording
from pipeline.frame.load import open_in_process
from pipeline.untrusted.confined import ConfinedError, Limits
from tests.frame import written
from tests.frame.written import png

pytestmark = pytest.mark.confined


def doubtful(frame: Frame, path: Path) -> Path:
    return written.zipped(path / "d.zip", {**KINDS["0.125 mm, unsaid"](frame)})


def ply(frame: Frame, path: Path) -> Path:
    known = frame.depth > 0
    colours = np.column_stack([frame.rgb[known], np.full(known.sum(), 255)])
    trimesh.PointCloud(frame.points[known].astype(float), colors=colours).export(path / "cloud.ply")
    return path / "cloud.ply"


def rigid(rotation: tuple[float, ...], position: tuple[float, ...]) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = Rotation.from_rotvec(rotation).as_matrix(), position
    return pose


EXACT = [doubtful, written.plain_zip, written.npz, ply, written.FORMATS["float_exr"], written.video, written.mcap]


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
    monkeypatch.setattr(confined_reader.confined, "call", Mock(side_effect=ConfinedError("not here")))
    load(written.plain(frame, tmp_path))
    for name in ("plain_zip", "npz", "float_tiff", "tum", "r3d", "video"):
        (tmp_path / name).mkdir()
        with pytest.raises(FrameError, match="not here"):
            load(written.FORMATS[name](frame, tmp_path / name))
    disguised = tmp_path / "plain"
    Image.fromarray(frame.rgb).save(disguised / "rgb.png", format="TIFF")
    with pytest.raises(FrameError, match="not here"):
        load(disguised)
    with pytest.raises(FrameError, match="not here"):
        load_files(disguised / "rgb.png", disguised / "depth.png")


def test_frames_of_a_recording_are_read_by_index_and_a_link_in_a_folder_leads_nowhere(frame, tmp_path):
    recording = open_recording(written.two_frames(frame, tmp_path))
    assert len(recording) == 2 and np.array_equal(recording.frame(1).rgb, frame.rgb)
    picture = written.FORMATS["tum"](frame, tmp_path) / "rgb" / "1305031102.175304.png"
    picture.symlink_to(picture.rename(tmp_path / "secret.png"))
    with pytest.raises(FrameError, match=r"\A.*\Z"):
        load(tmp_path / "tum")


def test_a_recording_in_any_format_with_poses_tells_where_its_camera_was_and_is_looked_through(frame, tmp_path):
    poses = [rigid((0, 0, 0), (0, 0, 0)), rigid((0.3, 0.1, -0.2), (0.1, -0.4, 1)), rigid((-1, 0.5, 2), (2, 0.3, 0.9))]
    for kind, path in written.posed_recordings(frame, poses, tmp_path).items():
        recording = open_recording(path)
        assert np.allclose(np.array(recording.poses), poses, atol=1e-6), kind
        previews = list(recording.previews(2))
        assert len(previews) == 2 and np.array_equal(previews[1], recording.frame(2).rgb), kind
    assert next(open_recording(Path(__file__).parent / "synthetic.bag").previews(5)).shape == (48, 64, 3)
    for write in (written.video, written.mcap):
        first, second = open_recording(write(frame, tmp_path)).previews()
        assert np.array_equal(first, frame.rgb) and np.array_equal(second, frame.rgb)
    truth = tmp_path / "t" / "groundtruth.txt"
    truth.write_text("\n".join(truth.read_text().splitlines()[:3]))
    assert [pose is None for pose in open_recording(tmp_path / "t").poses] == [False, True, True]
    truth.write_text("1 2 three")
    with pytest.raises(FrameError, match="a time and 7 numbers"):
        open_recording(tmp_path / "t")


def test_only_the_arrays_of_a_frame_are_read_from_an_npz_and_not_for_too_long(frame, tmp_path, monkeypatch):
    path = written.npz(frame, tmp_path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("K2.npy", b"\x93NUMPY not an array at all")
    assert np.array_equal(load(path).rgb, frame.rgb)
    monkeypatch.setattr(confined_reader, "LIMITS", Limits(seconds=0.0))
    with pytest.raises(FrameError, match="takes longer than 0 s"):
        load(written.npz(frame, tmp_path))


def test_frames_and_arrays_above_25_megapixels_are_refused_before_they_are_decoded(frame, tmp_path, monkeypatch):
    camera = json.dumps({"width": 8000, "height": 8000, "fx": 6000, "fy": 6000, "cx": 4000, "cy": 4000})
    rgb, depth = np.zeros((8000, 8000, 3), np.uint8), np.zeros((8000, 8000), np.uint16)
    files = {"rgb.png": png(rgb), "depth.png": png(depth), "camera.json": camera}
    monkeypatch.setattr(Image.Image, "load", lambda self: pytest.fail("decoded"))
    for path in (written.write(tmp_path / "plain", files), written.zipped(tmp_path / "f.zip", files)):
        with pytest.raises(FrameError, match=r"\A.*8000 x 8000 pixels; a frame has at most 25 million.*\Z"):
            load(path)
    path = tmp_path / "f.npz"
    np.savez_compressed(path, rgb=np.zeros((5100, 5100, 3), np.uint8), depth=np.ones((5100, 5100), np.uint16))
    with pytest.raises(FrameError, match="5100 x 5100 pixels; a frame has at most 25 million"):
        load(path)
