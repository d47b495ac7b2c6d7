"""Written in any format, read back, it is the same frame; what is wrong is said in one line."""

import io
import json
import sys
import types
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.spatial import cKDTree

from pipeline.frame import Frame, FrameError, Intrinsics, frames, load, load_files
from pipeline.frame.formats import bundle, cloud
from pipeline.frame.reprojection import enlarge, reproject
from tests.frame import written

ROOT = Path(__file__).resolve().parents[2]
REAL = ROOT.parent / "shared" / "frames"


def small(frame: Frame, step: int = 4) -> Frame:
    """Every fourth pixel, and the camera that sees just those."""
    k = frame.intrinsics
    rgb, depth = frame.rgb[::step, ::step].copy(), frame.depth[::step, ::step].copy()
    own = Intrinsics(*depth.shape[::-1], k.fx / step, k.fy / step, k.cx / step, k.cy / step)
    return Frame(rgb, depth, own, frame.world_from_camera)


@pytest.fixture(scope="module")
def frame() -> Frame:
    return small(load(ROOT / "sample_scenes" / "blocks"))


@pytest.fixture(autouse=True)
def lzfse(monkeypatch):
    """The real package where it is installed, else one that undoes blocks kept as they are."""
    try:
        import lzfse  # noqa: F401
    except ImportError:
        stand_in = types.ModuleType("lzfse")
        stand_in.decompress = lambda raw: raw[8 : 8 + int.from_bytes(raw[4:8], "little")]  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "lzfse", stand_in)


def same(read: Frame, frame: Frame) -> None:
    assert np.array_equal(read.rgb, frame.rgb) and read.depth.dtype == np.float32
    assert np.allclose(read.depth, frame.depth, atol=2e-6)
    ours, theirs = (list(vars(k).values()) for k in (read.intrinsics, frame.intrinsics))
    assert np.allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("write", written.FORMATS, ids=lambda write: write.__name__)
def test_written_in_any_format_read_back_it_is_the_same_frame(frame, tmp_path, write):
    same(load(write(frame, tmp_path)), frame)


@pytest.mark.skipif(not REAL.is_dir(), reason="the real frames are not beside this repository (../shared/frames)")
@pytest.mark.parametrize("write", [written.npz, written.bop, written.open3d, written.float_exr])
def test_a_real_frame_survives_every_kind_of_depth(tmp_path, write):
    real = small(load(REAL / "posecnn_0"))
    rounded = replace(real, depth=np.round(np.where(real.depth < 6, real.depth, 0), 3))
    same(load(write(rounded, tmp_path)), rounded)


