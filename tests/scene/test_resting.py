"""What would not rest where it was seen is laid once more, and kept where the photograph agrees."""

from dataclasses import replace

import numpy as np
import pytest
import scene_making as make

from pipeline.assets import Library
from pipeline.description import Attributes, Description
from pipeline.geometry import Pose
from pipeline.matching import Match
from pipeline.scene.given import Given
from pipeline.scene.placing import place
from pipeline.scene.resting import rest
from pipeline.scene.settle import settle


@pytest.fixture(scope="module")
def library():
    return Library.open()


@pytest.fixture(scope="module")
def truth(library):
    block, cube = library["blue_block"], library["red_cube"]
    return make.scene(
        make.thing(block.mesh, "block", (-0.05, 0), yaw=0.4, collision=block.collision, asset_id=block.id),
        make.thing(cube.mesh, "cube", (0.05, 0), yaw=0.8, number=2, collision=cube.collision, asset_id=cube.id),
    )


@pytest.fixture(scope="module")
def what(truth, library, tmp_path_factory):
    """All that `place` takes."""
    frame, support, segments = make.photograph(truth)
    descriptions = [
        Description(p.segment_id, True, p.name, "", Attributes("red", (200, 30, 30), "irregular", p.size, 0.4,
                                                               p.world_from_object.pos, 0.001))
        for p in truth.placements
    ]  # fmt: skip
    matches = [Match(p.segment_id, p.asset_id, 1.0, "", ()) for p in truth.placements]
    return frame, support, segments, descriptions, matches, library, tmp_path_factory.mktemp("scene")


def off(a, b) -> list[float]:
    """Metres between the objects of two scenes."""
    pairs = zip(a.placements, b.placements, strict=True)
    return [float(np.linalg.norm(p.world_from_object.pos - q.world_from_object.pos)) for p, q in pairs]


def moved(scene, by):
    """The scene with its second object moved."""
    first, second = scene.placements
    pose = Pose(second.world_from_object.pos + by, second.world_from_object.quat_wxyz)
    return replace(scene, placements=(first, replace(second, world_from_object=pose)))


@pytest.mark.parametrize("by", [(-0.06, 0, 0), (-0.1, 0, 0.06)])
def test_what_was_laid_wrong_and_moved_until_it_rested_is_laid_again(truth, what, by):
    wrong = moved(place(*what), by)
    assert max(off(truth, settle(wrong)[0])) > 0.01
    rested, told = rest(wrong, *what)
    assert max(off(truth, rested)) < 0.003
    assert told == ()


def test_what_a_person_put_somewhere_is_only_reported(what):
    high = moved(place(*what), (0, 0, 0.05))
    _, cube = high.placements
    rested, told = rest(high, *what, {2: Given(cube.world_from_object)})
    assert off(rested, settle(high)[0]) == pytest.approx([0, 0], abs=1e-9)
    assert [one.name for one in told] == ["cube"]


def test_an_asset_that_cannot_rest_as_it_was_seen_gives_way_to_what_is_made_from_the_view(library, tmp_path):
    ball = make.scene(make.thing(make.ball(tmp_path, 0.05), "ball"))
    frame, support, segments = make.photograph(ball)
    seen = Attributes("red", (200, 30, 30), "irregular", np.full(3, 0.1), 0, np.array([0, 0, 0.05]), 0.001)
    what = (frame, support, segments, [Description(1, True, "ball", "", seen)],
            [Match(1, "white_bowl", 1.0, "", ())], library, tmp_path / "scene", None, tmp_path / "cache")  # fmt: skip
    bowl = library["white_bowl"]
    on_its_rim = Pose(np.array([0, 0, bowl.size[0] / 2]), np.array([np.sqrt(0.5), 0, np.sqrt(0.5), 0]))
    (laid,) = place(*what).placements
    rolls = replace(laid, world_from_object=on_its_rim, size=bowl.size, mesh=bowl.mesh, collision=bowl.collision)
    rested, _ = rest(replace(ball, placements=(rolls,)), *what)
    assert rested.placements[0].asset_id is None
    assert max(off(ball, rested)) < 0.01


def test_where_no_other_way_agrees_better_all_stays_as_it_settled(what):
    laid = place(*what)
    assert off(rest(laid, *what)[0], settle(laid)[0]) == [0, 0]
