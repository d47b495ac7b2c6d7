"""Drawers and doors: opened, filled and shut by physics alone, and programs about them that mean the task."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import MagicMock

import drawn_scene as make
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.assets import Library
from pipeline.planner import PlannerModel
from pipeline.router import judge, write_program
from pipeline.router.intent_check import find_contradiction
from pipeline.scene.scene_files import write_scene
from pipeline.scene.settle import settle
from pipeline.simulation import kit
from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.physics import Physics
from pipeline.simulation.recipe import to_json
from pipeline.simulation.robots import robot_kind
from pipeline.simulation.robots.arm.mount import MAX_ASIDE_M, place_base
from pipeline.simulation.robots.arm.tools.part_grasps import push_grasps
from pipeline.simulation.robots.arm.universal_robots import two_finger_arm
from pipeline.tasks import understand_instruction

DRAWERS = ("top_drawer", "middle_drawer", "bottom_drawer")


@pytest.fixture
def sim(furniture):
    return kit.Simulation(kit.Scene.load(furniture), 0)


@pytest.mark.parametrize("name, part", [*(("cabinet", drawer) for drawer in DRAWERS), ("oven", "door")])
def test_the_oracle_opens_and_closes_it_and_its_object_stays_put(furniture, name, part):
    sim = kit.Simulation(kit.Scene.load(furniture), 0)
    sim.goal(kit.opened(name, part))
    run = sim.rollout()
    assert run.solved, run.why
    assert run.start(name).part(part).open < 0.05 and run.end(name).part(part).open > 0.6
    assert run.moved(name) < 0.01 and [grasp for _, grasp in run.grasps] == [name]
    assert all(one.open < 0.05 for one in run.end(name).parts if one.name != part)
    assert np.linalg.norm(np.diff(run.qpos, axis=0), axis=1).max() < 0.2, "nothing jumps between two instants"
    back = kit.Simulation(kit.Scene.load(furniture), 0)
    back.set_open(name, part, 0.8)
    back.goal(kit.closed(name, part))
    assert back.state()[name].part(part).open == pytest.approx(0.8, abs=0.01)
    run = back.rollout()
    assert run.solved, run.why
    assert run.end(name).part(part).open < 0.1


LIBERO = Path(__file__).resolve().parents[2] / "build" / "soak" / "library" / "libero"
"""LIBERO's household objects as a pack of assets, which `scripts/setup --soak` installs."""
ARTICULATED = (
    "faucet", "flat_stove", "microwave", "short_cabinet", "short_fridge", "slide_cabinet", "white_cabinet", "window",
    "wooden_cabinet", "yellow_cabinet", "yellow_stove",
)  # fmt: skip
"""Its assets with parts that move, but for a light tap that stands loose and is pushed about rather than turned."""


@pytest.mark.soak
@pytest.mark.parametrize("name", ARTICULATED)
def test_everything_of_the_pack_that_moves_is_opened(name, tmp_path):
    (asset,) = Library.open([LIBERO / name], cache=tmp_path)
    placed = make.placement(
        asset.mesh, "thing", size=asset.size, model=asset.model, joints=asset.joints, mass=asset.mass,
        collision=asset.collision, asset_id=asset.id, category=asset.category,
    )  # fmt: skip
    write_scene(settle(make.scene(placed))[0], tmp_path / "project")
    sim = kit.Simulation(kit.Scene.load(tmp_path / "project"), 0)
    sim.goal(*(kit.opened("thing", part.name) for part in sim["thing"].parts))
    run = sim.rollout()
    assert run.solved, run.why


def test_drawers_open_from_below_and_one_below_an_open_one_waits(furniture):
    sim = kit.Simulation(kit.Scene.load(furniture), 0)
    sim.goal(*(kit.opened("cabinet", name) for name in DRAWERS))
    run = sim.rollout()
    assert run.solved and [event.target for event in run.events] == ["bottom drawer", "middle drawer", "top drawer"]
    sim = kit.Simulation(kit.Scene.load(furniture), 0)
    sim.set_open("cabinet", "top_drawer", 0.9)
    sim.goal(kit.inside_part("red_cube", "cabinet", "bottom_drawer"), kit.opened("cabinet", "top_drawer"))
    run = sim.rollout()
    assert run.solved, run.why
    outcome = [(event.verb, event.target) for event in run.events if event.verb in ("open", "shut")]
    assert outcome == [("shut", "top drawer"), ("open", "bottom drawer"), ("open", "top drawer")]


