"""Registration finds a known shape where it stands, from one noiseless view."""

import drawn_scene as make
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from pipeline.geometry import Pose
from pipeline.scene import registration
from pipeline.scene.observed_object import object_points


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("meshes")


def registered_pose(p, bottom=0.0):
    observation, (segment,) = make.observe(make.scene(p))
    points = object_points(observation, segment)
    target = registration.RegistrationTarget(points, observation.frame, observation.support.world_from_camera)
    surface = registration.load_surface(p.mesh, p.size)
    starts = registration.start_poses(surface, target, np.eye(3), bottom)
    return registration.register(surface, target, starts).pose


def position_error(pose, p) -> float:
    return float(np.linalg.norm(pose.pos - p.world_from_object.pos))


def yaw_error(a: Pose, b: Pose, fold: int) -> float:
    turn = a.rotation.T @ b.rotation
    period = 2 * np.pi / fold
    yaw = np.arctan2(turn[1, 0], turn[0, 0]) % period
    return float(np.degrees(min(yaw, period - yaw)))


@settings(max_examples=6, deadline=None, derandomize=True)
@given(x=some.floats(-0.2, 0.2), y=some.floats(-0.15, 0.15), yaw=some.floats(0.25, 1.3))
def test_a_box_with_two_visible_sides_is_found_to_a_fifth_of_a_millimetre(folder, x, y, yaw):
    # the camera sees two sides: the box is turned by at least 15 degrees from facing it
    box = make.placement(make.box(folder), at=(x, y), yaw=yaw + np.arctan2(-0.6 - y, 0.1 - x) + np.pi / 2)
    pose = registered_pose(box)
    assert position_error(pose, box) < 2e-4 and yaw_error(pose, box.world_from_object, 2) < 0.2


@pytest.mark.parametrize("yaw", [0.0, 2.0, 4.0])
def test_a_can_and_a_ball_are_not_pulled_towards_the_camera(folder, yaw):
    for mesh in (make.can(folder), make.ball(folder)):
        p = make.placement(mesh, at=(0.1 * np.cos(yaw), 0.1 * np.sin(yaw)))
        assert position_error(registered_pose(p), p) < 1e-3


def test_a_box_seen_from_its_front_alone_is_found_to_a_pixel(folder):
    box = make.placement(make.box(folder), at=(0.1, 0.0))
    assert position_error(registered_pose(box), box) < 3e-3


def test_an_object_above_the_table_is_found_at_its_height(folder):
    box = make.placement(make.box(folder), yaw=0.5, bottom=0.07)
    assert position_error(registered_pose(box, bottom=0.07), box) < 2e-4
