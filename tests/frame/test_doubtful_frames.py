"""Frames as other recorders and programs write them are read rightly, or there is a doubt; ours raise none."""

from dataclasses import replace

import pytest

from bench.frame_reading import KINDS, verdict
from pipeline.frame import Frame, load, save
from pipeline.frame.camera import doubt_intrinsics
from tests.frame.conftest import ROOT, subsampled
from tests.reference_frames import SHARED, shared_path

DOUBTED = {
    "0.2 mm, unsaid": "unit", "0.25 mm, unsaid": "unit", "0.125 mm, unsaid": "unit", "0.1 mm, unsaid": "unit",
    "0.1 mm, said 1 mm": "unit", "unregistered": "registration", "unregistered, wide": "registration",
    "another crop": "registration", "camera of half size": "intrinsics", "camera of larger size": "intrinsics",
}  # fmt: skip
"""What is doubted of kinds that cannot be read rightly for certain. All others are, but for REFUSED."""
REFUSED = {"disparity": "looks like disparity", "disparity, floats": "looks like disparity", "z buffer": "z buffer"}


@pytest.fixture(scope="module")
def desk() -> Frame:
    return subsampled(load(ROOT / "sample_scenes" / "desk"), 2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_changed_in_one_respect_is_read_rightly_or_doubted_or_refused(kind, desk, tmp_path):
    result, words = verdict(desk, KINDS[kind](desk), tmp_path / "f")
    if kind in REFUSED:
        assert result == "said" and REFUSED[kind] in words
    elif kind in DOUBTED:
        assert result.endswith("+doubt") and f"['{DOUBTED[kind]}']" in words
    else:
        assert result == "right", words


def test_doubts_and_corrections_are_kept_by_saving_and_not_made_twice(desk, tmp_path):
    for number, kind in enumerate(("0.1 mm, said 1 mm", "another crop", "flipped", "along the ray", "unbroken")):
        (tmp_path / str(number)).mkdir()
        for name, raw in KINDS[kind](desk).items():
            (tmp_path / str(number) / name).write_bytes(raw)
        read = load(tmp_path / str(number))
        save(read, tmp_path / "saved")
        again = load(tmp_path / "saved")
        assert (again.notes, again.doubts) == (read.notes, read.doubts)
        assert abs(again.depth - read.depth).max() < 6e-5
        assert all(doubt.note in read.notes for doubt in read.doubts)


CASES: dict[str, str] = {
    "unknown_65535": "65535", "depth_kinect_raw11": "Kinect", "depth_sun3d_rotated": "rotated back",
    "depth_ray_length": "along each pixel's ray", "depth_inverted_y": "flipped top to bottom", "exif_180": "EXIF",
    "exif_90": "EXIF", "l515_noscale": "0.25 mm", "camera_json_K": "", "camera_json_bop": "", "camera_json_o3d": "1 mm",
    "camera_json_fov": "", "camera_info_yaml": "1 mm", "ply_zeros": "", "ply_organised_nan": "", "grey_rgb": "",
    "bgr_swapped": "", "pose_identity": "", "pose_inverse": "", "pose_opengl_axes": "", "camera_upside_down": "",
    "rgba_alpha0_small": "", "npz_bgr_and_nan": "", "npz_mm_float": "1 mm", "npz_rgb_float01": "",
    "npz_no_K": "60 degree", "scannetpp_names": "", "name ünïcode späce 表": "", "size_640x360": "",
}  # fmt: skip
"""A word of the notes of each case that is read rightly; most are the sample desk."""
DOUBTED_CASES = {"npz_zbuffer_normalised": "depth", "d405_close_noscale": "unit"}


@pytest.mark.frames
@pytest.mark.parametrize("case", [*CASES, *DOUBTED_CASES])
def test_a_case_of_a_public_bug_report_is_read_rightly_or_doubted(case):
    folder = shared_path(f"cases/{case}")
    path = next((file for file in folder.iterdir() if file.suffix in (".npz", ".ply")), folder)
    read = load(path)
    assert [doubt.what for doubt in read.doubts] == ([DOUBTED_CASES[case]] if case in DOUBTED_CASES else [])
    if case in CASES:
        assert CASES[case] in " ".join(read.notes)
        assert 0.86 < sorted(read.depth[read.depth > 0])[(read.depth > 0).sum() // 2] < 0.91  # the desk's median


def test_our_samples_raise_no_doubt_of_real_frames_at_most_one_does_and_doubted_intrinsics_are_offered(desk):
    """Of arc2017_tote, whose depth is full of holes, edges are not enough."""
    for path in sorted((ROOT / "sample_scenes").glob("*/camera.json")):
        assert not load(path.parent).doubts
    real = sorted(file.parent for home in ("frames", "frames_wild") for file in SHARED.glob(f"{home}/*/camera.json"))
    assert sum(bool(load(folder).doubts) for folder in real) <= 1
    k = desk.intrinsics
    other = replace(k, fx=1.5 * k.fx, fy=1.5 * k.fy, cx=1.5 * k.cx, cy=1.5 * k.cy)
    doubt = doubt_intrinsics(other)
    assert doubt is not None and f"focal length of {k.fx * k.height / 2 / k.cy:.0f} would fit" in doubt.cure
