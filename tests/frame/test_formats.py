"""A frame in any format is read unchanged, in a confined child, or an error of one line (tests.fuzz: at random)."""

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
from PIL import Image
from scipy.spatial import cKDTree

from pipeline.frame import Frame, FrameError, Intrinsics, load, load_files, open_recording, save
from pipeline.frame.formats import archive, point_cloud
from pipeline.frame.reprojection import reproject, upsample_depth
from tests.frame import written
from tests.frame.written import png


def differences(read: Frame, frame: Frame) -> list[str]:
    ours, theirs = (list(vars(k).values()) for k in (read.intrinsics, frame.intrinsics))
    agree = {"rgb": np.array_equal(read.rgb, frame.rgb), "dtype": read.depth.dtype == np.float32}
    agree["depth"] = np.allclose(read.depth, frame.depth, atol=2e-6)
    agree["intrinsics"] = np.allclose(ours, theirs, rtol=1e-6)
    return [name for name, equal in agree.items() if not equal]


@pytest.mark.parametrize("name", written.FORMATS)
def test_a_frame_in_any_format_is_read_unchanged(frame, tmp_path, name):
    assert not differences(load(written.FORMATS[name](frame, tmp_path)), frame)


def test_a_recording_lists_its_frames_by_their_numbers_and_reads_each(frame, tmp_path):
    home = written.video(frame, tmp_path)
    darker = (frame.rgb // 2, written.units(frame, 1000) // 2)
    written.write_video(home / "rgb.mkv", [frame.rgb, darker[0], frame.rgb], "rgb24", "gbrp")
    written.write_video(home / "depth.mkv", [written.units(frame, 1000), darker[1], darker[1]], "gray16le", "gray16le")
    recording = open_recording(home)
    assert len(recording) == 3 and recording.times == (0, 0.1, 0.2)
    second = load(home, 1)
    assert np.array_equal(second.rgb, darker[0]) and np.allclose(second.depth * 1000, darker[1], atol=1e-3)
    assert "Frame 1 of 3" in second.notes[0]
    with pytest.raises(FrameError, match="no frame 3"):
        load(home, 3)
    rgb, depth = png(frame.rgb), png(written.units(frame, 1000))
    files = {f"{kind}/{i}.png": raw for i in (10, 2, 1) for kind, raw in (("color", rgb), ("depth", depth))}
    written.write(tmp_path / "f", files)
    assert open_recording(tmp_path / "f").names == ("color/1.png", "color/2.png", "color/10.png")


def test_a_synthetic_realsense_recording_loads():
    """Recorded by scripts/make_realsense_bag.py: a slope whose distance grows to the right, 1 mm a frame.

    On a busy machine librealsense drops frames at the start, so the second reading may give an earlier one.
    """
    recording = open_recording(Path(__file__).parent / "synthetic.bag")
    first, third = recording.frame(0), recording.frame(2)
    assert len(recording) >= 3 and first.depth.shape == (48, 64)
    assert (first.intrinsics.fx, first.intrinsics.cx) == (60, 31.5)
    assert np.allclose(np.diff(first.depth[20]), 0.002, atol=1e-5) and first.rgb[5, 9].tolist() == [9, 5, 200]
    assert {round(1000 * float(frame.depth[0, 0])) for frame in (first, third)} <= set(range(700, 716))


POSE_ABOVE = np.array([[1.0, 0, 0, 0.1], [0, -0.6, 0.8, -0.5], [0, -0.8, -0.6, 0.7], [0, 0, 0, 1]])


def test_a_pose_in_an_upright_world_and_tums_calibration_are_found_any_other_is_noted(frame, tmp_path):
    posed = replace(frame, world_from_camera=POSE_ABOVE)
    back = np.linalg.inv(POSE_ABOVE)
    np.savez(tmp_path / "f.npz", rgb=frame.rgb, depth=frame.depth, K=frame.intrinsics.matrix, extrinsics=back)
    for read in (load(written.FORMATS["bop"](posed, tmp_path)), load(tmp_path / "f.npz")):
        assert read.world_from_camera is not None and np.allclose(read.world_from_camera, POSE_ABOVE, atol=1e-9)
    read = load(written.FORMATS["bop"](replace(frame, world_from_camera=np.eye(4)), tmp_path))
    assert read.world_from_camera is None and any("left aside" in note for note in read.notes)
    big = Frame(np.full((480, 640, 3), 90, np.uint8), np.full((480, 640), 1.2, np.float32), frame.intrinsics)
    files = written.tum_files(big)
    del files["camera.json"]
    read = load(written.write(tmp_path / "rgbd_dataset_freiburg3_cup", files))
    assert read.intrinsics.fx == 535.4 and np.allclose(read.depth, 1.2) and "freiburg3" in read.notes[-1]


def test_without_a_camera_exif_or_a_default_field_of_view_is_used_with_a_note(frame, tmp_path):
    details = Image.Exif()
    details.get_ifd(0x8769)[0xA405] = 36  # FocalLengthIn35mmFilm
    Image.fromarray(frame.rgb).save(tmp_path / "rgb.jpg", exif=details)
    (tmp_path / "depth.png").write_bytes(png(written.units(frame, 1000)))
    read = load_files(tmp_path / "rgb.jpg", tmp_path / "depth.png")
    assert read.intrinsics.fx == pytest.approx(36 / np.hypot(36, 24) * np.hypot(*frame.depth.shape))
    assert "36 mm" in read.notes[0] and "m wide" in read.notes[-1]
    files = written.open3d_files(frame)
    del files["camera_primesense.json"]
    read = load(written.write(tmp_path / "f", files))
    assert "60 degree" in read.notes[0] and "m wide" in read.notes[-1]


def test_depth_of_a_separate_camera_is_reprojected_to_colour(frame, tmp_path):
    """The depth of a frame is projected into a second camera 3 cm away, and back by the reader."""
    k, shifted = frame.intrinsics, np.eye(4)
    shifted[0, 3] = 0.03
    coarse = Intrinsics(120, 90, k.fx * 0.75, k.fy * 0.75, k.cx * 0.75, k.cy * 0.75)
    measured = reproject(frame.depth, k, coarse, np.linalg.inv(shifted))
    own = {"depth": vars(coarse), "color_from_depth": shifted.tolist()}
    files = {
        "rgb.png": png(frame.rgb),
        "depth.png": png(np.rint(measured * 1000).astype(np.uint16)),
        "camera.json": written.camera(frame, depth_scale=0.001, **own),
    }
    read = load(written.write(tmp_path / "f", files))
    both = (read.depth > 0) & (frame.depth > 0)
    assert read.depth.shape == frame.depth.shape and both.sum() > 0.85 * np.count_nonzero(frame.depth)
    assert np.mean((np.abs(read.depth - frame.depth) < 0.01 * frame.depth)[both]) > 0.95
    assert "own camera" in read.notes[-1]


def test_nearer_points_hide_farther_ones_and_upsampled_depth_is_smooth_on_a_slope_and_sharp_at_an_edge():
    k, depth = Intrinsics(64, 48, 60, 60, 31.5, 23.5), np.full((48, 64), 2.0, np.float32)
    depth[:, 20:30] = 1.0
    shifted = np.eye(4)
    shifted[0, 3] = 0.3
    drawn = reproject(depth, k, k, shifted)
    assert (drawn[:, 38:48] == 1.0).all() and (drawn[:, 31:37] == 0).all() and (drawn[:, 50:60] == 2.0).all()
    slope = np.tile(np.linspace(1, 1.2, 32, dtype=np.float32), (24, 1))
    assert np.abs(np.diff(upsample_depth(slope, 128, 96), axis=1)).max() < 0.004
    slope[:, 16:] += 1
    assert not np.any((upsample_depth(slope, 128, 96) > 1.25) & (upsample_depth(slope, 128, 96) < 2))
    turn = np.eye(4)
    turn[:2, :2] = [[np.cos(0.05), -np.sin(0.05)], [np.sin(0.05), np.cos(0.05)]]
    for zoom in (1.0, 2.3, 5.0):  # a plane has no gaps at a higher resolution
        fine = Intrinsics(int(64 * zoom), int(48 * zoom), 60 * zoom, 60 * zoom, 31.5 * zoom, 23.5 * zoom)
        drawn, edge = reproject(np.full((48, 64), 1.0, np.float32), k, fine, turn), int(6 * zoom)
        assert (drawn[edge:-edge, edge:-edge] == 1).all()


def coloured_points(frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    known = frame.depth > 0
    return frame.points[known].astype(float), frame.rgb[known]


def export(path: Path, points: np.ndarray, colours: np.ndarray) -> Path:
    made = trimesh.PointCloud(points, colors=np.column_stack([colours, np.full(len(colours), 255)]))
    (trimesh.Scene(made) if path.suffix == ".glb" else made).export(path)
    return path


@pytest.mark.parametrize("suffix", ["ply", "glb"])
@pytest.mark.parametrize("axes", [np.eye(4), point_cloud.OPENGL_FROM_OPENCV], ids=["opencv", "opengl"])
def test_a_cloud_in_camera_axes_is_rendered_from_that_camera(frame, tmp_path, suffix, axes):
    points, colours = coloured_points(frame)
    read = load(export(tmp_path / f"f.{suffix}", points @ axes[:3, :3].T, colours))
    measured, found = coloured_points(read)
    away, which = cKDTree(points).query(measured)
    assert np.quantile(away, 0.9) < 0.02 and len(measured) > 0.5 * read.depth.size
    assert np.mean(np.abs(found.astype(int) - colours[which]).max(1) < 40) > 0.8
    assert any("origin" in note for note in read.notes)


@pytest.mark.parametrize("suffix, up", [("ply", 2), ("glb", 1)])
def test_a_cloud_in_world_axes_is_rendered_from_above(tmp_path, suffix, up):
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


def test_a_scene_with_a_camera_with_faces_or_in_millimetres_is_rendered(frame, tmp_path):
    made = trimesh.PointCloud(*coloured_points(frame))
    scene = trimesh.Scene(made, camera=trimesh.scene.Camera(resolution=(640, 480), fov=(50, 38.6)))
    scene.camera_transform = point_cloud.OPENGL_FROM_OPENCV  # looks along the points' z
    scene.export(tmp_path / "f.glb")
    read = load(tmp_path / "f.glb")
    assert any("own camera" in note for note in read.notes)
    assert np.quantile(cKDTree(coloured_points(frame)[0]).query(coloured_points(read)[0])[0], 0.9) < 0.02
    points, colours = coloured_points(frame)
    read = load(export(tmp_path / "f.ply", points * 1000, colours))
    assert np.isclose(np.median(read.depth[read.depth > 0]), np.median(points[:, 2]), rtol=0.1)
    assert any("1 mm" in note for note in read.notes)
    table = trimesh.creation.box((1, 0.7, 0.04))
    table.visual.vertex_colors = [150, 110, 70, 255]
    table.export(tmp_path / "f.ply")
    assert (load(tmp_path / "f.ply").depth > 0).mean() > 0.15


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


def test_a_saved_frame_is_loaded_unchanged(frame, tmp_path):
    frame = replace(frame, world_from_camera=POSE_ABOVE, source="a table", notes=("a guess.",))
    save(frame, tmp_path / "saved")
    loaded = load(tmp_path / "saved")
    assert not differences(loaded, frame) and np.allclose(loaded.world_from_camera, POSE_ABOVE)
    assert (loaded.source, loaded.notes) == ("a table", ("a guess.",))


def bad_camera(**changed):
    return {"camera_json": CAMERA | changed}


def test_faults_are_one_line(tmp_path):
    faults = (
        ({"depth_png": None}, "lacks depth.png; it holds"),
        ({"rgb_png": b"no picture"}, "not a picture"),
        ({"depth_png": DEPTH[:60]}, "depth.png is"),
        ({"rgb_png": DEPTH, "depth_png": COLOUR}, "swapped"),
        ({"depth_png": png(np.full((24, 32), 9, np.uint8))}, "16-bit"),
        ({"depth_png": png(np.zeros((24, 32), np.uint16))}, "zero everywhere"),
        ({"depth_png": png(np.full((48, 64), 700, np.uint16))}, "depth 64 x 48"),
        (bad_camera(width=64), "Sizes disagree"),
        (bad_camera(width=32.5), "integer number of pixels"),
        (bad_camera(fx=float("nan")), "finite"),
        (bad_camera(fx=3.0), "focal lengths"),
        (bad_camera(fx=60.0, fy=20.0), "nearly the same"),
        (bad_camera(cx=900.0), "principal point"),
        (bad_camera(fy="thirty"), "not a number"),
        (bad_camera(depth_scale=1000), "metres per unit"),
        (bad_camera(world_from_camera=np.diag([2, 1, 1, 1]).tolist()), "scales, shears or mirrors"),
        (bad_camera(world_from_camera=[1, 2]), "four rows"),
        ({"camera_json": b"{nope"}, "not JSON"),
        ({"camera_json": {"width": 32}}, "lacks height, fx"),
    )
    for number, (changed, message) in enumerate(faults):
        with pytest.raises(FrameError, match=rf"\A.*({message}).*\Z"):
            load(folder(tmp_path / str(number), **changed))
    good = {"rgb": np.full((24, 32, 3), 90, np.uint8), "depth": np.ones((24, 32)), "K": np.diag([30.0, 30, 1])}
    wrong = {"shape": {"depth": np.ones((24, 32, 2))}, "0 to 255": {"rgb": np.full((24, 32, 3), 300.0)}}
    for message, array in (wrong | {"3 x 3": {"K": np.ones(5)}, "one number": {"depth_scale": np.ones(3)}}).items():
        np.savez(tmp_path / "f.npz", **(good | array))
        with pytest.raises(FrameError, match=rf"\A.*({message}).*\Z"):
            load(tmp_path / "f.npz")


NO_SCALE = '{"3": {"cam_K": [99, 0, 80, 0, 99, 60, 0, 0, 1], "depth_scale": "mm"}}'
NO_SIZE = '{"w": 160, "h": 120, "K": [99, 0, 0, 0, 99, 0, 80, 60, 1]}'
TWO_DEPTHS = {"depth/x.png": b"", "depth/y.png": b""}
WRONG = {
    "no pair": (written.tum_files, {"depth.txt": "99.0 depth/1305031102.160407.png\n"}, "within 0.02 s"),
    "no time": (written.tum_files, {"rgb.txt": "now rgb/x.png\n"}, "a time and a file name"),
    "a picture gone": (written.tum_files, {"rgb/1305031102.175304.png": None}, "does not hold it"),
    "no camera matrix": (written.bop_files, {"scene_camera.json": '{"3": {}}'}, "3 x 3"),
    "no scale": (written.bop_files, {"scene_camera.json": NO_SCALE}, "millimetres per unit"),
    "a number without end": (written.open3d_files, {"camera_primesense.json": f'{{"K": [1{"0" * 400}]}}'}, "3 x 3"),
    "another number": (written.bop_files, {"scene_camera.json": '{"9": {}}'}, "has the number"),
    "a list of numbers": (written.open3d_files, {"camera_primesense.json": "[]"}, "holds a list"),
    "unreadable": (lambda _: {"left.png": COLOUR}, {"far.tiff": b"II*"}, "far.tiff is not readable as a picture"),
    "unlike names": (written.open3d_files, {"depth/00000.png": None} | TWO_DEPTHS, "not match"),
    "no depth": (written.r3d_files, {"rgbd/0.depth": None}, "depth left out"),
    "a bomb": (written.r3d_files, {"rgbd/0.depth": b"bvx-\xff\xff\xff\x7f" + b"0" * 40}, "damaged"),
    "no size of depth": (written.r3d_files, {"metadata": NO_SIZE}, "numbers; its metadata say 256 x 192"),
}


@pytest.mark.parametrize("case", WRONG)
def test_faults_in_a_folder_are_one_line(frame, tmp_path, case):
    make, changed, message = WRONG[case]
    files = {name: raw for name, raw in (make(frame) | changed).items() if raw is not None}
    with pytest.raises(FrameError, match=rf"\A.*({message}).*\Z"):
        load(written.write(tmp_path / "f", files))


def test_missing_packages_or_depth_pickled_arrays_and_depth_videos_of_8_bits_give_advice(frame, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "lzfse", None)
    with pytest.raises(FrameError, match="pip install lzfse"):
        load(written.FORMATS["r3d"](frame, tmp_path))
    (tmp_path / "photo.png").write_bytes(png(frame.rgb))
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(FrameError, match=r"no depth estimator is installed\. Give a depth picture"):
        load(tmp_path / "photo.png")
    written.write_video(tmp_path / "film.mkv", [frame.rgb] * 2, "rgb24", "gbrp")
    with pytest.raises(FrameError, match=r"colour without depth.*FFV1"):
        load(tmp_path / "film.mkv")
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


def test_estimated_depth_is_marked_as_not_measured(frame, tmp_path, monkeypatch):
    (tmp_path / "photo.png").write_bytes(png(frame.rgb))
    estimator = types.ModuleType("transformers")
    estimator.pipeline = lambda task, model: lambda picture: {"predicted_depth": np.full((30, 40), 1.5)}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "transformers", estimator)
    with pytest.raises(FrameError, match="no weights are installed"):
        load(tmp_path / "photo.png")
    monkeypatch.setenv("GRS_DEPTH_MODEL", str(tmp_path))
    frame = load(tmp_path / "photo.png")
    assert np.allclose(frame.depth, 1.5) and "not measured" in frame.notes[0]


def test_files_too_large_folders_too_deep_zips_that_point_outside_and_missing_paths_are_refused(tmp_path, monkeypatch):
    raw = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
    np.lib.format.write_array_header_1_0(raw, header)
    with zipfile.ZipFile(tmp_path / "f.npz", "w") as packed:
        packed.writestr("depth.npy", raw.getvalue())
        packed.writestr("rgb.npy", written.npy(np.zeros((24, 32, 3), np.uint8)))
    with pytest.raises(FrameError, match="at most 300 MB of it are read"):
        load(tmp_path / "f.npz")
    with pytest.raises(FrameError, match=r"lacks rgb\.png"):
        load(written.zipped(tmp_path / "f.zip", {"a/" * 3000 + "rgb.png": b""}))
    with pytest.raises(FrameError, match="nothing at"):
        load(tmp_path / "absent")
    with pytest.raises(FrameError, match="leads out of it"):
        load(written.zipped(tmp_path / "f.zip", {"../depth.png": DEPTH}))
    monkeypatch.setattr(archive, "MAX_FILE_BYTES", 10_000)
    np.savez_compressed(tmp_path / "f.npz", rgb=np.zeros((240, 320, 3), np.uint8), depth=np.ones((240, 320)))
    with pytest.raises(FrameError, match="too large"):
        load(tmp_path / "f.npz")


def test_a_plain_folder_takes_its_camera_in_every_well_known_form(tmp_path: Path):
    Image.fromarray(np.zeros((480, 640, 3), np.uint8)).save(tmp_path / "rgb.png")
    Image.fromarray(np.full((480, 640), 1000, np.uint16)).save(tmp_path / "depth.png")
    matrix = "data: [600, 0, 310, 0, 600, 250, 0, 0, 1]"
    for text in (
        '{"K": [[600, 0, 310], [0, 600, 250], [0, 0, 1]], "depth_scale": 0.001}',
        '{"cam_K": [600, 0, 310, 0, 600, 250, 0, 0, 1], "depth_scale": 1.0}',
        '{"width": 640, "height": 480, "intrinsic_matrix": [600, 0, 0, 0, 600, 0, 310, 250, 1]}',
        '{"fov": 56.144973, "cx": 310, "cy": 250, "depth_scale": 0.001}',
        '{"yfov": 0.7610127, "cx": 310, "cy": 250}',
        f"image_width: 640\ncamera_matrix: {{rows: 3, cols: 3, {matrix}}}",
    ):
        file = tmp_path / ("camera.json" if text.startswith("{") else "camera_info.yaml")
        file.write_text(text)
        frame = load(tmp_path)
        k = frame.intrinsics
        np.testing.assert_allclose([k.fx, k.fy, k.cx, k.cy, frame.depth[0, 0]], [600, 600, 310, 250, 1.0], rtol=1e-5)
        file.unlink()
