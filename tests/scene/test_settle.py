"""What was settled stays where it is."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
import scene_making as make
import trimesh
from scipy.spatial.transform import Rotation

from pipeline.geometry import Pose
from pipeline.scene import mjcf
from pipeline.scene.settle import settle


def drift(scene, seconds=5.0) -> float:
    """Metres that the most restless body moves."""
    model = mjcf.compile_spec(mjcf.build(scene))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    before = data.xpos.copy()
    for _ in range(int(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
    return float(np.linalg.norm(data.xpos - before, axis=1).max())


def deepest(scene) -> float:
    """Metres by which the two that overlap most do."""
    model = mjcf.compile_spec(mjcf.build(scene))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return -min((contact.dist for contact in data.contact[: data.ncon]), default=0.0)


def pile(folder):
    box, can, ball = make.box(folder), make.can(folder), make.ball(folder)
    cone = make.shape(folder, "cone", trimesh.creation.cone(0.03, 0.1).apply_transform(np.diag([1.0, -1, -1, 1])))
    return {
        "a box in the air": [make.thing(box, bottom=0.03)],
        "a box in the table": [make.thing(box, bottom=-0.02)],
        "a ball": [make.thing(ball)],
        "a cone on its tip": [make.thing(cone)],
        "two boxes in one another": [make.thing(box, "a"), make.thing(box, "b", (0.04, 0.01), number=2)],
        "a can in a ball": [make.thing(can, "a"), make.thing(ball, "b", (0.03, 0.02), number=2)],
        "a stack": [make.thing(box, "a"), make.thing(box, "b", (0.005, 0), bottom=0.078, number=2)],
        "a crowd": [make.thing(box, f"b{i}", (0.05 * (i % 3), 0.035 * (i // 3)), number=i) for i in range(9)],
    }


@pytest.mark.parametrize("case", [
    "a box in the air", "a box in the table", "a ball", "a cone on its tip", "two boxes in one another",
    "a can in a ball", "a stack", "a crowd",
])  # fmt: skip
def test_nothing_creeps_once_settled(tmp_path, case):
    settled, _ = settle(make.scene(*pile(tmp_path)[case]))
    assert drift(settled) < 5e-4


def test_what_overlaps_is_parted_without_being_flung(tmp_path):
    a, b = pile(tmp_path)["two boxes in one another"]
    settled, told = settle(make.scene(a, b))
    pairs = zip((a, b), settled.placements, strict=True)
    moved = {p.name: np.linalg.norm(q.world_from_object.pos - p.world_from_object.pos) for p, q in pairs}
    assert max(moved.values()) < 0.03
    assert {s.name for s in told} == {name for name, far in moved.items() if far > 0.01}


def test_what_stands_beside_a_thing_is_not_lifted_upon_it(tmp_path):
    low, wide = make.box(tmp_path, (0.08, 0.2, 0.05)), make.box(tmp_path, (0.2, 0.2, 0.14))
    measured_too_large = make.thing(low, "low", misfit=0.02)
    good = make.thing(wide, "good", (0.115, 0.03), number=2, misfit=0.001)
    settled, _ = settle(make.scene(measured_too_large, good))
    assert np.linalg.norm(settled.placements[1].world_from_object.pos - good.world_from_object.pos) < 0.005


def test_what_would_leave_the_table_is_held_where_it_was_seen_and_that_is_said(tmp_path):
    ramp = make.thing(make.box(tmp_path, (0.3, 0.3, 0.02)), "ramp", (0.3, 0.0), bottom=0.25, fixed=True)
    tilted = Rotation.from_euler("y", 20, degrees=True).as_quat(scalar_first=True)
    ramp = replace(ramp, world_from_object=Pose(ramp.world_from_object.pos, tilted))
    ball = make.thing(make.ball(tmp_path), "ball", (0.25, 0.0), bottom=0.34, number=2)
    beside = make.thing(make.box(tmp_path), "beside", (-0.3, 0.0), number=3)
    settled, told = settle(make.scene(ramp, ball, beside))
    assert [p.name for p in settled.placements if p.fixed] == ["ramp", "ball"]
    assert settled.placements[1].world_from_object.pos == pytest.approx(ball.world_from_object.pos)
    assert [s.name for s in told if s.held] == ["ball"]
    assert "move it, or choose another asset" in told[0].note


def test_of_two_that_stand_in_each_other_one_goes_aside(tmp_path):
    """Boards with too little room between them for each other's: each lies upon one of the other's."""
    boards = [trimesh.creation.box((0.1, 0.1, 0.01)).apply_translation((0, 0, z)) for z in (0.0, 0.014, 0.028)]
    pieces = tuple(make.shape(tmp_path, f"board{i}", one) for i, one in enumerate(boards))
    rack = make.shape(tmp_path, "rack", trimesh.util.concatenate(boards))
    below = make.thing(rack, "below", collision=pieces)
    above = make.thing(rack, "above", (0.01, 0.0), bottom=0.007, number=2, collision=pieces)
    settled, _ = settle(make.scene(below, above))
    assert max(p.top for p in settled.placements) < 0.05
    assert deepest(settled) < 1e-3


def test_what_rests_already_stays_to_a_tenth_of_a_millimetre(tmp_path):
    things = (make.thing(make.box(tmp_path)), make.thing(make.can(tmp_path), "can", (0.2, 0.1), number=2))
    settled, told = settle(make.scene(*things))
    assert told == ()
    for p, q in zip(things, settled.placements, strict=True):
        assert np.linalg.norm(p.world_from_object.pos - q.world_from_object.pos) < 1e-4


def test_what_would_topple_is_given_a_foot_and_that_is_said(tmp_path):
    (cone,) = pile(tmp_path)["a cone on its tip"]
    settled, told = settle(make.scene(cone))
    assert settled.placements[0].foot
    assert settled.placements[0].world_from_object.rotation[2, 2] > 0.99
    assert "flat foot" in told[0].note


def test_a_stack_is_still_a_stack(tmp_path):
    settled, _ = settle(make.scene(*pile(tmp_path)["a stack"]))
    low, high = (p.world_from_object.pos[2] for p in settled.placements)
    assert high - low == pytest.approx(0.08, abs=5e-4)


def test_what_a_person_fixed_does_not_move(tmp_path):
    fixed = make.thing(make.box(tmp_path), "fixed", bottom=0.2, fixed=True)
    settled, _ = settle(make.scene(fixed, make.thing(make.box(tmp_path), "free", (0.03, 0), bottom=0.2, number=2)))
    assert np.array_equal(settled.placements[0].world_from_object.pos, fixed.world_from_object.pos)


def test_of_two_that_overlap_the_surer_stays(tmp_path):
    a, b = pile(tmp_path)["two boxes in one another"]
    settled, _ = settle(make.scene(replace(a, misfit=0.001), replace(b, misfit=0.006)))
    moved = [
        np.linalg.norm((q.world_from_object.pos - p.world_from_object.pos)[:2])
        for p, q in zip((a, b), settled.placements, strict=True)
    ]
    assert moved[0] < 0.15 * moved[1]


def test_what_was_seen_up_in_the_air_sinks_and_is_asked_about(tmp_path):
    lost = make.thing(make.box(tmp_path), "lost", bottom=0.03)
    settled, told = settle(make.scene(lost))
    assert settled.placements[0].world_from_object.pos[2] == pytest.approx(0.04, abs=1e-3)
    assert told[0].note == ("lost sank 3.0 cm: nothing was found under it; add a mask for what holds it, or split one")
