"""Damaged files give an error of one line; tests.fuzz damages those of every format at random."""

import io
import sys
import types
import zipfile

import numpy as np
import pytest

from pipeline.frame import FrameError, load
from pipeline.frame.formats import archive
from tests.frame import written


def test_pickled_arrays_and_a_depth_video_of_8_bits_are_refused(tmp_path, frame):
    np.save(tmp_path / "f.npy", {"depth": np.ones((24, 32))}, allow_pickle=True)  # type: ignore[arg-type]
    with pytest.raises(FrameError, match=r"pickled.*np\.savez"):
        load(tmp_path / "f.npy")
    np.savez(tmp_path / "f.npz", rgb=np.array({}, object), depth=np.ones((24, 32)))
    with pytest.raises(FrameError, match="pickled"):
        load(tmp_path / "f.npz")
    home = written.video(frame, tmp_path)
    written.write_video(home / "depth.mkv", [frame.rgb] * 2, "rgb24", "gbrp")
    with pytest.raises(FrameError, match="8 bits"):
        load(home)


def with_changes(files: dict, **changed) -> dict:
    files = {name: raw for name, raw in files.items() if name not in changed or changed[name] is not None}
    return files | {name: raw for name, raw in changed.items() if raw is not None}


NO_SCALE = '{"3": {"cam_K": [99, 0, 80, 0, 99, 60, 0, 0, 1], "depth_scale": "mm"}}'
NO_SIZE = '{"w": 160, "h": 120, "K": [99, 0, 0, 0, 99, 0, 80, 60, 1]}'
TWO_DEPTHS = {"depth/x.png": b"", "depth/y.png": b""}
WRONG = {
    "no pair": (written.tum_files, {"depth.txt": "99.0 depth/1305031102.160407.png\n"}, "within 0.02 s"),
    "no lines": (written.tum_files, {"rgb.txt": "# timestamp filename\n"}, "within 0.02 s"),
    "no time": (written.tum_files, {"rgb.txt": "now rgb/x.png\n"}, "a time and a file name"),
    "nan time": (written.tum_files, {"rgb.txt": "nan rgb/x.png\n"}, "finite"),
    "a picture gone": (written.tum_files, {"rgb/1305031102.175304.png": None}, "does not hold it"),
    "no camera matrix": (written.bop_files, {"scene_camera.json": '{"3": {}}'}, "3 x 3"),
    "a list of cameras": (written.bop_files, {"scene_camera.json": '{"3": []}'}, "should hold"),
    "no scale": (written.bop_files, {"scene_camera.json": NO_SCALE}, "millimetres per unit"),
    "a number without end": (written.open3d_files, {"camera_primesense.json": f'{{"K": [1{"0" * 400}]}}'}, "3 x 3"),
    "no json": (written.bop_files, {"scene_camera.json": "{"}, "not JSON"),
    "another number": (written.bop_files, {"scene_camera.json": '{"9": {}}'}, "has the number"),
    "a short matrix": (written.open3d_files, {"camera_primesense.json": '{"K": [1, 2]}'}, "3 x 3"),
    "a list of numbers": (written.open3d_files, {"camera_primesense.json": "[]"}, "holds a list"),
    "no numbers": (written.open3d_files, {"camera_primesense.json": "?"}, "cannot be read"),
    "unlike names": (written.open3d_files, {"depth/00000.png": None} | TWO_DEPTHS, "not match"),
    "damaged depth": (written.open3d_files, {"depth/00000.png": b"PNG"}, "not a picture"),
    "no depth": (written.r3d_files, {"rgbd/0.depth": None}, "depth left out"),
    "damaged lzfse": (written.r3d_files, {"rgbd/0.depth": b"nothing"}, "damaged"),
    "a bomb": (written.r3d_files, {"rgbd/0.depth": b"bvx-\xff\xff\xff\x7f" + b"0" * 40}, "damaged"),
    "too few": (written.r3d_files, {"rgbd/0.depth": written.uncompressed_lzfse(b"0000" * 400)}, "400 numbers"),
    "half of the metadata": (written.r3d_files, {"metadata": "{"}, "are not JSON"),
    "no metadata": (written.r3d_files, {"metadata": "[]"}, "metadata"),
    "no size of depth": (written.r3d_files, {"metadata": NO_SIZE}, "numbers; its metadata say 256 x 192"),
}


