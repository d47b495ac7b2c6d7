"""Grasps: from the side, as a person sees them, and no proposed task that the robot in use cannot begin."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from pipeline.planner import PlannerModel
from pipeline.planner.proposals import proposals
from pipeline.simulation import kit
from pipeline.simulation.arm.arm_robot import Arm
from pipeline.simulation.arm.collision import CollisionChecker
from pipeline.simulation.arm.grasp_candidates import MAX_DROPPED, grasp_candidates
from pipeline.simulation.arm.graspability import why_not_picked
from pipeline.simulation.arm.tools import finger_tool, fingers
from pipeline.simulation.arm.tools.finger_grasps import find_grasps
from pipeline.simulation.arm.tools.grasp_scoring import MAX_OBJECT_WIDTH_M
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots import ROBOTS
from pipeline.tasks import ask_for_proposals, scene_to_json


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


ARMS = [name for name, kind in ROBOTS.items() if not kind.floats]


@pytest.mark.parametrize("robot", ARMS)
@pytest.mark.parametrize("name", ["blue_cube", "yellow_can"])
def test_grasps_come_first_close_to_the_object_and_dropped_ones_say_why(table, robot, name):
    scene = kit.Scene.load(table)
    candidates = grasp_candidates(scene, robot, name)
    reasons = [candidate.reason for candidate in candidates]
    assert reasons == sorted(reasons, key=bool) and not reasons[0]
    assert sum(map(bool, reasons)) <= MAX_DROPPED
    for candidate in candidates:
        assert np.linalg.norm(candidate.object_from_gripper[:3, 3]) < np.linalg.norm(scene[name].size)
        assert np.allclose(candidate.object_from_gripper[:3, :3].T @ candidate.object_from_gripper[:3, :3], np.eye(3))


def test_what_the_robot_cannot_pick_up_is_carried_by_no_proposal(table):
    scene = kit.Scene.load(table)
    data = scene_to_json(scene)
    assert len(proposals(data)) > 3
    for refused in data["objects"]:
        others = [one for one in data["objects"] if one is not refused]
        plans = proposals(data | {"objects": [*others, refused | {"robot_cannot_pick_it_up": "too wide"}]})
        assert plans
        assert not [p.instruction for p in plans for goal in p.goals if refused["name"] in goal.carried]
    everything = {o.name: "out of reach" for o in scene.objects}
    assert not ask_for_proposals(scene, PlannerModel(), not_picked=everything).tasks


def test_only_an_object_too_heavy_for_the_cup_is_named_with_its_mass_and_what_floats_has_no_grasps(project, tmp_path):
    scene = kit.Scene.load(project)
    assert [why_not_picked(scene, robot) for robot in ROBOTS] == [{}] * len(ROBOTS)
    with pytest.raises(kit.KitError, match="Choose a robot arm"):
        grasp_candidates(scene, "gripper", "red_cube")
    folder = tmp_path / "heavy"
    shutil.copytree(project, folder)
    data = json.loads((folder / "scene.json").read_text())
    data["placements"][0]["mass"] = 3.0
    (folder / "scene.json").write_text(json.dumps(data))
    refused = why_not_picked(kit.Scene.load(folder), "arm-suction")
    assert list(refused) == ["red_cube"] and "weighs 3.0 kg" in refused["red_cube"]
    assert why_not_picked(kit.Scene.load(folder), "gripper") == {}
