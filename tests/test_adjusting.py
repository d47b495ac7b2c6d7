"""What the page is told while an object is dragged, and after it came to rest."""

from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import scene_making as make
from scipy.spatial.transform import Rotation

from pipeline.decisions import Decision
from pipeline.errors import StudioError
from pipeline.geometry import Pose
from studio import adjusting, prompts
from studio.fits import fits
from studio.sessions import Sessions
from studio.viewing.difference import painted


@pytest.fixture(scope="module")
def sessions(tmp_path_factory) -> Sessions:
    scene = make.scene(make.thing(make.box(tmp_path_factory.mktemp("meshes")), "box", (0.1, -0.02), yaw=0.5))
    frame, _, segments = make.photograph(scene)
    project = SimpleNamespace(frame=frame, segments=lambda: segments, scene=lambda: scene)
    kept: dict = {}
    session = SimpleNamespace(project=project, kept=lambda name, _, read: kept.setdefault(name, read()))
    return SimpleNamespace(get=lambda token: session)  # type: ignore[return-value]


HERE = {"token": "t", "seq": 3, "id": 1, "pos": [0.1, -0.02, 0.04], "scale": 1.0,
        "quat_wxyz": Rotation.from_euler("z", 0.5).as_quat(scalar_first=True).tolist()}  # fmt: skip


def test_an_object_moved_away_is_told_to_fit_worse_and_where_it_was_as_well(sessions):
    here = adjusting.answer(sessions, HERE)
    away = adjusting.answer(sessions, HERE | {"seq": 4, "pos": [0.13, -0.02, 0.04]})
    assert (here["seq"], away["seq"]) == (3, 4)
    assert here["change"] == "the same"
    assert here["iou"] > 0.97
    assert away["change"] == "worse"
    assert away["iou"] < 0.7
    assert away["had"] == here["had"]


def test_all_pages_tell_the_figures_that_the_scene_page_tells_of_where_an_object_stands(sessions):
    here = adjusting.answer(sessions, HERE)
    known = fits(sessions.get("t"))[1]
    assert (known["iou"], known["depth_error"]) == (here["iou"], here["depth_error"])


@pytest.mark.parametrize("wrong", [
    {"id": 0}, {"id": "1"}, {"id": 7}, {"pos": [0, 0]}, {"pos": "far"}, {"pos": [0, 0, float("nan")]}, {"pos": None},
    {"scale": 0}, {"scale": -1}, {"scale": "big"}, {"scale": None}, {"quat_wxyz": [0, 0, 0, 0]},
    {"quat_wxyz": [1e9] * 4},
])  # fmt: skip
def test_nonsense_is_answered_in_one_line(sessions, wrong):
    answer = adjusting.answer(sessions, HERE | wrong)
    assert answer["seq"] == 3
    assert answer["error"]
    assert "\n" not in answer["error"]


@pytest.mark.parametrize("told", [
    {"kind": "move", "id": 1}, {"kind": "move", "id": 1, "pos": None, "quat_wxyz": None},
    {"kind": "refit", "id": 1, "pos": [0, 0, 0]}, {"kind": "resize", "id": 1, "scale": None},
    {"kind": "resize", "id": 1, "scale": [1, 2]}, {"kind": "physics", "id": 1, "mass": "heavy", "friction": None},
])  # fmt: skip
def test_half_a_decision_is_refused_before_it_is_recorded(sessions, told):
    frame = sessions.get("t").project.frame
    with pytest.raises(StudioError):
        Decision(*prompts.decision(told, frame))


@pytest.mark.parametrize("told", [
    {"kind": "refit", "id": 1}, {"kind": "physics", "id": 1, "mass": 0.2, "friction": None},
    {"kind": "resize", "id": 1, "scale": 1.2}, {"kind": "move", "id": 1, "pos": [0, 0, 0], "quat_wxyz": [1, 0, 0, 0]},
])  # fmt: skip
def test_a_whole_decision_is_taken_as_it_was_said(sessions, told):
    taken = Decision(*prompts.decision(told, sessions.get("t").project.frame))
    assert {"kind": taken.kind, **taken.data} == told


def rests(by=(0, 0, 0), tilt=0.0):
    put = Pose(np.array([0.1, 0.2, 0.3]), np.array([1.0, 0, 0, 0]))
    turned = Rotation.from_euler("x", tilt, degrees=True).as_matrix()
    return adjusting.settled(put, Pose.from_rotation(put.pos + np.array(by), turned))


def test_what_settling_did_is_told_and_what_nobody_sees_is_not():
    assert rests() == rests((0, 0, -0.0005)) == ""
    assert rests((0, 0, -0.004)) == "Settling moved it 4 mm down from where you put it."
    assert rests((0.012, 0, 0.03)) == "Settling moved it 3.0 cm up, 1.2 cm aside from where you put it."
    assert "turned it 30°" in rests((0, 0, 0), 30)


def test_depth_differences_are_red_where_the_twin_is_nearer_and_blue_where_it_is_farther():
    metres = np.array([[-0.03, 0.0, 0.03, np.nan]], np.float32)
    image = cv2.imdecode(np.frombuffer(painted(metres), np.uint8), cv2.IMREAD_UNCHANGED)
    (b0, _, r0, a0), (_, _, _, even), (b1, _, r1, a1), (*_, unknown) = image[0].astype(int)
    assert r0 > b0
    assert b1 > r1
    assert unknown == 0 < even < min(a0, a1)
