"""Candidate grasps as a person sees them: kept and dropped ones, each with its reason, in the object's own frame."""

import numpy as np
import pytest

from pipeline.simulation import kit
from pipeline.simulation.arm.grasp_candidates import MAX_DROPPED, grasp_candidates
from pipeline.simulation.robots import ROBOTS

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


def test_a_robot_that_floats_has_none(table):
    with pytest.raises(kit.KitError, match="Choose a robot arm"):
        grasp_candidates(kit.Scene.load(table), "gripper", "red_cube")
