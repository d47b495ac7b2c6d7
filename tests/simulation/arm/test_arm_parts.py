"""The arms open and shut drawers and doors from where they stand, and push where nothing has to be held."""

import numpy as np
import pytest

from pipeline.simulation import kit
from pipeline.simulation.arm.mount import MAX_ASIDE_M, PART_REACH_M, place_base
from pipeline.simulation.arm.tools.part_pushes import push_grasps
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots import robot_kind
from pipeline.simulation.world import set_robot


@pytest.fixture(scope="module")
def scene(furniture):
    return kit.Scene.load(furniture)


def part_run(scene, robot, goal, opened=0.0):
    sim = kit.Simulation(scene, 0)
    sim.keep("cabinet", "oven")
    if opened:
        sim.set_open(goal.objects[0], goal.part, opened)
    sim.goal(goal)
    set_robot(sim, robot_kind(robot).make(True))
    return sim.rollout()


@pytest.mark.parametrize("robot", ["arm", "arm-suction"])
def test_an_arm_opens_a_drawer_and_shuts_an_open_one(scene, robot):
    opened, shut = kit.opened("cabinet", "top_drawer"), kit.closed("cabinet", "top_drawer")
    assert (run := part_run(scene, robot, opened)).solved, run.why
    assert (run := part_run(scene, robot, shut, 0.9)).solved, run.why
    assert run.moved("cabinet") < 0.01


def test_a_part_is_pushed_only_away_from_the_hand(scene):
    physics = Physics(kit.Simulation(scene, 0).bench())
    for name in ("cabinet", "oven"):
        for part in physics.state()[name].parts:
            half_open = part.end / 2
            assert push_grasps(physics, name, part, half_open, 0.0) == ()
            pushes = push_grasps(physics, name, part, -half_open, 0.0)
            assert pushes
            for push in pushes:
                motion = -part.heading(push.point)
                assert motion @ push.approach > 0 and push.approach[2] < 1e-9
                assert np.linalg.norm(push.hand[:3, 3] - push.point) < 0.005


def test_the_base_stands_in_front_of_drawers_and_doors(scene):
    mount = place_base(scene.objects, scene.table, scene.away)
    for name in ("cabinet", "oven"):
        for part in scene[name].parts:
            middle = part.corners.mean(0)
            ahead = part.heading(middle)[:2]
            off = mount.base - middle[:2]
            assert PART_REACH_M[0] - 0.1 < off @ ahead < PART_REACH_M[1] + 0.2
            assert np.linalg.norm(off - (off @ ahead) * ahead) < MAX_ASIDE_M + 0.15
