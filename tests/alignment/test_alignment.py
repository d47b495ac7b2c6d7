"""The pose of the camera and of the robot's base from clicks: found when planted, with an uncertainty that holds."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import cv2
import drawn_scene as make
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from pipeline.alignment import (
    AlignmentError,
    AlignmentStopped,
    CameraClicks,
    ToolClick,
    TwinSurface,
    align_camera,
    align_robot,
    read_robot_base,
    refine_on_depth,
    shares_world,
)
from pipeline.alignment.camera import CameraAlignment, difference, project
from pipeline.alignment.input_files import read_robot_base_confined
from pipeline.frame import Frame
from pipeline.geometry import Pose, box_corners, transform
from pipeline.project import Project
from pipeline.scene import Scene
from pipeline.scene.scene_files import write_scene
from studio.__main__ import main

K = make.CAMERA
POINTS = np.array(
    [[-0.2, -0.1, 0], [0.25, -0.1, 0], [0.2, 0.2, 0], [-0.2, 0.2, 0], [0.02, 0.0, 0.1], [-0.1, 0.1, 0.06]]
)


def planted_camera(random: np.random.Generator) -> np.ndarray:
    eye = random.uniform([-0.2, -0.8, 0.4], [0.2, -0.6, 0.7])
    return make.camera_pose(eye, random.uniform(-0.05, 0.05, 3))


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_exact_clicks_give_the_planted_pose_with_or_without_height(seed, flat):
    camera = planted_camera(np.random.default_rng(seed))
    points = POINTS * [1, 1, 0 if flat else 1]
    found = align_camera(points, project(camera, points, K), K)
    assert np.abs(found.world_from_camera - camera).max() < 1e-5
    assert found.residuals_px.max() < 1e-3


def test_the_stated_uncertainty_holds_the_truth_falls_with_more_clicks_and_a_wrong_one_stands_out():
    random, held, count = np.random.default_rng(0), 0, 40
    for _ in range(count):
        camera = planted_camera(random)
        clicks = project(camera, POINTS, K) + random.normal(0, 2, (len(POINTS), 2))
        found = align_camera(POINTS, clicks, K, make.camera_pose())
        step = difference(found.world_from_camera, camera)
        held += step @ np.linalg.solve(found.covariance, step) < chi2.ppf(0.95, 6)
    assert held / count > 0.9
    random = np.random.default_rng(2)
    camera = planted_camera(random)
    more = np.concatenate([POINTS, POINTS * [0.7, 0.6, 0.5] + [0.02, 0.03, 0.01]])
    few, many = (align_camera(points, project(camera, points, K), K) for points in (POINTS, more))
    assert (many.position_std_m < few.position_std_m).all() and (many.rotation_std_deg < few.rotation_std_deg).all()
    clicks = project(camera, more, K)
    clicks[3] += [12, -9]
    wrong = align_camera(more, clicks, K)
    assert wrong.residuals_px.argmax() == 3
    assert (wrong.position_std_m > many.position_std_m).all()


GOOD = project(make.camera_pose(), POINTS, K)
DEGENERATE = {
    "at least 4": (POINTS[:3], GOOD[:3]),
    "one line": (np.outer(np.arange(6), [0.1, 0.05, 0]), GOOD),
    "not a finite number": (np.where(np.arange(18).reshape(6, 3) == 4, np.nan, POINTS), GOOD),
    "small part of the picture": (POINTS, np.array([160.0, 120]) + np.arange(12).reshape(6, 2) % 5),
    "outside the picture": (POINTS, GOOD + np.array([1000, 0])),
    "do not pair": (POINTS, GOOD[:5]),
    "check that each point|in one order": (POINTS, np.roll(GOOD, 2, axis=0)),
}


@pytest.mark.parametrize("reason", DEGENERATE)
def test_clicks_that_determine_no_pose_are_refused_in_one_line(reason):
    with pytest.raises(AlignmentError, match=rf"\A.*({reason}).*\Z"):
        points, pixels = DEGENERATE[reason]
        align_camera(points, pixels, K)


@pytest.fixture(scope="module")
def scene(tmp_path_factory) -> Scene:
    folder = tmp_path_factory.mktemp("meshes")
    return make.scene(make.placement(make.box(folder), "box", (0.1, 0.0), yaw=0.5))


def seen(scene: Scene, points: np.ndarray) -> np.ndarray:
    return project(np.asarray(scene.world_from_camera), points, K)


def test_a_click_is_the_point_of_the_table_or_the_corner_beside_it_that_nothing_hides_or_is_refused(scene):
    surface = TwinSurface(scene, K)
    points = np.array([[-0.2, -0.1, 0], [-0.1, 0.1, 0], [-0.15, 0.15, 0.0]])
    for point, pixel in zip(points, seen(scene, points), strict=True):
        found, name = surface.point_at(pixel)
        assert name == "" and np.abs(found - point).max() < 2e-3
    box = scene.placements[0]
    corners = transform(box.world_from_object.matrix, box_corners(box.size))
    top = corners[corners[:, 2] > 0.01]
    assert len(top) == 4
    for corner, pixel in zip(top, seen(scene, top), strict=True):
        for aside in ([3, 0], [0, -3], [-2, 2]):
            found, name = surface.point_at(pixel + aside)
            assert name == "box" and np.abs(found - corner).max() < 1e-5
    bottom = corners[corners[:, 2] < 0.01]
    hidden = bottom[np.argmax(np.linalg.norm(bottom - np.asarray(scene.world_from_camera)[:3, 3], axis=1))]
    found, _ = surface.point_at(seen(scene, hidden[None])[0])
    assert np.linalg.norm(found - hidden) > 0.01
    looking_up = np.asarray(scene.world_from_camera).copy()
    looking_up[:3, :3] = looking_up[:3, :3] @ np.diag([1.0, -1.0, -1.0])
    surface = TwinSurface(replace(scene, world_from_camera=looking_up), K)
    with pytest.raises(AlignmentError, match="click an object or the table"):
        surface.point_at(np.array([K.width / 2, K.height / 2]))


@pytest.fixture(scope="module")
def crowd(tmp_path_factory) -> Scene:
    folder = tmp_path_factory.mktemp("meshes")
    return make.scene(
        make.placement(make.box(folder), "box", (0.1, 0.0), yaw=0.5),
        make.placement(make.box(folder, (0.1, 0.05, 0.05)), "brick", (-0.15, -0.05), yaw=-0.3, number=2),
        make.placement(make.can(folder), "can", (-0.05, 0.15), number=3),
    )


def refined(scene: Scene, real: Scene, random, stop=None) -> tuple[CameraAlignment, CameraAlignment]:
    """Return the camera of the real scene from noisy clicks on the twin, alone and with noisy depth."""
    photograph, support, segments = make.photograph(real)
    noisy = photograph.depth + random.normal(0, 0.001, photograph.depth.shape) * (photograph.depth > 0)
    labels = np.where(support.inliers, 0, -1)
    for segment in segments:
        labels[segment.mask] = segment.id
    box = transform(scene.placements[0].world_from_object.matrix, box_corners(scene.placements[0].size))[-2:]
    points = np.concatenate([[[-0.2, -0.15, 0], [0.2, -0.15, 0], [0.2, 0.2, 0], [-0.2, 0.2, 0]], box])
    clicks = project(np.asarray(real.world_from_camera), points, K) + random.normal(0, 2, (6, 2))
    alone = align_camera(points, clicks, K, np.asarray(scene.world_from_camera))
    frame = Frame(photograph.rgb, noisy.astype(np.float32), K)
    return alone, refine_on_depth(alone, CameraClicks(points, clicks), frame, scene, labels, stop)


def test_six_noisy_clicks_and_depth_give_the_planted_pose_within_a_third_of_a_degree_and_3_mm(crowd):
    random, held, count = np.random.default_rng(1), 0, 8
    for _ in range(count):
        camera = make.camera_pose(random.uniform([0, -0.7, 0.45], [0.2, -0.55, 0.6]), random.uniform(-0.03, 0.03, 3))
        real = replace(crowd, world_from_camera=camera)
        _, found = refined(crowd, real, random)
        step = difference(found.world_from_camera, np.asarray(real.world_from_camera))
        assert np.degrees(np.linalg.norm(step[:3])) < 0.3 and np.linalg.norm(step[3:]) < 0.003
        held += step @ np.linalg.solve(found.covariance, step) < chi2.ppf(0.99, 6)
    assert held >= count - 1
    assert found.evidence == ("clicks", "table", "box", "brick", "can")


def test_objects_elsewhere_than_in_the_twin_widen_the_uncertainty_another_world_is_recognised_and_a_stop_ends_it(crowd):
    def beside(p, shift):
        pose = p.world_from_object
        return replace(p, world_from_object=Pose(pose.pos + np.array([*shift, 0]), pose.quat_wxyz))

    shifts = [(0.006, 0), (-0.004, 0.005), (0, -0.006)]
    real = replace(crowd, placements=tuple(map(beside, crowd.placements, shifts)))
    _, exact = refined(crowd, crowd, np.random.default_rng(2))
    _, wrong = refined(crowd, real, np.random.default_rng(2))
    assert (wrong.position_std_m[:2] > 1.5 * exact.position_std_m[:2]).all() and shares_world(exact, crowd)
    cell = np.array([[0, -1, 0, 0.6], [1, 0, 0, 0.2], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    assert not shares_world(replace(exact, world_from_camera=cell @ exact.world_from_camera), crowd)
    stop = threading.Event()
    stop.set()
    with pytest.raises(AlignmentStopped):
        refined(crowd, crowd, np.random.default_rng(0), stop)


ON_TABLE = np.array([[-0.2, -0.15, 0], [0.2, -0.15, 0], [0.2, 0.2, 0], [-0.2, 0.2, 0], [0.0, 0.1, 0.0]])


@pytest.fixture
def folder(scene, tmp_path):
    """A project whose twin is exactly what its frame shows."""
    frame, _, segments = make.photograph(scene)
    project = Project.create(tmp_path / "table", replace(frame, world_from_camera=None))
    project.save_segments(tuple(segments))
    write_scene(scene, project.folder)
    project.close()
    clicks = seen(scene, ON_TABLE)
    rows = [{"pixel": pixel.tolist(), "world": point.tolist()} for pixel, point in zip(clicks, ON_TABLE, strict=True)]
    corner = scene.placements[0].world_from_object.pos + np.array([0, 0, 0.04])
    rows.append({"pixel": seen(scene, corner[None])[0].tolist(), "object": "box", "point": [0, 0, 0.04]})
    (tmp_path / "points.json").write_text(json.dumps({"points": rows}))
    (tmp_path / "base.json").write_text(json.dumps({"pos": [0.5, 0, 0], "quat_wxyz": [1, 0, 0, 0]}))
    return tmp_path


def test_poses_and_overlay_are_shown_and_nothing_is_recorded(folder, capsys):
    arguments = ["--points", str(folder / "points.json"), "--robot-base", str(folder / "base.json")]
    assert main(["align", str(folder / "table"), *arguments, "--out", str(folder / "out")]) == 0
    data = json.loads(capsys.readouterr().out)
    assert np.abs(np.array(data["camera"]["world_from_camera"]) - make.camera_pose()).max() < 2e-3
    assert len(data["camera"]["residuals_px"]) == 6 and max(data["camera"]["position_std_m"]) < 0.01
    assert data["robot"]["world_from_base"][0] == [1, 0, 0, 0.5]
    assert cv2.imread(str(folder / "out" / "overlay.png")).shape[1] == 2 * K.width
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


def test_wrong_points_and_a_project_without_a_twin_are_named_in_one_line(folder, refused):
    for text, reason in (
        ("{}", "lists no clicks"),
        ("{", "not JSON"),
        ('[{"pixel": [1, 2], "object": "cup", "point": [0, 0, 0]}]', "no object 'cup'"),
        ('[{"pixel": [1, 2], "object": ["cup"], "point": [0, 0, 0]}]', "no object"),
        ('[{"pixel": [1], "world": [0, 0, 0]}]', "2 finite numbers"),
        ('[{"pixel": "two\\nlines", "world": [0, 0, 0]}]', "2 finite numbers"),
        ('{"points": [], "pixel_std": 0}', "pixel_std"),
    ):
        (folder / "points.json").write_text(text)
        assert reason in refused("align", folder / "table", "--points", folder / "points.json")
    Project.create(folder / "bare", make.photograph(make.scene())[0]).close()
    assert "no twin yet" in refused("align", folder / "bare", "--points", folder / "points.json")


JOINTS = ("turn", "shoulder", "elbow")
ARM_XML = """<mujoco><worldbody><body name="base"><body name="column" pos="0 0 0.2"><joint name="turn" axis="0 0 1"/>
 <geom size=".02"/><body name="upper"><joint name="shoulder" axis="0 1 0"/><geom size=".02"/>
 <body name="lower" pos="0 0 0.3"><joint name="elbow" axis="0 1 0"/><geom size=".02"/><site name="tip" pos="0 0 0.25"/>
 </body></body></body></body></worldbody></mujoco>"""


def tool_in_base(q: np.ndarray, point=(0, 0, 0)) -> np.ndarray:
    """Return a point (3,) on the tip's axes in those of the base, for joint angles (3,)."""
    turn, shoulder, elbow = (Rotation.from_rotvec(angle * np.array(axis)).as_matrix()
                             for angle, axis in zip(q, ([0, 0, 1], [0, 1, 0], [0, 1, 0]), strict=True))  # fmt: skip
    return np.array([0, 0, 0.2]) + turn @ shoulder @ (np.array([0, 0, 0.3]) + elbow @ np.add([0, 0, 0.25], point))


