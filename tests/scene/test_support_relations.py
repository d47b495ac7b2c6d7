"""Support relations: objects on unseen supports keep their height, and visible supports reach under their objects."""

from dataclasses import replace

import drawn_scene as make
import numpy as np
import pytest

from pipeline.geometry import Pose
from pipeline.scene.place_objects import place_objects
from pipeline.scene.settle import settle
from pipeline.scene.support_relations import add_props, extend_support, object_under

HEIGHT = 0.05


def moved(before, after) -> float:
    return float(np.linalg.norm(after.world_from_object.pos - before.world_from_object.pos))


@pytest.fixture
def high(tmp_path):
    return make.placement(make.box(tmp_path), "box", bottom=HEIGHT, misfit=0.001)


def test_a_known_object_on_an_unseen_support_keeps_its_height(library, tmp_path):
    asset = library["red_mug"]
    mug = make.placement(
        asset.mesh, "mug", yaw=-0.5, bottom=HEIGHT, size=asset.size, collision=asset.collision, asset_id=asset.id
    )
    inputs = make.inputs(make.scene(mug), library, tmp_path, shape="irregular")
    size = np.add(mug.size, [0, 0, HEIGHT])  # it was measured down to the table
    (described,) = inputs.descriptions
    attributes = replace(described.attributes, size=size, centre=np.array([0, 0, size[2] / 2]))
    scene, reports = settle(place_objects(replace(inputs, descriptions=[replace(described, attributes=attributes)])))
    assert moved(mug, scene.placements[0]) < 0.003
    assert scene.placements[0].prop == pytest.approx(HEIGHT, abs=0.003) and reports == ()


def test_a_prop_touches_no_other_object(high, tmp_path):
    neighbour = make.placement(make.box(tmp_path, (0.04, 0.04, 0.04)), "neighbour", (0.03, 0), number=2)
    alone, _ = settle(make.scene(neighbour))
    both, _ = settle(make.scene(*add_props((high, neighbour))))
    assert moved(alone.placements[0], both.placements[1]) < 1e-3


@pytest.mark.parametrize(("why", "changes"), [
    ("a person placed it", {"misfit": 0.0}),
    ("it is fixed", {"fixed": True}),
    ("it stands on the table", {"world_from_object": Pose(np.array([0, 0, 0.04]), np.array([1.0, 0, 0, 0]))}),
])  # fmt: skip
def test_only_measured_objects_above_the_table_get_a_prop(high, why, changes):
    assert add_props((high,))[0].prop > 0
    assert add_props((replace(high, **changes),))[0].prop == 0, why


def test_a_loaded_support_is_as_heavy_as_its_size_allows(high, tmp_path):
    low = make.placement(make.box(tmp_path, (0.05, 0.05, HEIGHT)), "low", number=2)
    low = replace(low, mass=0.005, mass_range=(0.002, 0.2))
    for load, at_least in ((3.0, 0.15), (100.0, 0.2)):
        support = extend_support(low, replace(high, asset_id="box", mass=load))
        growth = support.size.prod() / low.size.prod()
        assert support.mass == pytest.approx(at_least * growth, rel=1e-6) or load < 50
        assert at_least <= support.mass <= support.mass_range[1]
        assert support.mass_range[1] / low.mass_range[1] == pytest.approx(growth)


def test_an_object_that_ends_near_anothers_bottom_supports_it_and_is_extended(high, tmp_path):
    low = make.placement(make.box(tmp_path, (0.05, 0.05, 0.03)), "low", number=2)
    neighbour = make.placement(make.box(tmp_path, (0.05, 0.05, HEIGHT)), "neighbour", (0.06, 0), number=3)
    upper = replace(high, asset_id="box")
    assert object_under(upper, (neighbour, low)) is low and object_under(upper, (neighbour,)) is None
    assert extend_support(low, upper).top == pytest.approx(HEIGHT) and add_props((upper, low))[0].prop == 0
