"""Objects on unseen supports keep their height, visible supports are extended, and a mask of two objects is flagged."""

from dataclasses import replace

import drawn_scene as make
import numpy as np
import pytest

from pipeline.description import describe
from pipeline.description.stacked_objects import stacking_height
from pipeline.geometry import Pose
from pipeline.scene.place_objects import place_objects
from pipeline.scene.settle import settle
from pipeline.scene.support_relations import add_props, extend_support, object_under
from pipeline.segmentation import Segment

HEIGHT = 0.05


def moved(before, after) -> float:
    return float(np.linalg.norm(after.world_from_object.pos - before.world_from_object.pos))


@pytest.fixture
def high(tmp_path):
    return make.placement(make.box(tmp_path), "box", bottom=HEIGHT, misfit=0.001)


def test_a_known_object_on_an_unseen_support_keeps_its_height_and_one_object_has_no_step(library, tmp_path):
    asset = library["red_mug"]
    more = {"size": asset.size, "collision": asset.collision, "asset_id": asset.id}
    mug = make.placement(asset.mesh, "mug", yaw=-0.5, bottom=HEIGHT, **more)
    inputs = make.inputs(make.scene(mug), library, tmp_path, shape="irregular")
    size = np.add(mug.size, [0, 0, HEIGHT])  # it was measured down to the table
    (described,) = inputs.descriptions
    attributes = replace(described.attributes, size=size, centre=np.array([0, 0, size[2] / 2]))
    scene, reports = settle(place_objects(replace(inputs, descriptions=[replace(described, attributes=attributes)])))
    assert moved(mug, scene.placements[0]) < 0.003
    assert scene.placements[0].prop == pytest.approx(HEIGHT, abs=0.003) and reports == ()
    alone = make.placement(make.box(tmp_path, (0.06, 0.06, 0.14)), yaw=0.5)
    frame, support, segments = make.photograph(make.scene(alone))
    rows, rgb = segments[0].mask.nonzero()[0], frame.rgb.copy()
    rgb[: int(rows.mean())][segments[0].mask[: int(rows.mean())]] = RED
    assert stacking_height(replace(frame, rgb=rgb), support, segments[0].mask) is None


def test_a_prop_touches_no_other_object_and_none_is_needed_over_a_support_that_is_extended(high, tmp_path):
    neighbour = make.placement(make.box(tmp_path, (0.04, 0.04, 0.04)), "neighbour", (0.03, 0), number=2)
    alone, _ = settle(make.scene(neighbour))
    both, _ = settle(make.scene(*add_props((high, neighbour))))
    assert moved(alone.placements[0], both.placements[1]) < 1e-3
    low = make.placement(make.box(tmp_path, (0.05, 0.05, 0.03)), "low", number=2)
    neighbour = make.placement(make.box(tmp_path, (0.05, 0.05, HEIGHT)), "neighbour", (0.06, 0), number=3)
    upper = replace(high, asset_id="box")
    assert object_under(upper, (neighbour, low)) is low and object_under(upper, (neighbour,)) is None
    assert extend_support(low, upper).top == pytest.approx(HEIGHT) and add_props((upper, low))[0].prop == 0


def test_only_measured_objects_above_the_table_get_a_prop(high):
    assert add_props((high,))[0].prop > 0
    on_table = Pose(np.array([0, 0, 0.04]), np.array([1.0, 0, 0, 0]))
    for changes in ({"misfit": 0.0}, {"fixed": True}, {"world_from_object": on_table}):  # misfit 0: placed by a person
        assert add_props((replace(high, **changes),))[0].prop == 0, changes


def test_a_loaded_support_is_as_heavy_as_its_size_allows(high, tmp_path):
    low = make.placement(make.box(tmp_path, (0.05, 0.05, HEIGHT)), "low", number=2)
    low = replace(low, mass=0.005, mass_range=(0.002, 0.2))
    for load, at_least in ((3.0, 0.15), (100.0, 0.2)):
        support = extend_support(low, replace(high, asset_id="box", mass=load))
        growth = support.size.prod() / low.size.prod()
        assert support.mass == pytest.approx(at_least * growth, rel=1e-6) or load < 50
        assert at_least <= support.mass <= support.mass_range[1]
        assert support.mass_range[1] / low.mass_range[1] == pytest.approx(growth)


RED, BLUE = (200, 40, 40), (40, 70, 190)


def photograph_stack(folder, upper, lower):
    table = make.scene(
        make.placement(make.box(folder, (0.12, 0.11, 0.06)), "lower", number=1, rgb=lower, yaw=0.4),
        make.placement(make.box(folder, (0.05, 0.05, 0.07)), "upper", number=2, rgb=upper, bottom=0.06, yaw=0.9),
    )
    frame, support, segments = make.photograph(table)
    return frame, support, segments, Segment(1, segments[0].mask | segments[1].mask)


def test_one_object_on_another_in_one_mask_is_flagged_unless_they_have_one_colour(tmp_path):
    frame, support, alone, both = photograph_stack(tmp_path, RED, BLUE)
    assert [stacking_height(frame, support, segment.mask) for segment in alone] == [None, None]
    assert stacking_height(frame, support, both.mask) == pytest.approx(0.06, abs=0.004)
    warnings = " ".join(describe(frame, support, both).warnings)
    assert "It may be two objects, one on the other from 6 cm up: split its mask?" in warnings
    frame, support, _, both = photograph_stack(tmp_path, RED, RED)
    assert stacking_height(frame, support, both.mask) is None
