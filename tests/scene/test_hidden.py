"""What is hidden: an object behind another keeps its asset, a guessed side ends at a neighbour, a held thing hangs."""

from dataclasses import replace

import drawn_scene as make
import mujoco
import numpy as np
import pytest

from pipeline.assets import Library
from pipeline.assets.appearance.encoder import load_encoder
from pipeline.assets.appearance.ray_views import render_posed
from pipeline.description import describe
from pipeline.frame import Observation
from pipeline.geometry import Pose
from pipeline.matching import IndexedLibrary, Match, Query, match
from pipeline.scene.bin_walls import find_walls, on_walls_share
from pipeline.scene.hidden_sides import fit_together
from pipeline.scene.match_hidden import match_hidden
from pipeline.scene.mjcf import builder
from pipeline.scene.observed_object import object_points, observe
from pipeline.scene.place_objects import SceneInputs, place_objects
from pipeline.scene.scene_files import read_scene, write_scene
from pipeline.scene.settle import settle

KNOWN = ("red_mug", "blue_mug", "soup_can", "cracker_box", "red_block", "apple")


@pytest.fixture(scope="module")
def indexed(library):
    return IndexedLibrary.build(Library(tuple(library[id] for id in KNOWN)), load_encoder("embedded"))


def photographed_behind_a_box(asset, folder, painted=True):
    """Return an asset's size and colours behind a box that hides its lower half, as observed."""
    behind = make.placement(asset.mesh, "behind", (0.0, 0.1), size=asset.size, yaw=0.4, rgb=(150, 40, 40))
    front = make.placement(make.box(folder, (0.12, 0.04, 0.07)), "front", (0.01, 0.0), number=2)
    frame, support, (segment, other) = make.photograph(make.scene(behind, front))
    if painted:
        v, u = np.mgrid[: frame.depth.shape[0], : frame.depth.shape[1]]
        rays = frame.intrinsics.ray_directions(u.astype(float), v.astype(float))
        pose = np.linalg.inv(support.world_from_camera) @ behind.world_from_object.matrix
        frame.rgb[segment.mask] = render_posed(asset, asset.size, pose, rays)[1][segment.mask]
    observation = Observation(frame, support)
    return observation, segment, describe(frame, support, segment), other


@pytest.mark.parametrize("name", ["red_mug", "soup_can", "cracker_box"])
def test_an_object_of_which_half_is_hidden_gets_the_asset_that_explains_what_shows(indexed, tmp_path, name):
    observation, segment, described, _ = photographed_behind_a_box(indexed.library[name], tmp_path)
    found = replace(match(Query(observation, segment, described), indexed), asset_id=None)
    again = match_hidden(observe(observation, segment, described, found), indexed)
    assert again.asset_id == name and again.scale == 1 and "partly hidden" in again.reason
    assert {one.asset_id for one in again.candidates} == {one.asset_id for one in found.candidates}


def test_a_hidden_thing_that_no_asset_explains_gets_none_and_a_chosen_asset_stays(indexed, library, tmp_path):
    wider = replace(library["cracker_box"], size=library["cracker_box"].size * [0.6, 1.5, 1.0])
    observation, segment, described, _ = photographed_behind_a_box(wider, tmp_path, painted=False)
    found = match(Query(observation, segment, described), indexed)
    observed = observe(observation, segment, described, replace(found, asset_id=None))
    assert match_hidden(observed, indexed) is observed.match
    chosen = replace(found, asset_id="apple", source="human")
    assert match_hidden(observe(observation, segment, described, chosen), indexed) is chosen


