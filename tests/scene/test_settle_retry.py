"""Retries: objects that moved while settling are placed again, and kept if the photograph agrees better."""

from dataclasses import replace

import drawn_scene as make
import numpy as np
import pytest

from pipeline.geometry import Pose
from pipeline.scene.overrides import Override
from pipeline.scene.place_objects import place_objects
from pipeline.scene.settle import settle
from pipeline.scene.settle_retry import settle_with_retries


@pytest.fixture(scope="module")
def truth(library):
    block, cube = library["blue_block"], library["red_cube"]
    return make.scene(
        make.placement(block.mesh, "block", (-0.05, 0), yaw=0.4, collision=block.collision, asset_id=block.id),
        make.placement(cube.mesh, "cube", (0.05, 0), yaw=0.8, number=2, collision=cube.collision, asset_id=cube.id),
    )


@pytest.fixture(scope="module")
def inputs(truth, library, tmp_path_factory):
    return make.inputs(truth, library, tmp_path_factory.mktemp("scene"), shape="irregular")


def move_second(scene, by):
    first, second = scene.placements
    pose = Pose(second.world_from_object.pos + by, second.world_from_object.quat_wxyz)
    return replace(scene, placements=(first, replace(second, world_from_object=pose)))


@pytest.mark.parametrize("by", [(-0.06, 0, 0), (-0.1, 0, 0.06)])
def test_an_object_placed_wrongly_is_placed_again(truth, inputs, by):
    wrong = move_second(place_objects(inputs), by)
    assert max(make.position_errors(truth, settle(wrong)[0])) > 0.01
    settled, reports = settle_with_retries(wrong, inputs)
    assert max(make.position_errors(truth, settled)) < 0.003 and reports == ()


def test_an_object_that_a_person_placed_is_only_reported(inputs):
    high = move_second(place_objects(inputs), (0, 0, 0.05))
    _, cube = high.placements
    overrides = {2: Override(cube.world_from_object)}
    settled, reports = settle_with_retries(high, replace(inputs, overrides=overrides))
    assert make.position_errors(settled, settle(high)[0]) == pytest.approx([0, 0], abs=1e-9)
    assert [report.name for report in reports] == ["cube"]


def test_an_asset_that_cannot_rest_where_it_was_observed_is_replaced_by_a_reconstruction(library, tmp_path):
    ball = make.scene(make.placement(make.ball(tmp_path, 0.05), "ball", asset_id="white_bowl"))
    inputs = make.inputs(ball, library, tmp_path / "scene", shape="irregular")
    bowl = library["white_bowl"]
    on_its_rim = Pose(np.array([0, 0, bowl.size[0] / 2]), np.array([np.sqrt(0.5), 0, np.sqrt(0.5), 0]))
    (placed,) = place_objects(inputs).placements
    rolling = replace(placed, world_from_object=on_its_rim, size=bowl.size, mesh=bowl.mesh, collision=bowl.collision)
    settled, _ = settle_with_retries(replace(ball, placements=(rolling,)), inputs)
    assert settled.placements[0].asset_id is None and max(make.position_errors(ball, settled)) < 0.01


def test_without_a_better_alternative_the_settled_scene_stays(inputs):
    placed = place_objects(inputs)
    assert make.position_errors(settle_with_retries(placed, inputs)[0], settle(placed)[0]) == [0, 0]
