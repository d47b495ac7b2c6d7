"""Correction of the camera's intrinsics."""

from pathlib import Path

import pytest

from pipeline.frame import FrameError, load
from pipeline.project import Project
from studio.scene.camera_correction import camera_record, parse_camera

SAMPLES = Path(__file__).parents[2] / "sample_scenes"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(tmp_path / "table", load(SAMPLES / "blocks"))


def test_another_camera_changes_what_is_measured_and_undo_takes_it_back(project: Project):
    original, keys = project.frame, project.key("frame")
    corrected = {"fx": original.intrinsics.fx * 0.8, "fy": original.intrinsics.fy * 0.8, "cx": 100.0, "cy": 90.0}
    project.decide("camera", **corrected)
    assert project.frame.intrinsics.fx == corrected["fx"] and project.frame.rgb is original.rgb
    assert project.frame is project.frame and project.key("frame") != keys
    assert Project.open(project.folder).frame.intrinsics == project.frame.intrinsics
    project.undo()
    assert project.frame.intrinsics == original.intrinsics and project.key("frame") == keys


def test_the_table_grows_as_the_focal_length_shrinks(project: Project):
    before = camera_record(project.frame, project.original_frame, project.support)
    k = project.frame.intrinsics
    project.decide(
        "camera", **parse_camera({"fx": k.fx / 1.2, "fy": k.fy / 1.2, "cx": k.cx, "cy": k.cy}, project.frame)
    )
    after = camera_record(project.frame, project.original_frame, project.support)
    assert after["changed"] and not before["changed"] and after["original"] == before["original"]
    assert before["table"] and after["table"] and after["table"][0] > 1.05 * before["table"][0]


@pytest.mark.parametrize("wrong", [{"fx": 3.0}, {"fy": float("nan")}, {"cx": -5.0}, {"fx": "wide"}, {"fx": None}])
def test_impossible_intrinsics_are_refused_in_one_line(wrong: dict):
    frame = load(SAMPLES / "blocks")
    message = {key: getattr(frame.intrinsics, key) for key in ("fx", "fy", "cx", "cy")} | wrong
    with pytest.raises(FrameError) as error:
        parse_camera(message, frame)
    assert "\n" not in str(error.value)