def test_a_guessed_side_ends_at_its_neighbour_and_no_measured_point_is_cut_off(tmp_path):
    """Of two boxes in a row the front one was guessed so deep that it reaches into the one behind it."""
    front = make.placement(make.box(tmp_path, (0.1, 0.06, 0.08)), "front", (0.0, -0.06))
    behind = make.placement(make.box(tmp_path, (0.1, 0.05, 0.1)), "behind", (0.0, 0.03), number=2)
    frame, support, segments = make.photograph(make.scene(front, behind))
    points = {s.id: object_points(Observation(frame, support), s) for s in segments}
    deep = replace(front, size=np.array([0.1, 0.12, 0.08]), world_from_object=Pose(
        np.add(front.world_from_object.pos, [0, 0.03, 0]), front.world_from_object.quat_wxyz))  # fmt: skip
    known = replace(behind, asset_id="carton")
    scene = fit_together(make.scene(deep, known), points)
    shortened, kept = scene.placements
    assert (
        kept is known
        and abs(shortened.size[1] - 0.095) < 0.003
        and np.allclose(shortened.size[[0, 2]], deep.size[[0, 2]])
    )
    local = (points[1] - shortened.world_from_object.pos) @ shortened.world_from_object.rotation
    assert (np.abs(local) <= shortened.size / 2 + 0.003).all()
    assert shortened.mass / deep.mass == pytest.approx(shortened.size[1] / deep.size[1])
    moved = [np.linalg.norm(a.world_from_object.pos - b.world_from_object.pos)
             for a, b in zip(scene.placements, settle(scene)[0].placements, strict=True)]  # fmt: skip
    before = make.scene(deep, known)
    pushed = [np.linalg.norm(a.world_from_object.pos - b.world_from_object.pos)
              for a, b in zip(before.placements, settle(before)[0].placements, strict=True)]  # fmt: skip
    assert max(moved) < 0.003 < 0.01 < max(pushed)
    apart = make.scene(front, behind)
    assert fit_together(apart, points).placements == apart.placements


@pytest.mark.parametrize("height", [0.07, 0.15, 0.22])
@pytest.mark.parametrize("eye", [(0.1, -0.6, 0.45), (0.0, -0.5, 0.7)])
def test_a_thing_held_in_the_air_is_no_object_and_where_a_person_keeps_it_it_hangs(tmp_path, height, eye):
    held = make.placement(make.box(tmp_path, (0.06, 0.05, 0.06)), "held", (0.0, 0.05), bottom=height)
    scene = replace(make.scene(held), world_from_camera=make.camera_pose(eye))
    frame, support, (segment,) = make.photograph(scene)
    described = describe(frame, support, segment)
    assert not described.is_object and "in the air with nothing below it" in described.warnings[0]
    assert abs(described.attributes.centre[2] - height - 0.03) < 0.012  # no tower down to the table
    kept = replace(described, is_object=True, source="human")
    inputs = SceneInputs(Observation(frame, support), (segment,), (kept,), (Match(1, None, 1.0, "", ()),), Library(()),
                         tmp_path)  # fmt: skip
    settled, _ = settle(place_objects(inputs))
    (hanging,) = settled.placements
    assert hanging.fixed and not hanging.prop and abs(hanging.bottom - height) < 0.012 and hanging.size[2] < 0.08


@pytest.mark.parametrize("width", [0.02, 0.05])
def test_what_lies_on_a_narrower_thing_is_not_in_the_air(tmp_path, width):
    below = make.placement(make.box(tmp_path, (width, width, 0.1)), "below", number=2)
    plate = make.placement(make.box(tmp_path, (0.16, 0.16, 0.02)), "plate", bottom=0.1)
    frame, support, segments = make.photograph(make.scene(plate, below))
    assert describe(frame, support, segments[0]).is_object


SIDES = {
    "far": ((0.36, 0.02, 0.08), (0.0, 0.16)),
    "left": ((0.02, 0.3, 0.08), (-0.17, 0.0)),
    "right": ((0.02, 0.3, 0.08), (0.17, 0.0)),
    "near": ((0.36, 0.02, 0.08), (0.0, -0.16)),
}


