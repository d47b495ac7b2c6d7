"""A scene that is photographed and read back is the same scene."""

from dataclasses import replace

import numpy as np
import pytest
import scene_making as make
from scipy.spatial.transform import Rotation

from pipeline.assets import Library
from pipeline.description import Attributes, Description
from pipeline.geometry import Pose
from pipeline.matching import Candidate, Match
from pipeline.scene.given import Given
from pipeline.scene.placing import lay, place
from pipeline.scene.settle import settle

UPRIGHT, LYING = np.array([1.0, 0, 0, 0]), np.array([np.sqrt(0.5), np.sqrt(0.5), 0, 0])


@pytest.fixture(scope="module")
def library():
    return Library.open()


def own(library, id, number, at, yaw=0.0, bottom=0.0, side=UPRIGHT):
    """One of our own assets on the table."""
    asset = library[id]
    pose = Pose(np.zeros(3), Rotation.from_euler("z", yaw).as_quat(scalar_first=True)) @ Pose(np.zeros(3), side)
    height = float(np.abs(pose.rotation[2]) @ asset.size)
    thing = make.thing(asset.mesh, id, at, size=asset.size, number=number, asset_id=id, collision=asset.collision)
    return replace(thing, world_from_object=Pose(np.array([*at, bottom + height / 2]), pose.quat_wxyz))


def described(p, name=None):
    """What a describer that measures well would say."""
    size, yaw = p.size, 2 * np.arctan2(p.world_from_object.quat_wxyz[3], p.world_from_object.quat_wxyz[0])
    measured = Attributes("red", (200, 30, 30), "box", size, float(yaw), p.world_from_object.pos, 0.001)
    return Description(p.segment_id, True, name or p.name, "", measured)


def read_back(scene, library, folder, known=True, given=None):
    frame, support, segments = make.photograph(scene)
    matches = [Match(p.segment_id, p.asset_id if known else None, 1.0, "", ()) for p in scene.placements]
    return place(frame, support, segments, [described(p) for p in scene.placements], matches, library, folder, given)


def error(true, found) -> float:
    return float(np.linalg.norm(true.world_from_object.pos - found.world_from_object.pos))


@pytest.fixture(scope="module")
def truth(library):
    scene, _ = settle(make.scene(
        own(library, "cracker_box", 1, (-0.2, 0.15), 0.4), own(library, "red_mug", 2, (0.05, 0.1), 2.0),
        own(library, "blue_block", 3, (-0.1, -0.1), 0.5), own(library, "red_cube", 4, (-0.1, -0.1), 0.9, bottom=0.04),
        own(library, "mustard_bottle", 5, (0.2, -0.05), 1.0),
        own(library, "crisp_tube", 6, (0.1, -0.2), 0.3, side=LYING),
    ))  # fmt: skip
    return scene


@pytest.fixture(scope="module")
def few(truth):
    """Two of them: enough where it is not the fit that matters."""
    return replace(truth, placements=tuple(p for p in truth.placements if p.name in ("red_mug", "blue_block")))


def test_known_things_are_found_where_they_stand_upright_lying_or_stacked(truth, library, tmp_path):
    scene, told = settle(read_back(truth, library, tmp_path))
    for p, q in zip(truth.placements, scene.placements, strict=True):
        up = p.world_from_object.rotation[:, 2], q.world_from_object.rotation[:, 2]
        assert error(p, q) < 0.003, p.name
        assert abs(up[0] @ up[1]) > 0.999, p.name
        assert q.name == p.name
        assert q.asset_id == p.asset_id
    assert told == ()


def test_unknown_things_are_made_from_the_view_and_stand_within_a_centimetre(truth, library, tmp_path):
    upright = make.scene(*(p for p in truth.placements if p.name in ("cracker_box", "blue_block", "red_cube")))
    scene, _ = settle(read_back(upright, library, tmp_path, known=False))
    for p, q in zip(upright.placements, scene.placements, strict=True):
        assert q.asset_id is None
        assert q.mesh.is_relative_to(tmp_path)
        assert error(p, q) < 0.01, p.name


def test_a_persons_pose_wins(few, library, tmp_path):
    there = Pose(np.array([0.3, 0.3, 0.1]), np.array([0.0, 0, 0, 1]))
    scene = read_back(few, library, tmp_path, given={2: Given(there)})
    assert np.array_equal(scene.placements[0].world_from_object.matrix, there.matrix)


def test_what_is_no_object_is_left_out(few, library, tmp_path):
    frame, support, segments = make.photograph(few)
    said = [replace(described(p), is_object=p.name != "red_mug") for p in few.placements]
    scene = place(frame, support, segments, said, [], library, tmp_path)
    assert {p.name for p in scene.placements} == {p.name for p in few.placements} - {"red_mug"}


def test_a_segment_without_depth_stands_where_it_was_described(few, library, tmp_path):
    frame, support, segments = make.photograph(few)
    depth = np.where(segments[0].mask, 0, frame.depth)
    said = [described(p) for p in few.placements]
    matches = [Match(p.segment_id, p.asset_id, 1.0, "", ()) for p in few.placements]
    scene = place(replace(frame, depth=depth), support, segments, said, matches, library, tmp_path)
    assert error(few.placements[0], scene.placements[0]) < 1e-4


