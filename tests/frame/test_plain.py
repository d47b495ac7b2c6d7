"""Reading and writing the plain format: valid frames are read unchanged, invalid ones give an error of one line."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.frame import Frame, FrameError, Intrinsics, load, load_files, save
from tests.frame.written import png

CAMERA = {"width": 32, "height": 24, "fx": 30.0, "fy": 30.0, "cx": 16.0, "cy": 12.0, "depth_scale": 0.001}


COLOUR = png(np.full((24, 32, 3), 90, np.uint8))
DEPTH = png(np.full((24, 32), 700, np.uint16))


def folder(path: Path, **changed: bytes | dict | None) -> Path:
    path.mkdir(exist_ok=True)
    files = {"rgb.png": COLOUR, "depth.png": DEPTH, "camera.json": CAMERA}
    files |= {key.replace("_", "."): value for key, value in changed.items()}
    for name, value in files.items():
        if value is not None:
            (path / name).write_bytes(json.dumps(value).encode() if isinstance(value, dict) else value)
    return path


def test_a_plain_folder_loads_in_metres_single_files_and_missing_units_with_a_note(tmp_path):
    frame = load(folder(tmp_path / "f"))
    assert frame.depth.dtype == np.float32 and frame.depth.shape == (24, 32)
    assert np.allclose(frame.depth, 0.7) and frame.notes == ()
    source = folder(tmp_path / "f")
    frame = load_files(source / "rgb.png", source / "depth.png")
    assert frame.notes and "field of view" in frame.notes[0] and any("depth" in note for note in frame.notes)
    camera = {key: value for key, value in CAMERA.items() if key != "depth_scale"}
    frame = load(folder(tmp_path / "f", camera_json=camera, depth_png=png(np.full((24, 32), 7000, np.uint16))))
    assert np.allclose(frame.depth, 0.7) and "0.1 mm" in frame.notes[0]


@given(scale=st.sampled_from([0.001, 0.0001, 0.00025]), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_a_saved_frame_is_loaded_unchanged(tmp_path_factory, scale, seed):
    random = np.random.default_rng(seed)
    depth = (random.integers(0, 6000, (24, 32)) * scale).astype(np.float32)
    depth[0, 0] = 0.5
    pose = np.array([[0, -1, 0, 1.0], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])
    k = Intrinsics(32, 24, 30.5, 31.0, 15.2, 11.9)
    frame = Frame(random.integers(0, 255, (24, 32, 3), dtype=np.uint8), depth, k, pose, "a table", ("a guess.",))
    path = tmp_path_factory.mktemp("saved")
    save(frame, path)
    loaded = load(path)
    assert np.array_equal(loaded.rgb, frame.rgb) and np.allclose(loaded.depth, depth, atol=1e-6)
    assert loaded.intrinsics == k and np.allclose(loaded.world_from_camera, pose)
    assert (loaded.source, loaded.notes) == ("a table", ("a guess.",))


def bad_camera(**changed):
    return {"camera_json": CAMERA | changed}


STRETCHED = [[2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"depth_png": None}, "lacks depth.png; it holds"),
        ({"camera_json": None}, "lacks camera.json"),
        ({"rgb_png": None}, "lacks rgb.png"),
        ({"rgb_png": b"no picture"}, "not a picture"),
        ({"rgb_png": b""}, "empty"),
        ({"depth_png": DEPTH[:60]}, "depth.png is"),
        ({"rgb_png": DEPTH, "depth_png": COLOUR}, "swapped"),
        ({"depth_png": COLOUR}, "one channel of 16 bits"),
        ({"depth_png": png(np.full((24, 32), 9, np.uint8))}, "16-bit"),
        ({"depth_png": png(np.zeros((24, 32), np.uint16))}, "zero everywhere"),
        ({"depth_png": png(np.full((48, 64), 700, np.uint16))}, "depth 64 x 48"),
        (bad_camera(width=64), "Sizes disagree"),
        (bad_camera(width=32.5), "integer number of pixels"),
        (bad_camera(fx=float("nan")), "finite"),
        (bad_camera(fx=3.0), "focal lengths"),
        (bad_camera(fx=-30.0), "focal lengths"),
        (bad_camera(fx=60.0, fy=20.0), "nearly the same"),
        (bad_camera(cx=900.0), "principal point"),
        (bad_camera(fy="thirty"), "not a number"),
        (bad_camera(depth_scale=1000), "metres per unit"),
        (bad_camera(depth_scale=-1), "metres per unit"),
        (bad_camera(world_from_camera=STRETCHED), "scales, shears or mirrors"),
        (bad_camera(world_from_camera=[1, 2]), "four rows"),
        ({"camera_json": b"{nope"}, "not JSON"),
        ({"camera_json": b"[]"}, "not an object"),
        ({"camera_json": {"width": 32}}, "lacks height, fx"),
    ],
)
def test_faults_are_one_line(tmp_path, changed, message):
    with pytest.raises(FrameError, match=message) as caught:
        load(folder(tmp_path / "f", **changed))
    assert "\n" not in str(caught.value)


def test_a_missing_path_and_a_zip_that_points_outside_are_refused(tmp_path):
    with pytest.raises(FrameError, match="nothing at"):
        load(tmp_path / "absent")
    with zipfile.ZipFile(tmp_path / "f.zip", "w") as archive:
        archive.writestr("../depth.png", DEPTH)
    with pytest.raises(FrameError, match="leads out of it"):
        load(tmp_path / "f.zip")
