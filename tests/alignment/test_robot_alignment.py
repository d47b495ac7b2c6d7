"""The robot's base from clicks on its tool at known joint angles, and from files."""

import json
import threading
from pathlib import Path

import drawn_scene as make
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pipeline.alignment import AlignmentError, AlignmentStopped, ToolClick, align_robot, read_robot_base
from pipeline.alignment.camera import project
from pipeline.alignment.input_files import read_robot_base_confined
from pipeline.geometry import transform

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


K, CAMERA = make.CAMERA, make.camera_pose((0.0, -1.4, 1.0), (0.0, 0.0, 0.2))
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
