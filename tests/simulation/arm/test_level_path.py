"""Loads are carried level: the tool keeps its tilt on a level path, around obstacles, too."""

import itertools

import numpy as np
import pytest

from pipeline.simulation.arm.kinematics import Kinematics, gripper_pose
from pipeline.simulation.arm.path_planning import plan_level_path


@pytest.fixture(scope="module")
def arm():
    return Kinematics(np.zeros(3), 0.0)


def posture(arm, x, y, z, yaw=0.0):
    q = arm.solve(gripper_pose(np.array([x, y, z]), yaw))
    assert q is not None
    return q


def tilt(arm, q):
    return float(np.degrees(np.arccos(np.clip(-arm.forward(q)[2, 2], -1, 1))))


@pytest.mark.parametrize("wall", [0.0, 0.35])
def test_the_tool_keeps_looking_down_from_end_to_end(arm, wall):
    start, end = posture(arm, 0.5, -0.25, 0.15), posture(arm, 0.5, 0.25, 0.15, 1.0)

    def is_free(q):
        _x, y, z = arm.forward(q)[:3, 3]
        return not (abs(y) < 0.05 and z < wall)

    path = plan_level_path(start, end, is_free, arm.model.jnt_range)
    assert path is not None and np.allclose(path[0], start) and np.allclose(path[-1], end)
    assert (len(path) > 2) == bool(wall)
    for a, b in itertools.pairwise(path):
        for share in np.linspace(0, 1, 12):
            q = a + share * (b - a)
            assert is_free(q) and tilt(arm, q) < 2.0


def test_there_is_no_level_path_between_different_tilts(arm):
    start, end = posture(arm, 0.5, -0.2, 0.2), posture(arm, 0.5, 0.2, 0.2)
    end[3] += 0.6
    assert plan_level_path(start, end, lambda q: True, arm.model.jnt_range) is None
