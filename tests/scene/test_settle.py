"""Settling: a scene comes to rest, what changed is reported, what moved is placed again; unseen supports are kept."""

from dataclasses import replace

import drawn_scene as make
import mujoco
import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from pipeline.description import describe
from pipeline.description.measure import stacking_height
from pipeline.geometry import Pose
from pipeline.scene import settle as settling
from pipeline.scene.mjcf import builder
from pipeline.scene.overrides import Override
from pipeline.scene.place_objects import place_objects
from pipeline.scene.placement import Shelf
from pipeline.scene.settle import settle
from pipeline.scene.settle_retry import settle_with_retries
from pipeline.scene.support_relations import add_props, extend_support, object_under
from pipeline.segmentation import Segment


def begun(scene) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = builder.compile_spec(builder.build_spec(scene))
    mujoco.mj_forward(model, data := mujoco.MjData(model))
    return model, data


def cases(folder):
    box, ball = make.box(folder), make.ball(folder)
    cone = make.shape(folder, "cone", trimesh.creation.cone(0.03, 0.1).apply_transform(np.diag([1.0, -1, -1, 1])))
    return {
        "a box in the air": [make.placement(box, bottom=0.03)],
        "a ball": [make.placement(ball)],
        "a cone on its tip": [make.placement(cone)],
        "two boxes in one another": [make.placement(box, "a"), make.placement(box, "b", (0.04, 0.01), number=2)],
        "a stack": [make.placement(box, "a"), make.placement(box, "b", (0.005, 0), bottom=0.078, number=2)],
        "a crowd": [make.placement(box, f"b{i}", (0.05 * (i % 3), 0.035 * (i // 3)), number=i) for i in range(9)],
    }


def test_a_settled_scene_does_not_creep_a_stack_stays_and_what_topples_or_floats_is_reported(tmp_path):
    for case, placements in cases(tmp_path).items():
        model, data = begun(settle(make.scene(*placements))[0])
        before = data.xpos.copy()
        mujoco.mj_step(model, data, nstep=int(5 / model.opt.timestep))
        assert np.linalg.norm(data.xpos - before, axis=1).max() < 5e-4, case
    settled, _ = settle(make.scene(*cases(tmp_path)["a stack"]))
    low, high = (p.world_from_object.pos[2] for p in settled.placements)
    assert high - low == pytest.approx(0.08, abs=5e-4)
    (cone,) = cases(tmp_path)["a cone on its tip"]
    settled, reports = settle(make.scene(cone))
    assert settled.placements[0].foot and settled.placements[0].world_from_object.rotation[2, 2] > 0.99
    assert "flat foot" in reports[0].message
    settled, reports = settle(make.scene(make.placement(make.box(tmp_path), "lost", bottom=0.03)))
    assert settled.placements[0].world_from_object.pos[2] == pytest.approx(0.04, abs=1e-3)
    lost = "lost sank 3.0 cm: no support was found under it; add a mask for its support, or split a mask"
    assert reports[0].message == lost


def test_overlapping_objects_are_separated_gently_and_neighbours_stay(tmp_path):
    a, b = cases(tmp_path)["two boxes in one another"]
    settled, reports = settle(make.scene(a, b))
    distances = dict(zip("ab", make.position_errors(make.scene(a, b), settled), strict=True))
    assert max(distances.values()) < 0.03
    assert {report.name for report in reports} == {name for name, distance in distances.items() if distance > 0.01}
    settled, _ = settle(make.scene(replace(a, misfit=0.001), replace(b, misfit=0.006)))
    pairs = zip((a, b), settled.placements, strict=True)
    moved = [np.linalg.norm((q.world_from_object.pos - p.world_from_object.pos)[:2]) for p, q in pairs]
    assert moved[0] < 0.15 * moved[1]
    low, wide = make.box(tmp_path, (0.08, 0.2, 0.05)), make.box(tmp_path, (0.2, 0.2, 0.14))
    measured_too_large = make.placement(low, "low", misfit=0.02)
    good = make.placement(wide, "good", (0.115, 0.03), number=2, misfit=0.001)
    settled, _ = settle(make.scene(measured_too_large, good))
    assert np.linalg.norm(settled.placements[1].world_from_object.pos - good.world_from_object.pos) < 0.005


def test_objects_apart_settle_alone_as_together_and_moving_one_leaves_the_others_to_the_bit(tmp_path, monkeypatch):
    box, worlds, build = make.box(tmp_path), [], settling.SettlingWorld
    monkeypatch.setattr(settling, "SettlingWorld", lambda scene, whole: worlds.append(scene) or build(scene, whole))
    pair = [make.placement(box, f"low{i}", (0.3 * i, 0.0), bottom=0.01, number=i) for i in (0, 1)]
    pair += [make.placement(box, f"high{i}", (0.3 * i, 0.01), bottom=0.095, number=2 + i) for i in (0, 1)]
    apart, _ = settle(make.scene(*pair))
    together = build(make.scene(*pair))
    together.separate_overlaps()
    together.simulate_to_rest()
    assert max(make.position_errors(apart, together.current_scene())) < 1e-4
    assert sorted(len(one.placements) for one in worlds) == [2, 2]
    moved = replace(pair[0], world_from_object=replace(pair[0].world_from_object, pos=np.array([0.0, 0.01, 0.05])))
    again, _ = settle(make.scene(moved, *pair[1:]))
    assert len(worlds) == 3 and not np.any(np.array(make.position_errors(apart, again))[[1, 3]])


def test_what_settling_pushes_towards_an_object_that_stood_apart_pushes_that_one_too(tmp_path):
    box = make.box(tmp_path)  # 6 cm wide
    stays = make.placement(box, "stays", fixed=True)
    pushed = make.placement(box, "pushed", (0.035, 0.0), number=2)
    beside = make.placement(box, "beside", (0.035 + 0.06 + 0.016, 0.0), number=3)
    settled, _ = settle(make.scene(stays, pushed, beside))
    assert settled.placements[2].world_from_object.pos[0] > beside.world_from_object.pos[0] + 0.005
    _, data = begun(settled)
    assert min((contact.dist for contact in data.contact[: data.ncon]), default=0) > -0.001


def test_a_shelf_is_as_large_for_what_settles_beside_it_as_in_the_twin(tmp_path):
    box = make.box(tmp_path)
    on = make.placement(box, "on", (0.12, 0.0), bottom=0.06, number=2)
    beside = make.placement(box, "beside", (0.13, 0.06), bottom=0.03, number=3)
    outline = np.array([[-0.1, -0.1], [0.1, -0.1], [0.1, 0.1], [-0.1, 0.1]])
    shelf = Shelf("shelf_1", outline, 0.06, (100, 100, 100))
    settled, _ = settle(replace(make.scene(on, beside), shelves=(shelf,)))
    _, data = begun(settled)
    assert min((contact.dist for contact in data.contact[: data.ncon]), default=0) > -0.001


def test_objects_that_leave_the_table_are_held_and_interlocking_ones_move_sideways(tmp_path):
    ramp = make.placement(make.box(tmp_path, (0.3, 0.3, 0.02)), "ramp", (0.3, 0.0), bottom=0.25, fixed=True)
    tilted = Rotation.from_euler("y", 20, degrees=True).as_quat(scalar_first=True)
    ramp = replace(ramp, world_from_object=Pose(ramp.world_from_object.pos, tilted))
    ball = make.placement(make.ball(tmp_path), "ball", (0.25, 0.0), bottom=0.34, number=2)
    neighbour = make.placement(make.box(tmp_path), "neighbour", (-0.3, 0.0), number=3)
    settled, reports = settle(make.scene(ramp, ball, neighbour))
    assert [p.name for p in settled.placements if p.fixed] == ["ramp", "ball"]
    assert settled.placements[1].world_from_object.pos == pytest.approx(ball.world_from_object.pos)
    assert [report.name for report in reports if report.held] == ["ball"]
    assert "move it, or choose another asset" in reports[0].message
    boards = [trimesh.creation.box((0.1, 0.1, 0.01)).apply_translation((0, 0, z)) for z in (0.0, 0.014, 0.028)]
    colliders = tuple(make.shape(tmp_path, f"board{i}", board) for i, board in enumerate(boards))
    rack = make.shape(tmp_path, "rack", trimesh.util.concatenate(boards))
    lower = make.placement(rack, "lower", collision=colliders)
    upper = make.placement(rack, "upper", (0.01, 0.0), bottom=0.007, number=2, collision=colliders)
    settled, _ = settle(make.scene(lower, upper))
    _, data = begun(settled)
    assert max(p.top for p in settled.placements) < 0.05
    assert min((contact.dist for contact in data.contact[: data.ncon]), default=0.0) > -1e-3


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
def test_an_object_placed_wrongly_is_placed_again_beside_one_that_a_person_brought(truth, inputs, by):
    wrong = move_second(place_objects(inputs), by)
    assert max(make.position_errors(truth, settle(wrong)[0])) > 0.01
    block = wrong.placements[0]
    away = Pose(block.world_from_object.pos + np.array([0, 0.3, 0]), block.world_from_object.quat_wxyz)
    brought = replace(block, segment_id=9, name="brought", world_from_object=away)
    settled, reports, _ = settle_with_retries(replace(wrong, placements=(*wrong.placements, brought)), inputs)
    settled = replace(settled, placements=settled.placements[:2])
    assert max(make.position_errors(truth, settled)) < 0.003 and reports == ()


def test_what_a_person_placed_or_nothing_improves_stays_as_it_settled(inputs):
    high = move_second(place_objects(inputs), (0, 0, 0.05))
    _, cube = high.placements
    overrides = {2: Override(cube.world_from_object)}
    settled, reports, _ = settle_with_retries(high, replace(inputs, overrides=overrides))
    assert make.position_errors(settled, settle(high)[0]) == pytest.approx([0, 0], abs=1e-9)
    assert [report.name for report in reports] == ["cube"]
    placed = place_objects(inputs)
    assert make.position_errors(settle_with_retries(placed, inputs)[0], settle(placed)[0]) == [0, 0]


def test_an_asset_that_cannot_rest_where_it_was_observed_is_replaced_by_a_reconstruction(library, tmp_path):
    ball = make.scene(make.placement(make.ball(tmp_path, 0.05), "ball", asset_id="white_bowl"))
    inputs = make.inputs(ball, library, tmp_path / "scene", shape="irregular")
    bowl = library["white_bowl"]
    on_its_rim = Pose(np.array([0, 0, bowl.size[0] / 2]), np.array([np.sqrt(0.5), 0, np.sqrt(0.5), 0]))
    (placed,) = place_objects(inputs).placements
    rolling = replace(placed, world_from_object=on_its_rim, size=bowl.size, mesh=bowl.mesh, collision=bowl.collision)
    settled, *_ = settle_with_retries(replace(ball, placements=(rolling,)), inputs)
    assert settled.placements[0].asset_id is None and max(make.position_errors(ball, settled)) < 0.01


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
    support = make.placement(make.box(tmp_path, (0.08, 0.08, HEIGHT)), "support", number=2)  # seen, but without a mask
    inputs = make.inputs(make.scene(mug, support), library, tmp_path, shape="irregular")
    size = np.add(mug.size, [0, 0, HEIGHT])  # it was measured down to the table
    described = inputs.descriptions[0]
    attributes = replace(described.attributes, size=size, centre=np.array([0, 0, size[2] / 2]))
    described = [replace(described, attributes=attributes)]
    scene, reports = settle(place_objects(replace(inputs, segments=inputs.segments[:1], descriptions=described)))
    assert moved(mug, scene.placements[0]) < 0.003
    assert scene.placements[0].prop == pytest.approx(HEIGHT, abs=0.003) and reports == ()
    alone = make.placement(make.box(tmp_path, (0.06, 0.06, 0.14)), yaw=0.5)
    frame, support, segments = make.photograph(make.scene(alone))
    rows, rgb = segments[0].mask.nonzero()[0], frame.rgb.copy()
    rgb[: int(rows.mean())][segments[0].mask[: int(rows.mean())]] = RED
    assert stacking_height(replace(frame, rgb=rgb), support, segments[0].mask) is None


def test_what_is_measured_above_the_table_alone_gets_a_prop_and_its_support_is_as_heavy_as_it_may_be(high, tmp_path):
    assert add_props((high,))[0].prop > 0
    on_table = Pose(np.array([0, 0, 0.04]), np.array([1.0, 0, 0, 0]))
    for changes in ({"misfit": 0.0}, {"fixed": True}, {"world_from_object": on_table}):  # misfit 0: placed by a person
        assert add_props((replace(high, **changes),))[0].prop == 0, changes
    neighbour = make.placement(make.box(tmp_path, (0.04, 0.04, 0.04)), "neighbour", (0.03, 0), number=2)
    alone, _ = settle(make.scene(neighbour))
    both, _ = settle(make.scene(*add_props((high, neighbour))))
    assert moved(alone.placements[0], both.placements[1]) < 1e-3
    low = make.placement(make.box(tmp_path, (0.05, 0.05, 0.03)), "low", number=2)
    neighbour = make.placement(make.box(tmp_path, (0.05, 0.05, HEIGHT)), "neighbour", (0.06, 0), number=3)
    upper = replace(high, asset_id="box")
    assert object_under(upper, (neighbour, low)) is low and object_under(upper, (neighbour,)) is None
    assert extend_support(low, upper).top == pytest.approx(HEIGHT) and add_props((upper, low))[0].prop == 0
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