CAMERA = make.camera_pose((0.0, -1.4, 1.0), (0.0, 0.0, 0.2))
POSTURES = np.array([[0.3, 0.4, 0.8], [-0.6, 0.2, 1.2], [0.9, 0.7, 0.4], [0.1, -0.3, 1.5]])


def planted_base(seed: int) -> np.ndarray:
    random, base = np.random.default_rng(seed), np.eye(4)
    base[:3, :3] = Rotation.from_euler("z", random.uniform(-np.pi, np.pi)).as_matrix()
    base[:3, 3] = random.uniform([-0.1, -0.1, 0.0], [0.1, 0.1, 0.1])
    return base


def clicks_at(base: np.ndarray, postures: np.ndarray, random=None, depth=False, at=(0, 0, 0)) -> list[ToolClick]:
    clicks = []
    for q in postures:
        point = tool_in_base(q, at)
        world = transform(base, point)
        pixel = project(CAMERA, world[None], K)[0] + (0 if random is None else random.normal(0, 2, 2))
        z = float(transform(np.linalg.inv(CAMERA), world)[2]) if depth else None
        clicks.append(ToolClick(pixel, point, CAMERA, K, z))
    return clicks


@pytest.mark.parametrize("seed", range(3))
def test_two_postures_give_the_base_of_an_upright_robot_and_four_of_one_that_leans(seed):
    base = planted_base(seed)
    assert np.abs(align_robot(clicks_at(base, POSTURES[:2], depth=True)).world_from_base - base).max() < 1e-4
    base[:3, :3] = base[:3, :3] @ Rotation.from_euler("xy", [0.3, -0.2]).as_matrix()
    found = align_robot(clicks_at(base, POSTURES, depth=True), upright=False)
    assert np.abs(found.world_from_base - base).max() < 1e-3