@pytest.mark.parametrize("sides", [("far", "left", "right"), tuple(SIDES), ("far", "left"), ("far",), ()])
def test_three_walls_around_the_floor_are_a_bin_that_holds_what_rolls_and_fewer_are_none(tmp_path, sides):
    walls = [
        make.placement(make.box(tmp_path, size), name, at, number=9 + k)
        for k, (name, (size, at)) in enumerate(SIDES.items())
        if name in sides
    ]
    thing = make.placement(make.box(tmp_path, (0.05, 0.04, 0.06)), "thing", (0.03, 0.02))
    drawn = make.scene(thing, *walls)
    frame, support, segments = make.photograph(replace(drawn, world_from_camera=make.camera_pose((0.05, -0.3, 0.7))))
    floor = np.array([[-0.16, -0.15], [0.16, -0.15], [0.16, 0.15], [-0.16, 0.15]])
    support = replace(support, polygon=floor)
    found = find_walls(Observation(frame, support), segments[:1])
    assert len(found) == (len(sides) if len(sides) >= 3 else 0)
    if not found:
        return
    assert all(abs(wall.height - 0.08) < 0.01 for wall in found)
    ball = make.placement(make.ball(tmp_path), "ball", (0.0, 0.0), number=2)
    scene = replace(make.scene(ball), table=floor, walls=found)
    model = builder.compile_spec(builder.build_spec(scene))
    data = mujoco.MjData(model)
    data.qvel[1] = 0.6  # towards the far wall
    mujoco.mj_step(model, data, 1500)
    assert np.abs(data.body("ball").xpos[:2]).max() < 0.2 and data.body("ball").xpos[2] > 0
    assert all(model.geom(wall.name).group[0] == builder.WALL_GROUP for wall in found)
    write_scene(scene, tmp_path)
    again = read_scene(tmp_path).walls
    assert [(w.name, w.height, w.lean) for w in again] == [(w.name, w.height, w.lean) for w in found]


def test_an_arm_over_the_rim_hides_no_bin_a_mask_on_a_wall_is_a_part_of_it_and_what_reaches_into_a_wall_stays(tmp_path):
    walls = [make.placement(make.box(tmp_path, size), name, at, number=9) for name, (size, at) in SIDES.items()]
    thing = make.placement(make.box(tmp_path, (0.05, 0.04, 0.06)), "thing", (0.03, 0.02))
    arm = make.placement(make.box(tmp_path, (0.06, 0.3, 0.06)), "arm", (-0.05, 0.25), bottom=0.12, number=2)
    drawn = replace(make.scene(thing, arm, *walls), world_from_camera=make.camera_pose((0.05, -0.3, 0.7)))
    frame, support, (of_thing, of_arm, _, of_left, *_) = make.photograph(drawn)
    support = replace(support, polygon=np.array([[-0.16, -0.15], [0.16, -0.15], [0.16, 0.15], [-0.16, 0.15]]))
    observation = Observation(frame, support)
    found = find_walls(observation, (of_thing, replace(of_arm, kind="robot or hand")))
    assert len(found) == 4
    assert (
        on_walls_share(observation, of_left.mask, found) > 0.6 > 0.1 > on_walls_share(observation, of_thing.mask, found)
    )
    assert len(find_walls(observation, (of_thing, replace(of_left, kind="wall or furniture")))) == 4
    wide = make.placement(make.box(tmp_path, (0.1, 0.04, 0.06)), "wide", (0.13, 0.0), asset_id="known")
    free = make.placement(make.box(tmp_path, (0.05, 0.04, 0.06)), "free", number=2)
    scene = fit_together(replace(make.scene(wide, free), walls=found), {1: np.zeros((0, 3)), 2: np.zeros((0, 3))})
    assert sorted(id for wall in scene.walls for id in wall.not_touched) == [1]
    settled, _ = settle(scene)
    assert max(make.position_errors(scene, settled)) < 0.002
    spec = builder.build_spec(scene)
    spec.delete(spec.body("wide"))
    assert builder.compile_spec(spec).nexclude == 0
