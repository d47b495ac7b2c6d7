"""Adjustment of an object by hand: its fit while it is dragged, its decision, and what settling changed."""

from types import SimpleNamespace

import cv2
import drawn_scene as make
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pipeline.decisions import Decision
from pipeline.errors import StudioError
from pipeline.geometry import Pose
from studio.masks.prompt_requests import parse_decision
from studio.scene import adjustments
from studio.scene.fits import compute_fits
from studio.sessions.session_registry import SessionRegistry
from studio.viewer.depth_difference import colourise


@pytest.fixture(scope="module")
def sessions(tmp_path_factory) -> SessionRegistry:
    scene = make.scene(make.placement(make.box(tmp_path_factory.mktemp("meshes")), "box", (0.1, -0.02), yaw=0.5))
    frame, _, segments = make.photograph(scene)
    project = SimpleNamespace(frame=frame, segments=lambda: segments, scene=lambda: scene)
    values: dict = {}
    cache = SimpleNamespace(get=lambda name, _, compute: values.setdefault(name, compute()))
    session = SimpleNamespace(project=project, cache=cache)
    return SimpleNamespace(get=lambda token: session)  # type: ignore[return-value]


REQUEST = {"token": "t", "seq": 3, "id": 1, "pos": [0.1, -0.02, 0.04], "scale": 1.0,
        "quat_wxyz": Rotation.from_euler("z", 0.5).as_quat(scalar_first=True).tolist()}  # fmt: skip


def test_a_moved_object_fits_worse_than_before(sessions):
    placed = adjustments.endpoint(sessions)(REQUEST)
    away = adjustments.endpoint(sessions)(REQUEST | {"seq": 4, "pos": [0.13, -0.02, 0.04]})
    assert (placed["seq"], away["seq"]) == (3, 4)
    assert placed["change"] == "the same"
    assert placed["iou"] > 0.97
    assert away["change"] == "worse"
    assert away["iou"] < 0.7
    assert away["machine_fit"] == placed["machine_fit"]


def test_all_pages_show_the_same_fit_of_an_object(sessions):
    placed = adjustments.endpoint(sessions)(REQUEST)
    known = compute_fits(sessions.get("t"))[1]
    assert (known["iou"], known["depth_error"]) == (placed["iou"], placed["depth_error"])


@pytest.mark.parametrize("wrong", [
    {"id": 0}, {"id": "1"}, {"id": 7}, {"pos": [0, 0]}, {"pos": "far"}, {"pos": [0, 0, float("nan")]}, {"pos": None},
    {"scale": 0}, {"scale": -1}, {"scale": "big"}, {"scale": None}, {"quat_wxyz": [0, 0, 0, 0]},
    {"quat_wxyz": [1e9] * 4},
])  # fmt: skip
def test_nonsense_is_answered_in_one_line(sessions, wrong):
    answer = adjustments.endpoint(sessions)(REQUEST | wrong)
    assert answer["seq"] == 3
    assert answer["error"]
    assert "\n" not in answer["error"]


@pytest.mark.parametrize("message", [
    {"kind": "move", "id": 1}, {"kind": "move", "id": 1, "pos": None, "quat_wxyz": None},
    {"kind": "refit", "id": 1, "pos": [0, 0, 0]}, {"kind": "resize", "id": 1, "scale": None},
    {"kind": "resize", "id": 1, "scale": [1, 2]}, {"kind": "physics", "id": 1, "mass": "heavy", "friction": None},
])  # fmt: skip
def test_an_incomplete_decision_is_refused_before_it_is_recorded(sessions, message):
    frame = sessions.get("t").project.frame
    with pytest.raises(StudioError):
        Decision(*parse_decision(message, frame))


@pytest.mark.parametrize("message", [
    {"kind": "refit", "id": 1}, {"kind": "physics", "id": 1, "mass": 0.2, "friction": None},
    {"kind": "resize", "id": 1, "scale": 1.2}, {"kind": "move", "id": 1, "pos": [0, 0, 0], "quat_wxyz": [1, 0, 0, 0]},
])  # fmt: skip
def test_a_complete_decision_is_recorded_unchanged(sessions, message):
    taken = Decision(*parse_decision(message, sessions.get("t").project.frame))
    assert {"kind": taken.kind, **taken.data} == message


def rests(by=(0, 0, 0), tilt=0.0):
    put = Pose(np.array([0.1, 0.2, 0.3]), np.array([1.0, 0, 0, 0]))
    turned = Rotation.from_euler("x", tilt, degrees=True).as_matrix()
    return adjustments.settling_note(put, Pose.from_rotation(put.pos + np.array(by), turned))


def test_visible_settling_motion_is_reported():
    assert rests() == rests((0, 0, -0.0005)) == ""
    assert rests((0, 0, -0.004)) == "moved it 4 mm down"
    assert rests((0.012, 0, 0.03)) == "moved it 3.0 cm up, 1.2 cm sideways"
    assert "turned it 30°" in rests((0, 0, 0), 30)


def test_depth_differences_are_red_where_nearer_and_blue_where_farther():
    metres = np.array([[-0.03, 0.0, 0.03, np.nan]], np.float32)
    image = cv2.imdecode(np.frombuffer(colourise(metres), np.uint8), cv2.IMREAD_UNCHANGED)
    (b0, _, r0, a0), (_, _, _, even), (b1, _, r1, a1), (*_, unknown) = image[0].astype(int)  # type: ignore[reportOptionalSubscript]
    assert r0 > b0
    assert b1 > r1
    assert unknown == 0 < even < min(a0, a1)