def test_the_stated_uncertainty_holds_the_base_for_most_noisy_clicks():
    random, held = np.random.default_rng(5), 0
    for seed in range(10):
        base = planted_base(seed)
        found = align_robot(clicks_at(base, POSTURES, random, depth=True))
        assert found.covariance is not None
        error = found.world_from_base[:3, 3] - base[:3, 3]
        held += bool((np.abs(error) < 1.96 * np.sqrt(np.diag(found.covariance)[3:])).all())
    assert held >= 7  # three intervals of 95 % each


def clicks_file(folder: Path, base: np.ndarray, postures=POSTURES[:2], depth: bool = True, at=(0, 0, 0)) -> Path:
    (folder / "arm.xml").write_text(ARM_XML)
    rows = [
        {"pixel": c.pixel.tolist(), "depth": c.depth, "q": dict(zip(JOINTS, q.tolist(), strict=True)), "point": at}
        for c, q in zip(clicks_at(base, postures, depth=depth, at=at), postures, strict=True)
    ]
    (folder / "clicks.json").write_text(json.dumps({"model": "arm.xml", "tool": "tip", "clicks": rows}))
    return folder / "clicks.json"


def test_a_file_of_clicks_and_every_form_of_pose_give_the_same_base(tmp_path):
    base = planted_base(3)
    camera_from_base = np.linalg.inv(CAMERA) @ base
    quat = Rotation.from_matrix(base[:3, :3]).as_quat(scalar_first=True).tolist()
    clicks = json.loads(clicks_file(tmp_path, base, POSTURES, depth=False).read_text())
    forms = [
        base.tolist(),
        {"world_from_base": base.tolist()},
        {"pos": base[:3, 3].tolist(), "quat_wxyz": quat},
        {"camera_from_base": camera_from_base.tolist()},
        {"base_from_camera": np.linalg.inv(camera_from_base).tolist()},
        clicks,
    ]
    for form in forms:
        (tmp_path / "base.json").write_text(json.dumps(form))
        found = read_robot_base(tmp_path / "base.json", CAMERA, K)
        assert np.abs(found.world_from_base - base).max() < 1e-4