def test_an_object_in_front_of_a_drawer_is_carried_away_first_and_one_for_it_is_not_left_under_it(furniture, sim):
    sim.move("can", sim["cabinet"].position[:2] - [0, 0.19])
    sim.goal(kit.opened("cabinet", "bottom_drawer"))
    run = sim.rollout()
    assert run.solved, run.why
    assert [event.verb for event in run.events] == ["pick", "move aside", "open"]
    sim = kit.Simulation(kit.Scene.load(furniture), 0)
    sim.resize("red_cube", 0.8)
    sim.move("red_cube", sim["cabinet"].position[:2] - [0.02, 0.2])
    sim.goal(kit.inside_part("red_cube", "cabinet", "top_drawer"))
    run = sim.rollout()
    assert run.solved and run.moved("cabinet") < 0.01, run.why
    assert [event.verb for event in run.events] == ["pick", "move aside", "open", "pick", "place"]


def test_a_copy_that_is_turned_and_made_smaller_opens_too_and_its_pose_is_predicted(furniture):
    sim = kit.Simulation(kit.Scene.load(furniture), 0)
    sim.keep("cabinet", "red_cube")
    sim.copy("cabinet", "second", (0.2, -0.1))
    sim.resize("second", 0.8)
    sim.move("second", (0.2, -0.05), yaw=0.5)
    sim.goal(kit.opened("second", "middle_drawer"))
    run = sim.rollout()
    assert run.solved, run.why
    assert run.end("cabinet").part("middle_drawer").open < 0.05
    sim = kit.Simulation(kit.Scene.load(furniture), 0)
    sim.move("oven", (0.2, -0.05), yaw=0.7)
    sim.set_open("oven", "door", 0.5)
    outcome, simulated = sim["oven"].part("door"), sim.state()["oven"].part("door")
    np.testing.assert_allclose(outcome.axis, simulated.axis, atol=1e-6)
    np.testing.assert_allclose(outcome.corners.min(0), simulated.corners.min(0), atol=0.01)
    np.testing.assert_allclose(outcome.corners.max(0), simulated.corners.max(0), atol=0.01)
    assert outcome.open == pytest.approx(simulated.open)


@given(share=st.floats(0, 1))
def test_open_and_shut_are_never_both_met_and_miss_by_the_remaining_travel(share):
    corners = np.array([[0, 0, 0], [0.2, 0, 0.1], [0.2, 0.01, 0]])
    shut = ArticulatedPart("door", "door", "door", "hinge", -2.0, 0.2, 0.0, np.array([0, 0, 1.0]), np.zeros(3), corners)
    part = replace(shut, value=-2.0 * share)
    state = MagicMock(misses={})
    state.__getitem__.return_value.part = lambda name: part
    opened, closed = kit.opened("thing", "door"), kit.closed("thing", "door")
    assert opened.met(state) == (share >= 0.6) and closed.met(state) == (part.open <= 0.1)
    assert not (opened.met(state) and closed.met(state))
    assert opened.miss(state) + closed.miss(state) <= part.travel


@pytest.mark.parametrize("wrong, message", [
    (lambda: kit.opened("cabinet", "top_drawer", least=0.05), "0.3 to 1 is open"),
    (lambda: kit.closed("cabinet", "top_drawer", most=0.9), "0 to 0.2 is shut"),
    (lambda: kit.opened("red_cube", "door"), "red_cube has no part 'door'; it has: none that moves"),
    (lambda: kit.inside_part("red_cube", "cabinet", "cellar"), "top_drawer"),
])  # fmt: skip
def test_a_goal_that_would_hold_almost_anywhere_or_about_a_missing_part_is_refused(sim, wrong, message):
    with pytest.raises(kit.KitError, match=message):
        sim.goal(wrong())