@pytest.mark.parametrize("case", WRONG)
def test_faults_in_a_folder_are_one_line(frame, tmp_path, case):
    files, changed, message = WRONG[case]
    with pytest.raises(FrameError, match=message) as caught:
        load(written.write(tmp_path / "f", with_changes(files(frame), **changed)))
    assert "\n" not in str(caught.value)


def test_a_missing_package_and_missing_depth_give_advice(frame, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "lzfse", None)
    with pytest.raises(FrameError, match="pip install lzfse"):
        load(written.r3d(frame, tmp_path))
    (tmp_path / "photo.png").write_bytes(written.png(frame.rgb))
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(FrameError, match=r"no depth estimator is installed\. Give a depth picture"):
        load(tmp_path / "photo.png")
    written.write_video(tmp_path / "film.mkv", [frame.rgb] * 2, "rgb24", "gbrp")
    with pytest.raises(FrameError, match=r"colour without depth.*FFV1"):
        load(tmp_path / "film.mkv")


def test_estimated_depth_is_marked_as_not_measured(frame, tmp_path, monkeypatch):
    (tmp_path / "photo.png").write_bytes(written.png(frame.rgb))
    estimator = types.ModuleType("transformers")
    estimator.pipeline = lambda task, model: lambda picture: {"predicted_depth": np.full((30, 40), 1.5)}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "transformers", estimator)
    with pytest.raises(FrameError, match="no weights are installed"):
        load(tmp_path / "photo.png")
    monkeypatch.setenv("GRS_DEPTH_MODEL", str(tmp_path))
    frame = load(tmp_path / "photo.png")
    assert np.allclose(frame.depth, 1.5) and "not measured" in frame.notes[0]


@pytest.mark.parametrize("name, array, message", [
    ("depth", np.ones((24, 32, 2)), "shape"),
    ("depth", np.zeros((24, 32)), "zero everywhere"),
    ("depth", np.full((24, 32), np.nan), "zero everywhere"),
    ("rgb", np.full((24, 32, 3), 300.0), "0 to 255"),
    ("rgb", np.full((24, 32, 3), np.nan), "0 to 255"),
    ("rgb", np.zeros((4, 4, 3)), "shape"),
    ("K", np.ones(5), "3 x 3"),
    ("K", np.diag([np.nan, 30, 1]), "finite"),
    ("depth_scale", np.ones(3), "one number"),
    ("world_from_camera", np.ones(3), "shape"),
])  # fmt: skip
def test_faults_in_an_npz_are_one_line(tmp_path, name, array, message):
    good = {"rgb": np.full((24, 32, 3), 90, np.uint8), "depth": np.ones((24, 32)), "K": np.diag([30.0, 30, 1])}
    np.savez(tmp_path / "f.npz", **(good | {name: array}))
    with pytest.raises(FrameError, match=message) as caught:
        load(tmp_path / "f.npz")
    assert "\n" not in str(caught.value)


def test_files_that_unpack_to_too_much_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_FILE_BYTES", 10_000)
    np.savez_compressed(tmp_path / "f.npz", rgb=np.zeros((240, 320, 3), np.uint8), depth=np.ones((240, 320)))
    with pytest.raises(FrameError, match="too large"):
        load(tmp_path / "f.npz")


def test_an_array_larger_than_its_data_and_a_very_deep_folder_are_refused(tmp_path):
    raw = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
    np.lib.format.write_array_header_1_0(raw, header)
    with zipfile.ZipFile(tmp_path / "f.npz", "w") as archive:
        archive.writestr("depth.npy", raw.getvalue())
        archive.writestr("rgb.npy", written.npy(np.zeros((24, 32, 3), np.uint8)))
    with pytest.raises(FrameError, match="at most 300 MB of it are read"):
        load(tmp_path / "f.npz")
    with pytest.raises(FrameError, match=r"lacks rgb\.png"):
        load(written.zipped(tmp_path / "f.zip", {"a/" * 3000 + "rgb.png": b""}))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("f.zip", b""), ("f.npz", b"PK\x03\x04 nothing"), ("f.npy", b"\x93NUMPY\x01\x00 no header"),
        ("f.bin", b"nothing"), ("f.r3d", b"PK\x05\x06"), ("f.ply", b"ply\nformat none"), ("f.glb", b"glTF" + bytes(40)),
        ("f.mkv", b"no video"), ("f.bag", b"#ROSBAG V2.0\nnothing"),
    ],
)  # fmt: skip
def test_a_file_without_a_frame_is_one_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FrameError, match=r"f\.") as caught:
        load(tmp_path / name)
    assert "\n" not in str(caught.value)