WRONG = {
    "not JSON": "{",
    "no pose": "7",
    "no rigid motion": json.dumps((2 * np.eye(4)).tolist()),
    "length": json.dumps({"pos": [0, 0, 0], "quat_wxyz": [2, 0, 0, 0]}),
    "names no robot model": json.dumps({"clicks": []}),
    "4 finite numbers": json.dumps([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]),
}


def test_clicks_that_leave_the_base_free_and_wrong_files_are_named_in_one_line(tmp_path):
    for postures, reason in ((POSTURES[:1], "at least 2"), (POSTURES[[0, 0, 0]], "free to move")):
        with pytest.raises(AlignmentError, match=reason):
            align_robot(clicks_at(planted_base(1), postures))
    for reason, text in WRONG.items():
        (tmp_path / "base.json").write_text(text)
        with pytest.raises(AlignmentError, match=rf"\A.*({reason}).*\Z"):
            read_robot_base(tmp_path / "base.json", CAMERA, K)


def test_files_of_someone_else_give_the_same_base_in_a_confined_process_without_a_model_elsewhere(tmp_path):
    base = planted_base(3)
    path = clicks_file(tmp_path, base)
    here, found = read_robot_base(path, CAMERA, K), read_robot_base_confined(path, CAMERA, K, threading.Event())
    assert np.abs(found.world_from_base - base).max() < 1e-4
    assert found.covariance is not None and np.allclose(found.covariance, here.covariance)
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(AlignmentStopped):
        read_robot_base_confined(path, CAMERA, K, stopped)
    (tmp_path / "inner").mkdir()
    moved = tmp_path / "inner" / "clicks.json"
    moved.write_text(path.read_text().replace("arm.xml", "../arm.xml"))
    assert read_robot_base(moved, CAMERA, K).covariance is not None, "the model can be read from outside the process"
    with pytest.raises(AlignmentError, match=r"\A.*\Z"):
        read_robot_base_confined(moved, CAMERA, K, threading.Event())


def test_a_point_on_the_tool_turns_with_it(tmp_path):
    base = planted_base(3)
    file = clicks_file(tmp_path, base, POSTURES, depth=False, at=(0.03, -0.02, 0.05))
    assert np.abs(read_robot_base(file, CAMERA, K).world_from_base - base).max() < 1e-4
