"""Registration finds a known shape from one noiseless view, and a print tells how it is turned."""

from dataclasses import replace

import drawn_scene as make
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.spatial.transform import Rotation

from pipeline.assets.appearance.ray_views import surface_colours_along_rays
from pipeline.geometry import Pose
from pipeline.scene import registration
from pipeline.scene.observed_object import object_points, observe
from pipeline.scene.pose_search import PoseFit
from pipeline.scene.rotation_from_print import choose_rotation, shape_symmetries


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
    turn, period = a.rotation.T @ b.rotation, 2 * np.pi / fold
    yaw = np.arctan2(turn[1, 0], turn[0, 0]) % period
    return float(np.degrees(min(yaw, period - yaw)))


@settings(max_examples=6, deadline=None, derandomize=True)
@given(x=some.floats(-0.2, 0.2), y=some.floats(-0.15, 0.15), yaw=some.floats(0.25, 1.3))
def test_a_box_with_two_visible_sides_is_found_to_a_fifth_of_a_millimetre(folder, x, y, yaw):
    # the camera sees two sides: the box is turned by at least 15 degrees from facing it
    box = make.placement(make.box(folder), at=(x, y), yaw=yaw + np.arctan2(-0.6 - y, 0.1 - x) + np.pi / 2)
    pose = registered_pose(box)
    assert position_error(pose, box) < 2e-4 and yaw_error(pose, box.world_from_object, 2) < 0.2


def test_cans_and_balls_are_not_pulled_to_the_camera_and_a_box_is_found_from_its_front_and_above_the_table(folder):
    for yaw in (0.0, 2.0, 4.0):
        for mesh in (make.can(folder), make.ball(folder)):
            p = make.placement(mesh, at=(0.1 * np.cos(yaw), 0.1 * np.sin(yaw)))
            assert position_error(registered_pose(p), p) < 1e-3
    box = make.placement(make.box(folder), at=(0.1, 0.0))
    assert position_error(registered_pose(box), box) < 3e-3
    box = make.placement(make.box(folder), yaw=0.5, bottom=0.07)
    assert position_error(registered_pose(box, bottom=0.07), box) < 2e-4


SIDES = {"upright": Rotation.identity(), "lying": Rotation.from_euler("x", 90, degrees=True)}


def print_in_view(asset, pose, observation, mask):
    """Return which pixels of a mask a ray finds the asset at, at a pose, and its unlit colours there."""
    frame, camera = observation.frame, observation.support.world_from_camera
    v, u = np.nonzero(mask)
    directions = frame.intrinsics.ray_directions(u, v) @ camera[:3, :3].T @ pose.rotation
    origin = (camera[:3, 3] - pose.pos) @ pose.rotation
    hit, colours = surface_colours_along_rays(asset, asset.size, [origin], [directions])
    return hit[0], colours[0]


def photographed(asset, rotation: np.ndarray):
    height = float(np.ptp(registration.load_surface(asset.mesh, asset.size).points @ rotation[2]))
    pose = Pose.from_rotation(np.array([0.02, 0.05, height / 2]), rotation)
    placement = make.placement(asset.mesh, asset.id, (0.02, 0.05), size=asset.size, number=1, asset_id=asset.id)
    placement = replace(placement, world_from_object=pose)
    observation, (segment,) = make.observe(make.scene(placement))
    hit, colours = print_in_view(asset, pose, observation, segment.mask)
    random, shade = np.random.default_rng(0), np.linspace(0.55, 0.95, len(hit))[:, None]  # the light falls off
    noisy = np.where(hit[:, None], colours, 128) * shade + random.normal(0, 8, colours.shape)
    rgb = observation.frame.rgb.copy()
    rgb[segment.mask] = np.clip(noisy, 0, 255).astype(np.uint8)
    observation = replace(observation, frame=replace(observation.frame, rgb=rgb))
    return pose, observe(observation, segment, make.exact_description(placement))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("id", ["soup_can", "cracker_box"])
def test_a_print_is_seen_where_it_was_photographed_however_the_shape_was_registered(library, id, side):
    asset = library[id]
    rotation = (Rotation.from_euler("z", 40, degrees=True) * SIDES[side]).as_matrix()
    pose, observed = photographed(asset, rotation)

    def difference(fit):
        (a, true), (b, seen) = (
            print_in_view(asset, one, observed.observation, observed.segment.mask) for one in (pose, fit.pose)
        )
        return float(np.abs(true - seen)[a & b].mean())

    symmetries = shape_symmetries(asset.mesh, tuple(asset.size.tolist())).rotations
    starts = [PoseFit(Pose.from_rotation(pose.pos, rotation @ turn), 1.0, 0.001) for turn in symmetries]
    starts = sorted(starts, key=difference)[:: max(1, (len(starts) - 1) // 3)]
    assert difference(starts[-1]) > 20
    for start in starts:
        chosen = choose_rotation(start, asset, observed, None)
        assert difference(chosen) < 10 and np.linalg.norm(chosen.pose.pos - pose.pos) < 0.005


def test_a_plain_object_keeps_its_rotation_and_a_mug_is_not_turned_because_its_handle_shows(library):
    block = library["blue_block"]
    pose, observed = photographed(block, np.eye(3))
    chosen = choose_rotation(PoseFit(pose, 1.0, 0.001), block, observed, None)
    assert np.allclose(chosen.pose.matrix, pose.matrix) and chosen.cost == 0.001
    mug = library["red_mug"]
    assert len(shape_symmetries(mug.mesh, tuple(mug.size.tolist())).round_axes) == 0


@pytest.mark.parametrize("id", ["tennis_ball", "orange", "soup_can", "red_cube", "pear", "cracker_box"])
def test_every_shape_has_few_symmetries_the_first_of_which_changes_nothing(library, id):
    asset = library[id]
    rotations = shape_symmetries(asset.mesh, tuple(asset.size.tolist())).rotations
    assert np.allclose(rotations[0], np.eye(3)) and 1 <= len(rotations) <= 60
    assert np.allclose(rotations @ rotations.swapaxes(1, 2), np.eye(3), atol=1e-9)