@pytest.mark.parametrize("goal, why", [
    (kit.inside_part("red_cube", "oven", "door"), "holds nothing"),
    (kit.inside_part("oven", "cabinet", "top_drawer"), "wide"),
])  # fmt: skip
def test_an_impossible_opening_is_refused_with_the_reason(sim, goal, why):
    sim.goal(goal)
    run = sim.rollout()
    assert not run.solved and why in run.why


RULES = PlannerModel()
OPEN, FILL = "open the top drawer", "put the red cube in the top drawer and shut it"


@pytest.fixture(scope="module")
def scene(furniture):
    return kit.Scene.load(furniture)


@pytest.mark.parametrize("words, kinds", [
    ("shut the oven", {"nothing", "inverted"}), ("open all drawers", {"nothing", "inverted"}),
    (FILL, {"nothing", "inverted", "another object", "another part", "misplaced", "half done"}),
])  # fmt: skip
def test_the_first_program_is_clean_and_its_checks_catch_every_mutation(furniture, scene, sandbox, words, kinds):
    task = understand_instruction(words, scene, RULES)
    report = judge(write_program(task, scene, RULES), task, scene, furniture, sandbox)
    assert report.clean, [check for check in report.checks if not check.passed]
    assert set(report.evidence["noticed"]) >= kinds and min(report.reward) > 0.99


@pytest.mark.parametrize("words, goals", [
    (OPEN, [kit.opened("cabinet", "middle_drawer")]),
    (OPEN, [kit.opened("oven", "door"), kit.at("cabinet", (0.0, 0.1))]),
    ("shut the oven", [kit.opened("oven", "door")]),
    (FILL, [kit.on("red_cube", "cabinet"), kit.closed("cabinet", "top_drawer")]),
])  # fmt: skip
def test_goals_of_another_drawer_or_the_opposite_contradict_the_task(scene, words, goals):
    task = understand_instruction(words, scene, RULES)
    contradiction = find_contradiction(task, scene, {"goals": [to_json(goal) for goal in goals]})
    assert contradiction.startswith("the task asks that ")


@pytest.mark.parametrize("robot", ["arm", "arm-suction"])
@pytest.mark.parametrize("verb, owner, part", [
    ("opened", "cabinet", "bottom_drawer"), ("opened", "oven", "door"), ("closed", "cabinet", "top_drawer"),
])  # fmt: skip
def test_the_arm_opens_and_shuts_drawers_and_doors_by_handle_and_by_suction(scene, robot, verb, owner, part):
    sim = kit.Simulation(replace(scene, robot=robot_kind(robot).make(True)), 0)
    if verb == "closed":
        sim.set_open(owner, part, 0.9)
    sim.goal(getattr(kit, verb)(owner, part))
    run = sim.rollout()
    assert run.solved and run.at_rest, run.why
    assert run.moved(owner) < (0.01 if verb == "closed" else 0.02), "the furniture itself stays"


def test_the_base_stands_in_front_of_parts_and_pushes_them_only_away_from_the_hand(scene):
    physics = Physics(kit.Simulation(scene, 0).bench())
    for name in ("cabinet", "oven"):
        for part in physics.state()[name].parts:
            half_open = part.end / 2
            assert push_grasps(physics, name, part, half_open, 0.0) == ()
            pushes = push_grasps(physics, name, part, -half_open, 0.0)
            assert pushes
            for push in pushes:
                motion = -part.heading(push.point)
                assert motion @ push.approach > 0 and push.approach[2] < 1e-9
                assert np.linalg.norm(push.hand[:3, 3] - push.point) < 0.005
    mount = place_base(scene.objects, scene.table, scene.away, two_finger_arm().reach)
    for name in ("cabinet", "oven"):
        for part in scene[name].parts:
            middle = part.corners.mean(0)
            ahead = part.heading(middle)[:2]
            off = mount.base - middle[:2]
            assert two_finger_arm().reach.parts[0] - 0.1 < off @ ahead < two_finger_arm().reach.parts[1] + 0.2
            assert np.linalg.norm(off - (off @ ahead) * ahead) < MAX_ASIDE_M + 0.15