def test_an_empty_table_is_an_empty_scene(library, tmp_path):
    frame, support, _ = make.photograph(make.scene())
    scene, told = settle(place(frame, support, (), (), (), library, tmp_path))
    assert scene.placements == ()
    assert told == ()


def matched_to(scene, library, folder, asset_id, scale, source="measured", score=0.6, noise=0.0):
    """The first thing of a scene laid as a match says, its depth off by `noise` metres."""
    frame, support, segments = make.photograph(scene)
    off = np.random.default_rng(0).normal(0, noise, frame.depth.shape).astype(np.float32)
    frame = replace(frame, depth=np.where(frame.depth > 0, frame.depth + off, 0).astype(np.float32))
    candidates = (Candidate(asset_id, score, {}, "", scale),)
    match = Match(scene.placements[0].segment_id, asset_id, scale, "", candidates, source)
    said = [described(p) for p in scene.placements]
    return place(frame, support, segments, said, [match], library, folder).placements[0]


def test_a_thing_stands_in_its_own_size_though_the_match_measured_another(library, tmp_path):
    thing = own(library, "raisin_box", 1, (0.05, 0.02), 0.7)
    found = matched_to(make.scene(thing), library, tmp_path, "raisin_box", 1.12)
    assert found.scale == 1
    assert error(thing, found) < 1e-3


def test_a_thing_that_is_larger_than_its_asset_is_scaled(library, tmp_path):
    asset = library["red_block"]
    thing = make.thing(asset.mesh, size=1.2 * asset.size, yaw=0.6, at=(0.05, 0.02))
    found = matched_to(make.scene(thing), library, tmp_path, "red_block", 1.15)
    assert found.asset_id == "red_block"
    assert found.scale == pytest.approx(1.2, abs=0.03)


def test_an_asset_gives_way_where_a_plain_shape_fits_far_better_unless_a_person_chose_it(library, tmp_path):
    table = make.scene(make.thing(make.box(tmp_path, (0.1, 0.09, 0.04)), yaw=0.6))
    machine = matched_to(table, library, tmp_path / "machine", "red_block", 1.0)
    person = matched_to(table, library, tmp_path / "person", "red_block", 1.0, "human")
    assert machine.asset_id is None
    assert np.abs(machine.size - [0.1, 0.09, 0.04]).max() < 0.003
    assert person.asset_id == "red_block"


@pytest.mark.parametrize("score, noise, kept", [(0.97, 0.006, True), (0.6, 0.006, False), (0.97, 0.0, False)])
def test_poor_depth_does_not_speak_against_looks_that_are_nearly_certain(library, tmp_path, score, noise, kept):
    table = make.scene(make.thing(make.box(tmp_path, (0.18, 0.16, 0.06)), yaw=0.6))
    found = matched_to(table, library, tmp_path / "found", "red_block", 1.0, score=score, noise=noise)
    assert (found.asset_id == "red_block") is kept


def test_the_half_hidden_holder_reaches_under_what_it_holds(library, tmp_path):
    table = make.scene(
        own(library, "blue_block", 1, (0.0, 0.0), 0.1), own(library, "red_cube", 2, (0.0, 0.01), 0.4, bottom=0.04)
    )
    frame, support, segments = make.photograph(table)
    matches = [Match(2, "red_cube", 1.0, "", ())]
    said = [described(p) for p in table.placements]
    near = replace(said[0].attributes, size=said[0].attributes.size * [1, 0.4, 1],
                   centre=said[0].attributes.centre - [0, 0.012, 0])  # fmt: skip
    placed = place(frame, support, segments, [replace(said[0], attributes=near), said[1]], matches, library, tmp_path)
    _, told = settle(placed)
    assert placed.placements[0].size[1] > 1.3 * near.size[1]
    assert told == ()


def test_any_asset_can_be_laid_over_one_segment_by_itself(few, library, tmp_path):
    frame, support, segments = make.photograph(few)
    mug = few.placements[0]
    right = lay(frame, support, segments[0], described(mug), library["red_mug"], cache=tmp_path)
    wrong = lay(frame, support, segments[0], described(mug), library["cracker_box"])
    again = lay(frame, support, segments[0], described(mug), library["red_mug"], cache=tmp_path)
    assert np.linalg.norm(right.pose.pos - mug.world_from_object.pos) < 0.003
    assert right.scale == 1
    assert right.cost < wrong.cost / 2
    assert np.array_equal(again.pose.matrix, right.pose.matrix)


def test_a_person_may_have_a_thing_made_from_the_view_in_a_way_whatever_it_matched(few, library, tmp_path):
    frame, support, segments = make.photograph(few)
    said = [described(p) for p in few.placements]
    matches = [Match(p.segment_id, p.asset_id, 1.0, "", ()) for p in few.placements]
    wanted = {few.placements[0].segment_id: Given(way="cylinder")}
    scene = place(frame, support, segments, said, matches, library, tmp_path, wanted)
    assert [p.asset_id for p in scene.placements] == [None, few.placements[1].asset_id]
    assert scene.placements[0].provenance.startswith("made from the view as a cylinder")
