"""What stands on something that was not found stays where it was seen, and what was found reaches its foot."""

from dataclasses import replace

import numpy as np
import pytest
import scene_making as make

from pipeline.assets import Library
from pipeline.description import Attributes, Description
from pipeline.geometry import Pose
from pipeline.matching import Match
from pipeline.scene.holding import propped, reaching_under, under_foot
from pipeline.scene.placing import place
from pipeline.scene.settle import settle

HIGH = 0.05


def moved(before, after) -> float:
    return float(np.linalg.norm(after.world_from_object.pos - before.world_from_object.pos))


@pytest.fixture
def high(tmp_path):
    """A box that nothing is seen under."""
    return make.thing(make.box(tmp_path), "box", bottom=HIGH, misfit=0.001)


def test_a_known_thing_on_something_that_was_not_found_stays_at_its_height(tmp_path):
    asset = Library.open()["red_mug"]
    mug = make.thing(asset.mesh, "mug", yaw=-0.5, bottom=HIGH, size=asset.size, collision=asset.collision)
    frame, support, segments = make.photograph(make.scene(mug))
    size = np.add(mug.size, [0, 0, HIGH])  # it was measured down to the table
    seen = Attributes("red", (200, 30, 30), "irregular", size, -0.5, np.array([0, 0, size[2] / 2]), 0.001)
    description, match = Description(1, True, "mug", "", seen), Match(1, asset.id, 1.0, "", ())
    scene, told = settle(place(frame, support, segments, [description], [match], Library.open(), tmp_path))
    assert moved(mug, scene.placements[0]) < 0.003
    assert scene.placements[0].prop == pytest.approx(HIGH, abs=0.003)
    assert told == ()


def test_nothing_else_is_touched_by_a_block_that_was_only_guessed(high, tmp_path):
    beside = make.thing(make.box(tmp_path, (0.04, 0.04, 0.04)), "beside", (0.03, 0), number=2)
    alone, _ = settle(make.scene(beside))
    both, _ = settle(make.scene(*propped((high, beside))))
    assert moved(alone.placements[0], both.placements[1]) < 1e-3


@pytest.mark.parametrize(("why", "changes"), [
    ("a person put it there", {"misfit": 0.0}),
    ("it is fixed", {"fixed": True}),
    ("it stands on the table", {"world_from_object": Pose(np.array([0, 0, 0.04]), np.array([1.0, 0, 0, 0]))}),
])  # fmt: skip
def test_a_block_is_put_only_under_what_was_seen_to_need_one(high, why, changes):
    assert propped((high,))[0].prop > 0
    assert propped((replace(high, **changes),))[0].prop == 0, why


def test_what_bears_a_load_weighs_what_its_size_makes_plausible_so_that_the_load_does_not_sink_in(high, tmp_path):
    low = make.thing(make.box(tmp_path, (0.05, 0.05, HIGH)), "low", number=2)
    low = replace(low, mass=0.005, mass_range=(0.002, 0.2))
    for load, at_least in ((3.0, 0.15), (100.0, 0.2)):
        held = replace(high, asset_id="box", mass=load)
        holder = reaching_under(low, held)
        assert holder.mass == pytest.approx(at_least * holder.size.prod() / low.size.prod(), rel=1e-6) or load < 50
        assert at_least <= holder.mass <= holder.mass_range[1]
        assert holder.mass_range[1] / low.mass_range[1] == pytest.approx(holder.size.prod() / low.size.prod())


def test_what_ends_at_a_things_foot_holds_it_and_is_made_to_reach_it(high, tmp_path):
    low = make.thing(make.box(tmp_path, (0.05, 0.05, 0.03)), "low", number=2)
    aside = make.thing(make.box(tmp_path, (0.05, 0.05, HIGH)), "aside", (0.06, 0), number=3)
    held = replace(high, asset_id="box")
    assert under_foot(held, (aside, low)) is low
    assert under_foot(held, (aside,)) is None
    assert reaching_under(low, held).top == pytest.approx(HIGH)
    assert propped((held, low))[0].prop == 0
