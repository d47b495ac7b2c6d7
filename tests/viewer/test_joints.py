"""Joints moved by hand: within their limits, at rest, and nothing else moves."""

import json

import mujoco
import numpy as np
import pytest

from studio.viewer.joints import movable_joints
from studio.viewer.motion import Layout, LivePhysics, Trajectory, ViewerError
from studio.viewer.view_session import ViewSession

CABINET = """<mujoco><worldbody><geom type="plane" size="2 2 0.1"/>
  <body name="cabinet" pos="0 0 0.1"><freejoint name="cabinet"/>
    <geom type="box" size="0.1 0.1 0.1" mass="2"/>
    <body name="cabinet/drawer">
      <joint name="cabinet/drawer_slide" type="slide" axis="0 -1 0" range="-0.01 0.15" damping="5"/>
      <geom type="box" size="0.08 0.08 0.03" mass="0.2"/></body>
    <body name="cabinet/knob" pos="0 -0.1 0.08"><joint name="cabinet/knob" type="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="box" size="0.01 0.01 0.01" mass="0.01"/></body>
  </body>
  <body name="robot" pos="1 0 1"><joint name="arm" axis="1 0 0"/><geom size="0.1"/></body>
</worldbody></mujoco>"""  # fmt: skip


@pytest.fixture
def model():
    return mujoco.MjModel.from_xml_string(CABINET)


def drawer(model, data) -> float:
    return float(data.qpos[model.joint("cabinet/drawer_slide").qposadr[0]])


def test_joints_of_objects_are_offered_and_no_others(model):
    slide, hinge = movable_joints(model, ["cabinet"])
    assert (slide["name"], slide["kind"], slide["range"]) == ("drawer_slide", "slide", [-0.01, 0.15])
    assert hinge["kind"] == "hinge" and hinge["range"] == pytest.approx([-np.pi, np.pi])
    assert not movable_joints(model, []) and {one["object"] for one in (slide, hinge)} == {"cabinet"}


@pytest.mark.parametrize(("value", "reached"), [(0.1, 0.1), (9.0, 0.15), (-9.0, -0.01)])
@pytest.mark.parametrize("kind", ["physics", "layout"])
def test_a_drawer_moves_to_the_value_within_its_limits(model, value, reached, kind):
    motion = LivePhysics(model) if kind == "physics" else Layout(model, mujoco.MjData(model).qpos)
    before = motion.data.xpos[model.body("cabinet").id].copy()
    motion.articulate(movable_joints(model, ["cabinet"])[0]["number"], value)
    assert drawer(model, motion.data) == pytest.approx(reached)
    motion.step(200)
    assert drawer(model, motion.data) == pytest.approx(reached, abs=0.002)
    np.testing.assert_allclose(motion.data.xpos[model.body("cabinet").id], before, atol=0.002)


def test_seeking_restores_the_joint_before_it_was_moved(model):
    physics = LivePhysics(model)
    physics.step(200)
    physics.articulate(movable_joints(model, ["cabinet"])[0]["number"], 0.1)
    assert drawer(model, physics.data) == pytest.approx(0.1)
    physics.seek(0.2)
    assert abs(drawer(model, physics.data)) < 0.005
    physics.seek(99)
    assert drawer(model, physics.data) == pytest.approx(0.1)


def executed(session: ViewSession, **command) -> dict:
    """Execute a command and return the status after it."""
    session.enqueue(command)
    session._execute_commands()
    session._publish()
    return json.loads(session.status)


def test_a_request_moves_a_joint_and_the_status_shows_its_value(model):
    session = ViewSession(model)
    number = movable_joints(model, session.names)[0]["number"]
    assert executed(session, op="joint", number=number, value=0.12)["joints"] == pytest.approx([0.12, 0.0])
    assert b'"drawer_slide"' in session.geometry


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ({"number": 0, "value": 0.1}, "not a joint of an object"),
        ({"number": 99, "value": 0.1}, "not a joint of an object"),
        ({"number": 1, "value": "far"}, "did not understand"),
        ({"number": 1, "value": float("nan")}, "did not understand"),
    ],
)
def test_an_invalid_request_is_refused_and_moves_nothing(model, command, message):
    session = ViewSession(model)
    with pytest.raises(ViewerError, match=message):
        session.enqueue({"op": "joint", **command})
    assert executed(session, op="pause")["joints"] == [0, 0]


def test_a_recording_is_not_moved_by_hand(model):
    qpos = np.tile(mujoco.MjData(model).qpos, (3, 1))
    session = ViewSession(model, Trajectory(np.arange(3.0), qpos))
    with pytest.raises(ViewerError, match="recording"):
        session.enqueue({"op": "joint", "number": 1, "value": 0.1})