def test_a_recording_tells_its_frames_and_gives_each(frame, tmp_path):
    home = written.video(frame, tmp_path)
    darker = (frame.rgb // 2, written.units(frame, 1000) // 2)
    written.film(home / "rgb.mkv", [frame.rgb, darker[0], frame.rgb], "rgb24", "gbrp")
    written.film(home / "depth.mkv", [written.units(frame, 1000), darker[1], darker[1]], "gray16le", "gray16le")
    recording = frames(home)
    assert len(recording) == 3 and recording.times == (0, 0.1, 0.2)
    second = load(home, 1)
    assert np.array_equal(second.rgb, darker[0]) and np.allclose(second.depth * 1000, darker[1], atol=1e-3)
    assert "Frame 1 of 3" in second.notes[0]
    with pytest.raises(FrameError, match="no frame 3"):
        load(home, 3)


def test_frames_are_in_the_order_of_their_numbers(frame, tmp_path):
    rgb, depth = written.png(frame.rgb), written.png(written.units(frame, 1000))
    files = {f"{kind}/{i}.png": raw for i in (10, 2, 1) for kind, raw in (("color", rgb), ("depth", depth))}
    written.write(tmp_path / "f", files)
    assert frames(tmp_path / "f").names == ("color/1.png", "color/2.png", "color/10.png")


def test_a_synthetic_realsense_recording_loads():
    """Recorded by make_bag.py from a made-up device: a slope whose distance grows to the right, 1 mm a frame."""
    recording = frames(Path(__file__).parent / "synthetic.bag")
    first, third = recording.frame(0), recording.frame(2)
    assert (
        len(recording) >= 3
        and first.depth.shape == (48, 64)
        and (first.intrinsics.fx, first.intrinsics.cx) == (60, 31.5)
    )
    assert np.allclose(np.diff(first.depth[20]), 0.002, atol=1e-5) and first.rgb[5, 9].tolist() == [9, 5, 200]
    assert third.depth[0, 0] > first.depth[0, 0]


def pose_above() -> np.ndarray:
    return np.array([[1.0, 0, 0, 0.1], [0, -0.6, 0.8, -0.5], [0, -0.8, -0.6, 0.7], [0, 0, 0, 1]])


def test_a_pose_whose_world_stands_upright_is_kept(frame, tmp_path):
    stood = replace(frame, world_from_camera=pose_above())
    for read in (load(written.bop(stood, tmp_path)), load(with_pose(stood, tmp_path / "f.npz"))):
        assert read.world_from_camera is not None and np.allclose(read.world_from_camera, pose_above(), atol=1e-9)


def with_pose(frame: Frame, path: Path) -> Path:
    back = np.linalg.inv(frame.world_from_camera)  # type: ignore[arg-type]
    np.savez(path, rgb=frame.rgb, depth=frame.depth, K=frame.intrinsics.matrix, extrinsics=back)
    return path


def test_a_pose_in_any_other_world_is_left_aside_and_that_is_said(frame, tmp_path):
    read = load(written.bop(replace(frame, world_from_camera=np.eye(4)), tmp_path))
    assert read.world_from_camera is None and any("left aside" in note for note in read.notes)


def test_tums_own_calibration_is_known_by_name(frame, tmp_path):
    big = Frame(np.full((480, 640, 3), 90, np.uint8), np.full((480, 640), 1.2, np.float32), frame.intrinsics)
    files = written.tum_files(big)
    del files["camera.json"]
    read = load(written.write(tmp_path / "rgbd_dataset_freiburg3_cup", files))
    assert read.intrinsics.fx == 535.4 and np.allclose(read.depth, 1.2) and "freiburg3" in read.notes[-1]


def test_without_a_camera_exif_is_asked_and_the_size_is_said(frame, tmp_path):
    details = Image.Exif()
    details.get_ifd(0x8769)[0xA405] = 36  # FocalLengthIn35mmFilm
    Image.fromarray(frame.rgb).save(tmp_path / "rgb.jpg", exif=details)
    (tmp_path / "depth.png").write_bytes(written.png(written.units(frame, 1000)))
    read = load_files(tmp_path / "rgb.jpg", tmp_path / "depth.png")
    assert read.intrinsics.fx == pytest.approx(36 / np.hypot(36, 24) * np.hypot(*frame.depth.shape))
    assert "36 mm" in read.notes[0] and "m wide" in read.notes[-1]


def test_pairs_without_a_camera_get_a_usual_view_and_a_word(frame, tmp_path):
    files = written.open3d_files(frame)
    del files["camera_primesense.json"]
    read = load(written.write(tmp_path / "f", files))
    assert "60 degree" in read.notes[0] and "m wide" in read.notes[-1]


# Depth of another camera


def test_depth_of_its_own_camera_is_drawn_where_colour_sees_it(frame, tmp_path):
    """The same frame's depth, moved into a second camera 3 cm aside and back."""
    k, aside = frame.intrinsics, np.eye(4)
    aside[0, 3] = 0.03
    coarse = Intrinsics(120, 90, k.fx * 0.75, k.fy * 0.75, k.cx * 0.75, k.cy * 0.75)
    seen = reproject(frame.depth, k, coarse, np.linalg.inv(aside))
    own = {"depth": vars(coarse), "color_from_depth": aside.tolist()}
    files = {
        "rgb.png": written.png(frame.rgb),
        "depth.png": written.png(np.rint(seen * 1000).astype(np.uint16)),
        "camera.json": written.camera(frame, depth_scale=0.001, **own),
    }
    read = load(written.write(tmp_path / "f", files))
    both = (read.depth > 0) & (frame.depth > 0)
    assert read.depth.shape == frame.depth.shape and both.sum() > 0.85 * np.count_nonzero(frame.depth)
    assert np.mean((np.abs(read.depth - frame.depth) < 0.01 * frame.depth)[both]) > 0.95
    assert "own camera" in read.notes[-1]


def test_nearer_things_hide_farther_ones():
    k = Intrinsics(64, 48, 60, 60, 31.5, 23.5)
    depth = np.full((48, 64), 2.0, np.float32)
    depth[:, 20:30] = 1.0
    aside = np.eye(4)
    aside[0, 3] = 0.3
    drawn = reproject(depth, k, k, aside)
    assert (drawn[:, 38:48] == 1.0).all() and (drawn[:, 31:37] == 0).all() and (drawn[:, 50:60] == 2.0).all()


@pytest.mark.parametrize("zoom", [1.0, 2.3, 5.0])
def test_a_plane_has_no_gaps_at_a_finer_resolution(zoom):
    k = Intrinsics(64, 48, 60, 60, 31.5, 23.5)
    fine = Intrinsics(int(64 * zoom), int(48 * zoom), 60 * zoom, 60 * zoom, 31.5 * zoom, 23.5 * zoom)
    turn = np.eye(4)
    turn[:3, :3] = [[np.cos(0.05), -np.sin(0.05), 0], [np.sin(0.05), np.cos(0.05), 0], [0, 0, 1]]
    drawn = reproject(np.full((48, 64), 1.0, np.float32), k, fine, turn)
    edge = int(6 * zoom)
    assert (drawn[edge:-edge, edge:-edge] == 1).all()


def test_enlarged_depth_is_smooth_on_a_slope_and_sharp_at_a_step():
    slope = np.tile(np.linspace(1, 1.2, 32, dtype=np.float32), (24, 1))
    large = enlarge(slope, 128, 96)
    assert np.abs(np.diff(large, axis=1)).max() < 0.004
    slope[:, 16:] += 1
    assert not np.any((enlarge(slope, 128, 96) > 1.25) & (enlarge(slope, 128, 96) < 2))


# Clouds


def points_of(frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    known = frame.depth > 0
    return frame.points[known].astype(float), frame.rgb[known]


def export(path: Path, points: np.ndarray, colours: np.ndarray) -> Path:
    made = trimesh.PointCloud(points, colors=np.column_stack([colours, np.full(len(colours), 255)]))
    (trimesh.Scene(made) if path.suffix == ".glb" else made).export(path)
    return path


@pytest.mark.parametrize("suffix", ["ply", "glb"])
@pytest.mark.parametrize("axes", [np.eye(4), cloud.OPENGL], ids=["opencv", "opengl"])
def test_a_cloud_before_a_camera_is_seen_from_there(frame, tmp_path, suffix, axes):
    points, colours = points_of(frame)
    read = load(export(tmp_path / f"f.{suffix}", points @ axes[:3, :3].T, colours))
    seen, found = points_of(read)
    away, which = cKDTree(points).query(seen)
    assert np.quantile(away, 0.9) < 0.02 and len(seen) > 0.5 * read.depth.size
    assert np.mean(np.abs(found.astype(int) - colours[which]).max(1) < 40) > 0.8
    assert any("origin" in note for note in read.notes)


@pytest.mark.parametrize("suffix, up", [("ply", 2), ("glb", 1)])
def test_a_cloud_in_a_world_is_seen_from_above_with_that_world(tmp_path, suffix, up):
    random = np.random.default_rng(0)
    table = np.column_stack([random.uniform(-0.5, 0.5, (40_000, 2)), np.zeros(40_000)])
    box = np.column_stack([random.uniform(-0.05, 0.05, (8_000, 2)), np.full(8_000, 0.1)])
    points = np.vstack([table, box])
    points = points[:, [0, 2, 1]] * [1, 1, -1] if up == 1 else points
    colours = np.repeat([[150, 110, 70], [190, 30, 35]], [40_000, 8_000], axis=0).astype(np.uint8)
    read = load(export(tmp_path / f"f.{suffix}", points, colours))
    assert read.world_from_camera is not None and any("choice" in note for note in read.notes)
    world = read.points[read.depth > 0] @ read.world_from_camera[:3, :3].T + read.world_from_camera[:3, 3]
    red = read.rgb[read.depth > 0][:, 0] > 170
    assert abs(np.median(world[red, 2]) - 0.1) < 0.01 and abs(np.median(world[~red, 2])) < 0.01


def test_a_scene_with_its_own_camera_is_seen_from_there(frame, tmp_path):
    made = trimesh.PointCloud(*points_of(frame))
    scene = trimesh.Scene(made, camera=trimesh.scene.Camera(resolution=(640, 480), fov=(50, 38.6)))
    scene.camera_transform = cloud.OPENGL  # looks along the points' z
    scene.export(tmp_path / "f.glb")
    read = load(tmp_path / "f.glb")
    assert any("own camera" in note for note in read.notes)
    assert np.quantile(cKDTree(points_of(frame)[0]).query(points_of(read)[0])[0], 0.9) < 0.02


def test_a_cloud_in_millimetres_is_known_by_its_distance(frame, tmp_path):
    points, colours = points_of(frame)
    read = load(export(tmp_path / "f.ply", points * 1000, colours))
    assert np.isclose(np.median(read.depth[read.depth > 0]), np.median(points[:, 2]), rtol=0.1)
    assert any("1 mm" in note for note in read.notes)


def test_a_coloured_scan_with_faces_is_a_frame_too(tmp_path):
    table = trimesh.creation.box((1, 0.7, 0.04))
    table.visual.vertex_colors = [150, 110, 70, 255]
    table.export(tmp_path / "f.ply")
    assert (load(tmp_path / "f.ply").depth > 0).mean() > 0.15


# What is wrong


def test_pickled_arrays_are_refused_with_the_way_out(tmp_path):
    np.save(tmp_path / "f.npy", {"depth": np.ones((24, 32))}, allow_pickle=True)  # type: ignore[arg-type]
    with pytest.raises(FrameError, match=r"pickled.*np\.savez"):
        load(tmp_path / "f.npy")
    np.savez(tmp_path / "f.npz", rgb=np.array({}, object), depth=np.ones((24, 32)))
    with pytest.raises(FrameError, match="pickled"):
        load(tmp_path / "f.npz")


def damaged(files: dict, **changed) -> dict:
    files = {name: raw for name, raw in files.items() if name not in changed or changed[name] is not None}
    return files | {name: raw for name, raw in changed.items() if raw is not None}


WRONG = {
    "no pair": (written.tum_files, {"depth.txt": "99.0 depth/1305031102.160407.png\n"}, "within 0.02 s"),
    "no time": (written.tum_files, {"rgb.txt": "now rgb/x.png\n"}, "a time and a file name"),
    "nan time": (written.tum_files, {"rgb.txt": "nan rgb/x.png\n"}, "finite"),
    "a picture gone": (written.tum_files, {"rgb/1305031102.175304.png": None}, "does not hold it"),
    "no camera matrix": (written.bop_files, {"scene_camera.json": '{"3": {}}'}, "3 x 3"),
    "no scale": (
        written.bop_files,
        {"scene_camera.json": '{"3": {"cam_K": [99, 0, 80, 0, 99, 60, 0, 0, 1], "depth_scale": "mm"}}'},
        "millimetres per unit",
    ),
    "a number without end": (written.open3d_files, {"camera_primesense.json": f'{{"K": [1{"0" * 400}]}}'}, "3 x 3"),
    "no json": (written.bop_files, {"scene_camera.json": "{"}, "not JSON"),
    "another number": (written.bop_files, {"scene_camera.json": '{"9": {}}'}, "has the number"),
    "a short matrix": (written.open3d_files, {"camera_primesense.json": '{"K": [1, 2]}'}, "3 x 3"),
    "no numbers": (written.open3d_files, {"camera_primesense.json": "?"}, "cannot be read"),
    "unlike names": (
        written.open3d_files,
        {"depth/x.png": b"", "depth/00000.png": None, "depth/y.png": b""},
        "not match",
    ),
    "damaged depth": (written.open3d_files, {"depth/00000.png": b"PNG"}, "not a picture"),
    "no depth": (written.r3d_files, {"rgbd/0.depth": None}, "depth left out"),
    "damaged lzfse": (written.r3d_files, {"rgbd/0.depth": b"nothing"}, "damaged"),
    "a bomb": (written.r3d_files, {"rgbd/0.depth": b"bvx-\xff\xff\xff\x7f" + b"0" * 40}, "damaged"),
    "too few": (written.r3d_files, {"rgbd/0.depth": written.stored(b"0000" * 400)}, "400 numbers"),
    "no metadata": (written.r3d_files, {"metadata": "[]"}, "metadata"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_in_a_folder_is_said_in_one_line(frame, tmp_path, case):
    files, changed, told = WRONG[case]
    with pytest.raises(FrameError, match=told) as caught:
        load(written.write(tmp_path / "f", damaged(files(frame), **changed)))
    assert "\n" not in str(caught.value)


def test_record3d_without_its_package_says_which(frame, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "lzfse", None)
    with pytest.raises(FrameError, match="pip install lzfse"):
        load(written.r3d(frame, tmp_path))


def test_colour_alone_says_what_would_work(frame, tmp_path, monkeypatch):
    (tmp_path / "photo.png").write_bytes(written.png(frame.rgb))
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(FrameError, match=r"no depth estimator is installed\. Give a depth picture"):
        load(tmp_path / "photo.png")
    written.film(tmp_path / "film.mkv", [frame.rgb] * 2, "rgb24", "gbrp")
    with pytest.raises(FrameError, match=r"colour without depth.*FFV1"):
        load(tmp_path / "film.mkv")


def test_an_estimated_depth_is_never_taken_for_a_measured_one(frame, tmp_path, monkeypatch):
    (tmp_path / "photo.png").write_bytes(written.png(frame.rgb))
    estimator = types.ModuleType("transformers")
    estimator.pipeline = lambda task, model: lambda picture: {"predicted_depth": np.full((30, 40), 1.5)}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "transformers", estimator)
    with pytest.raises(FrameError, match="no weights are at hand"):
        load(tmp_path / "photo.png")
    monkeypatch.setenv("GRS_DEPTH_MODEL", str(tmp_path))
    read = load(tmp_path / "photo.png")
    assert np.allclose(read.depth, 1.5) and "not measured" in read.notes[0]


def test_a_shallow_depth_video_is_refused(frame, tmp_path):
    home = written.video(frame, tmp_path)
    written.film(home / "depth.mkv", [frame.rgb] * 2, "rgb24", "gbrp")
    with pytest.raises(FrameError, match="8 bits"):
        load(home)


@pytest.mark.parametrize("name, array, told", [
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
def test_what_is_wrong_in_an_archive_of_arrays_is_said(tmp_path, name, array, told):
    good = {"rgb": np.full((24, 32, 3), 90, np.uint8), "depth": np.ones((24, 32)), "K": np.diag([30.0, 30, 1])}
    np.savez(tmp_path / "f.npz", **(good | {name: array}))
    with pytest.raises(FrameError, match=told) as caught:
        load(tmp_path / "f.npz")
    assert "\n" not in str(caught.value)


def test_bombs_are_refused_unopened(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "LARGEST_FILE", 10_000)
    np.savez_compressed(tmp_path / "f.npz", rgb=np.zeros((240, 320, 3), np.uint8), depth=np.ones((240, 320)))
    with pytest.raises(FrameError, match="too large"):
        load(tmp_path / "f.npz")


def test_an_array_that_claims_more_than_there_is_is_refused(tmp_path):
    raw = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
    np.lib.format.write_array_header_1_0(raw, header)
    with zipfile.ZipFile(tmp_path / "f.npz", "w") as archive:
        archive.writestr("depth.npy", raw.getvalue())
    with pytest.raises(FrameError, match="fewer than its shape"):
        load(tmp_path / "f.npz")


def test_a_folder_that_goes_down_without_end_is_given_up(tmp_path):
    with pytest.raises(FrameError, match=r"lacks rgb\.png"):
        load(written.zipped(tmp_path / "f.zip", {"a/" * 3000 + "rgb.png": b""}))


SLOW = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MAGIC = {
    "npz": b"PK\x03\x04",
    "npy": b"\x93NUMPY\x01\x00",
    "r3d": b"PK\x05\x06",
    "ply": b"ply\nformat ",
    "glb": b"glTF",
}


@given(suffix=st.sampled_from([*MAGIC]), magic=st.booleans(), garbage=st.binary(max_size=300))
@QUICK
def test_any_garbage_file_is_a_frame_error(tmp_path, suffix, magic, garbage):
    path = tmp_path / f"f.{suffix}"
    path.write_bytes((MAGIC[suffix] if magic else b"") + garbage)
    with pytest.raises(FrameError) as caught:
        load(path)
    assert "\n" not in str(caught.value)


@given(suffix=st.sampled_from(["mp4", "bag", "mkv"]), garbage=st.binary(max_size=300))
@SLOW
def test_any_garbage_recording_is_a_frame_error(tmp_path, suffix, garbage):
    (tmp_path / f"f.{suffix}").write_bytes((b"#ROSBAG V2.0\n" if suffix == "bag" else b"") + garbage)
    with pytest.raises(FrameError):
        load(tmp_path / f"f.{suffix}")


KEYS = ["K", "3", "cam_K", "fx", "width", "depth_scale", "dw", "w", "fps"]
FILES = (written.tum_files, written.open3d_files, written.bop_files, written.r3d_files)
JUNK = st.one_of(
    st.binary(max_size=60),
    st.recursive(
        st.one_of(st.none(), st.floats(), st.integers(), st.text(max_size=3), st.booleans()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=9),
            st.dictionaries(
                st.sampled_from(["K", "3", "cam_K", "fx", "width", "depth_scale", "dw", "w", "fps"]), inner
            ),
        ),
        max_leaves=12,
    ).map(lambda data: json.dumps(data).encode()),
)


@given(files=st.sampled_from(FILES), data=st.data(), junk=JUNK)
@settings(QUICK, max_examples=120)
def test_any_damaged_file_gives_a_frame_or_a_frame_error(frame, tmp_path_factory, files, data, junk):
    path = tmp_path_factory.mktemp("fuzz")
    good = files(frame)
    name = data.draw(st.sampled_from([name for name in good if not name.endswith("g")] + ["depth.exr"]))
    try:
        assert np.isfinite(load(written.write(path, good | {name: junk})).depth).all()
    except FrameError as error:
        assert "\n" not in str(error)
