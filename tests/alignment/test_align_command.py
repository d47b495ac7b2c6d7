"""`grs-studio align`: poses and overlay; nothing is recorded without --take, and undo takes it back."""

import json
from dataclasses import replace

import cv2
import drawn_scene as make
import numpy as np
import pytest

from pipeline.alignment.camera import project
from pipeline.project import Project
from pipeline.scene.scene_files import write_scene
from studio.__main__ import main

POINTS = np.array([[-0.2, -0.15, 0], [0.2, -0.15, 0], [0.2, 0.2, 0], [-0.2, 0.2, 0], [0.0, 0.1, 0.0]])


@pytest.fixture
def folder(tmp_path):
    """A project whose twin is exactly what its frame shows."""
    scene = make.scene(make.placement(make.box(tmp_path), "box", (0.1, 0.0), yaw=0.5))
    frame, _, segments = make.photograph(scene)
    project = Project.create(tmp_path / "table", replace(frame, world_from_camera=None))
    project.save_segments(tuple(segments))
    write_scene(scene, project.folder)
    project.close()
    clicks = project_points(scene, POINTS)
    rows = [{"pixel": pixel.tolist(), "world": point.tolist()} for pixel, point in zip(clicks, POINTS, strict=True)]
    corner = scene.placements[0].world_from_object.pos + np.array([0, 0, 0.04])
    rows.append({"pixel": project_points(scene, corner[None])[0].tolist(), "object": "box", "point": [0, 0, 0.04]})
    (tmp_path / "points.json").write_text(json.dumps({"points": rows}))
    (tmp_path / "base.json").write_text(json.dumps({"pos": [0.5, 0, 0], "quat_wxyz": [1, 0, 0, 0]}))
    return tmp_path


def project_points(scene, points):
    return project(np.asarray(scene.world_from_camera), points, make.CAMERA)


def test_poses_and_overlay_are_shown_and_nothing_is_recorded(folder, capsys):
    arguments = ["--points", str(folder / "points.json"), "--robot-base", str(folder / "base.json")]
    assert main(["align", str(folder / "table"), *arguments, "--out", str(folder / "out")]) == 0
    data = json.loads(capsys.readouterr().out)
    assert np.abs(np.array(data["camera"]["world_from_camera"]) - make.camera_pose()).max() < 2e-3
    assert len(data["camera"]["residuals_px"]) == 6 and max(data["camera"]["position_std_m"]) < 0.01
    assert data["robot"]["world_from_base"][0] == [1, 0, 0, 0.5]
    picture = cv2.imread(str(folder / "out" / "overlay.png"))
    assert picture is not None
    assert picture.shape[1] == 2 * make.CAMERA.width
    assert json.loads((folder / "out" / "alignment.json").read_text()) == data
    assert Project.open(folder / "table").decisions == []


def test_take_moves_the_frames_camera_and_undo_takes_it_back(folder, capsys):
    cell = np.array([[0, -1, 0, 0.6], [1, 0, 0, 0.2], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    data = json.loads((folder / "points.json").read_text())
    rows = [row for row in data["points"] if "world" in row]
    for row in rows:
        row["world"] = (cell @ [*row["world"], 1])[:3].tolist()
    (folder / "cell.json").write_text(json.dumps(rows))
    before = Project.open(folder / "table")
    arguments = ["--points", str(folder / "cell.json"), "--robot-base", str(folder / "base.json"), "--take"]
    assert main(["align", str(folder / "table"), *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["camera"]["evidence"] == ["clicks", "table"]
    project = Project.open(folder / "table")
    assert [one.kind for one in project.active_decisions("camera_pose", "robot_base")] == ["camera_pose", "robot_base"]
    assert project.frame.world_from_camera is not None and project.key("scene") != before.key("scene")
    assert np.abs(project.support.world_from_camera - cell @ make.camera_pose()).max() < 5e-3
    project.undo()
    project.undo()
    assert project.frame.world_from_camera is None and project.key("scene") == before.key("scene")


def test_wrong_points_and_a_project_without_a_twin_are_named_in_one_line(folder, capsys):
    for text, reason in (
        ("[]", "at least 4"),
        ("{}", "lists no clicks"),
        ("{", "not JSON"),
        ('[{"pixel": [1, 2], "object": "cup", "point": [0, 0, 0]}]', "no object 'cup'"),
        ('[{"pixel": [1], "world": [0, 0, 0]}]', "2 finite numbers"),
        ('{"points": [], "pixel_std": 0}', "pixel_std"),
    ):
        (folder / "points.json").write_text(text)
        assert main(["align", str(folder / "table"), "--points", str(folder / "points.json")]) == 2
        error = capsys.readouterr().err
        assert reason in error and error.count("\n") == 1
    Project.create(folder / "bare", make.photograph(make.scene())[0]).close()
    assert main(["align", str(folder / "bare"), "--points", str(folder / "points.json")]) == 2
    assert "no twin yet" in capsys.readouterr().err
