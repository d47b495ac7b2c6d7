"""Two-finger grasps from the side: sampled along level lines, judged by the gripper's shapes, and they hold."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.simulation import kit
from pipeline.simulation.arm.arm_robot import Arm
from pipeline.simulation.arm.collision import CollisionChecker
from pipeline.simulation.arm.tools import finger_tool, fingers
from pipeline.simulation.arm.tools.finger_grasps import find_grasps
from pipeline.simulation.arm.tools.grasp_scoring import MAX_OBJECT_WIDTH_M
from pipeline.simulation.physics import Physics


@pytest.fixture
def sim(table):
    return kit.Simulation(replace(kit.Scene.load(table), robot=Arm()))


@pytest.fixture
def physics(sim):
    physics = Physics(sim.bench())
    physics.settle(0.5)
    return physics


def tilt(grasp):
    return np.arccos(np.clip(-grasp.approach[2], -1, 1))


@pytest.mark.parametrize("name", ["red_cube", "blue_cube", "yellow_can", "orange_ball", "white_bowl"])
def test_every_grasp_closes_along_a_level_line_where_the_open_gripper_has_room(physics, name):
    clearance = CollisionChecker(physics)
    target = physics.state()[name]
    search = find_grasps(physics, target, clearance)
    for grasp in search.grasps:
        assert abs(grasp.hand[2, 1]) < 1e-9 and grasp.approach[2] < 0, "level, and never from below"
        assert grasp.width <= MAX_OBJECT_WIDTH_M and grasp.width < grasp.opening <= fingers.MAX_OPENING_M
        if tilt(grasp) > 0.1:
            assert clearance.gripper_collision(grasp.hand, grasp.opening) == ""
    for dropped in search.dropped:
        assert dropped.cause in ("wide", "sloped", "blocked") and bool(dropped.blocker) == (dropped.cause == "blocked")
        assert dropped.cause != "wide" or dropped.width > MAX_OBJECT_WIDTH_M


def test_the_gripper_alone_collides_as_on_its_arm(physics):
    clearance, hand = CollisionChecker(physics), physics.world.robot.hand(physics)
    clearance.refresh()
    can = physics.state()["yellow_can"]
    for height, expected in ((0.25, ""), (0.0, "yellow_can"), (-can.height, "table")):
        pose = np.array(hand.kinematics.forward(hand.home))
        pose[:3, 3] = [*can.position[:2], can.top + height]
        assert clearance.gripper_collision(pose, 0.05) in ((expected,) if height >= 0 else ("table", "yellow_can"))
    assert clearance.first_collision(hand.home, 0.05) == "", "the checker's own arm is where it was"


def test_an_object_is_carried_by_a_level_grasp(sim, monkeypatch):
    search = finger_tool.find_grasps

    def level_only(*arguments):
        found = search(*arguments)
        return replace(found, grasps=tuple(grasp for grasp in found.grasps if tilt(grasp) > np.radians(50)))

    monkeypatch.setattr(finger_tool, "find_grasps", level_only)
    sim.keep("yellow_can")
    sim.goal(kit.at("yellow_can", sim["yellow_can"].position[:2] + 0.12))
    run = sim.rollout()
    assert run.solved, run.why
    assert np.degrees(run.end("yellow_can").tilt) < 5
