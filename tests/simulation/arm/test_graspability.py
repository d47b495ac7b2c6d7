"""No task is proposed that the robot in use cannot begin."""

import json
import shutil

import pytest

from pipeline.planner import PlannerModel
from pipeline.planner.proposals import proposals
from pipeline.simulation import kit
from pipeline.simulation.arm.graspability import why_not_picked
from pipeline.tasks import ask_for_proposals, scene_to_json


def test_what_the_robot_cannot_pick_up_is_carried_by_no_proposal(table):
    scene = kit.Scene.load(table)
    data = scene_to_json(scene)
    assert len(proposals(data)) > 3
    for refused in data["objects"]:
        others = [one for one in data["objects"] if one is not refused]
        plans = proposals(data | {"objects": [*others, refused | {"robot_cannot_pick_it_up": "too wide"}]})
        assert plans
        assert not [p.instruction for p in plans for goal in p.goals if refused["name"] in goal.carried]


def test_a_scene_of_which_nothing_can_be_picked_up_has_no_proposals(table):
    scene = kit.Scene.load(table)
    everything = {o.name: "out of reach" for o in scene.objects}
    assert not ask_for_proposals(scene, PlannerModel(), not_picked=everything).tasks


@pytest.mark.parametrize("robot", ["gripper", "arm", "arm-suction"])
def test_small_cubes_within_reach_can_be_picked_up_by_every_robot(project, robot):
    assert why_not_picked(kit.Scene.load(project), robot) == {}


def test_an_object_too_heavy_for_the_cup_is_named_with_its_mass(project, tmp_path):
    folder = tmp_path / "heavy"
    shutil.copytree(project, folder)
    data = json.loads((folder / "scene.json").read_text())
    data["placements"][0]["mass"] = 3.0
    (folder / "scene.json").write_text(json.dumps(data))
    refused = why_not_picked(kit.Scene.load(folder), "arm-suction")
    assert list(refused) == ["red_cube"] and "weighs 3.0 kg" in refused["red_cube"]
    assert why_not_picked(kit.Scene.load(folder), "gripper") == {}
