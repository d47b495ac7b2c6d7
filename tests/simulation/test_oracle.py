"""The oracle solves every feasible task by physics alone, and gives the reason where it cannot."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.planner.program_writer import check_functions
from pipeline.simulation import kit
from pipeline.simulation.controlled_world import ControlledWorld
from pipeline.simulation.goals.goal import Move
from pipeline.simulation.goals.spec import PlannedGoal
from pipeline.simulation.mutations import displaced_runs
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.gripper.gripper import SuctionGripper
from pipeline.simulation.robots.gripper.hand import pick
from pipeline.simulation.robots.oracle.oracle import act
from pipeline.simulation.robots.oracle.planning import MovePlanner


def rollout(scene, arrange, seed=0):
    sim = kit.Simulation(scene, seed)
    sim.scatter(*(o.name for o in sim.objects))
    arrange(sim)
    return sim, sim.rollout()


FAMILIES = {
    "stack": lambda s: s.goal(kit.stacked(["blue_cube", "red_cube", "green_cube"])),
    "row by size": lambda s: s.goal(kit.in_row([o.name for o in sorted(s.objects, key=lambda o: o.volume)])),
    "in bowl": lambda s: s.goal(kit.inside("orange_ball", "white_bowl"), kit.inside("green_cube", "white_bowl")),
    "packed bin": lambda s: (
        s.add_container("bin", s.free_spot(0.1), (0.16, 0.16)),
        s.goal(*[kit.inside(name, "bin") for name in ("red_cube", "yellow_can", "blue_cube")]),
    ),
    "swap away from a third": lambda s: s.goal(
        *[kit.at(a, s[b].position[:2]) for a, b in (("red_cube", "yellow_can"), ("yellow_can", "red_cube"))],
        *[kit.away("green_cube", name, 0.1) for name in ("red_cube", "yellow_can")],
    ),
    "away": lambda s: s.goal(kit.away("red_cube", "white_bowl", 0.3), kit.near("red_cube", "purple_carton", 0.15)),
    "on": lambda s: s.goal(kit.on("yellow_can", "blue_cube"), kit.left_of("blue_cube", "purple_carton")),
    "in stages": lambda s: (
        s.goal(kit.on("red_cube", "blue_cube"), name="first"),
        s.goal(kit.inside("green_cube", "white_bowl"), name="then"),
    ),
    "sorted": lambda s: s.goal(
        kit.sorted_by(["red_cube", "yellow_can", "green_cube", "blue_cube"], "height", falling=True)
    ),
    "room": lambda s: (
        s.add_zone("room", s["blue_cube"].position[:2], (0.16, 0.16)),
        s.goal(*[kit.outside(o.name, "room") for o in s.objects]),
    ),
    "mirror": lambda s: s.goal(
        *[kit.at(name, xy) for name, xy in s.mirrored("red_cube", "blue_cube", "green_cube").items()]
    ),
    "two of three": lambda s: s.goal(
        kit.count([kit.inside(name, "white_bowl") for name in ("red_cube", "green_cube", "orange_ball")], exactly=2)
    ),
    "none left": lambda s: (
        s.move("green_cube", xy=s["white_bowl"].position[:2], z=0.0062),
        s.move("orange_ball", xy=s.free_spot(0.05)),
        s.goal(kit.count([kit.inside(name, "white_bowl") for name in ("green_cube", "orange_ball")], exactly=0)),
    ),
}


@pytest.mark.parametrize(
    ("family", "seed"),
    [*((family, number % 2) for number, family in enumerate(FAMILIES))]
    + [pytest.param(family, 1 - number % 2, marks=pytest.mark.soak) for number, family in enumerate(FAMILIES)],
)
def test_the_oracle_solves_every_family_and_nothing_is_teleported(scene, family, seed):
    sim, run = rollout(scene, FAMILIES[family], seed)
    assert run.reward == 1 and run.solved and run.why == "", f"{run.why} {run.events}"
    assert sim.reward_at_start() < 0.99 and run.at_rest
    assert ((run.rewards >= 0) & (run.rewards <= 1)).all() and run.rewards[-1] == run.reward
    assert not run.moved_before_touch
    for o in sim.objects:
        path = run.path(o.name)
        steps = np.linalg.norm(np.diff(path, axis=0), axis=1) / np.diff(run.times)
        assert steps.max(initial=0) < 2.2, f"{o.name} jumps at {steps.max():.1f} m/s"


@pytest.mark.parametrize("name", ["purple_carton", "yellow_can", "white_bowl"])
def test_a_held_object_hangs_still_from_the_cup_while_carried(scene, name):
    physics = Physics(kit.Simulation(scene, 0).bench())
    hand = SuctionGripper(physics)
    assert pick(hand, name) == ""
    cup = physics.data.body("gripper")
    held = physics.pose(name)[0] - cup.xpos
    for far in ((0, 0, 0.25), (0.2, 0.1, 0), (-0.3, 0.1, 0)):
        hand.go(hand.tip + np.array(far))
        assert np.abs(physics.pose(name)[0] - cup.xpos - held).max() < 0.001
    physics.wait(0.3)
    assert np.abs(physics.data.qvel[:]).max() < 0.05


def test_the_same_seed_is_the_same_rollout_which_can_be_stopped(scene):
    one, other = (rollout(scene, FAMILIES["on"], 5)[1] for _ in range(2))
    assert np.array_equal(one.qpos, other.qpos) and np.array_equal(one.actions, other.actions)
    sim = kit.Simulation(scene, 0)
    FAMILIES["stack"](sim)
    events = act(Physics(sim.bench()), sim.stages)
    assert next(events).verb == "pick"
    events.close()


def test_what_is_in_the_way_or_on_top_is_moved_first_and_a_place_beyond_the_usual_reach_tried_if_it_must_be(scene):
    block = scene["blue_cube"]
    for goals, aside in (
        ([kit.at("red_cube", tuple(block.position[:2]))], "blue_cube"),
        ([kit.on("blue_cube", "purple_carton")], "green_cube"),
        ([kit.in_zone("green_cube", "zone"), kit.in_zone("blue_cube", "zone")], "green_cube"),
    ):
        sim = kit.Simulation(scene, 0)
        sim.add_zone("zone", block.position[:2] - (0.06, 0), (0.16, 0.12))
        if aside == "green_cube":
            sim.move("green_cube", xy=block.position[:2], z=block.top)
        sim.goal(*goals)
        run = sim.rollout()
        assert run.solved, run.why
        assert ("move aside", aside) in [(e.verb, e.object) for e in run.events]
    sim = kit.Simulation(scene, 0)
    sim.add_zone("zone", (0.25, -0.1), (0.09, 0.09))
    goal = kit.in_zone("red_cube", "zone")
    physics = Physics(sim.bench())
    beyond = 0.22  # part of the zone is nearer, but no place for the whole cube
    planner = MovePlanner(physics, reaches=lambda points: points[:, 0] < beyond)
    move = planner.next(physics.state(), [goal])
    assert isinstance(move, Move) and goal.met(physics.state().put("red_cube", move.xy))
    assert move.xy[0] > beyond


@pytest.mark.parametrize("passes", [False, True])
def test_a_condition_holds_all_along_or_is_missed_though_it_holds_at_start_and_end(scene, passes):
    sim = kit.Simulation(scene, 0)
    sim.keep("red_cube", "blue_cube")
    red, blue = (sim[name].position[:2] for name in ("red_cube", "blue_cube"))
    away = kit.away("red_cube", "blue_cube", 0.15)
    sim.goal(kit.at("red_cube", blue + (blue - red) * 0.7 if passes else red + (red - blue) * 0.3), kit.always(away))
    run = sim.rollout()
    assert away.met(run.state_at_start) and away.met(run.state_at_end) and sim.reward_at_start() == 0.5
    assert run.reward == (0.5 if passes else 1.0) and [goal["met"] for goal in run.goals] == [True, not passes]
    missed = r"red_cube at least 15 cm from blue_cube, throughout is missed by .* cm at .* s"
    assert re.fullmatch(missed if passes else "", run.why)
    world = ControlledWorld(sim.bench(), sim.stages)
    shares = []
    for qpos in run.qpos:
        world.data.qpos[:] = qpos
        shares.append(world.share(world.measure()))
    assert max(shares) == (0.5 if passes else 1.0), "a policy is measured as the oracle is"
    world.reset()
    assert world.share(world.measure()) == 0.5


@pytest.mark.parametrize("goal", [
    kit.on("red_cube", "blue_cube"), kit.inside("orange_ball", "white_bowl"), kit.near("yellow_can", "purple_carton"),
    kit.in_row(["red_cube", "green_cube", "blue_cube"]),
])  # fmt: skip
def test_the_rest_is_left_alone_beside_every_goal_and_whoever_shoves_it_is_noticed(scene, goal):
    sim = kit.Simulation(scene, 1)
    sim.scatter(*goal.objects)
    others = [one.name for one in scene.objects if one.name not in goal.objects]
    sim.goal(goal, kit.stay(*others))
    assert sim.rollout().solved, sim.rollout().why
    checks: dict = {"math": math}
    for name in others:
        exec("\n".join(check_functions([PlannedGoal("stay", (name,))]).values()), checks)
    checks[f"check_{others[0]}_stays_where_it_stands"](sim)
    shoved = [(words.split()[0], run) for words, run in displaced_runs(sim)]
    assert {name for name, _ in shoved} >= set(others), "who moves any of them is tried"
    for name, run in shoved:
        if name in others:
            with pytest.raises(AssertionError, match=f"{name} ends .* cm from where it stood"):
                checks[f"check_{name}_stays_where_it_stands"](SimpleNamespace(rollout=lambda run=run: run))
    careless = kit.Simulation(scene, 1)
    careless.goal(kit.at(others[0], careless.free_spot(0.08)), kit.stay(*others))
    assert careless.rollout().reward == 0.5 and "of the start is missed by" in careless.rollout().why


IMPOSSIBLE = {
    "nothing stays on a sphere such as orange_ball": lambda s: s.goal(kit.on("red_cube", "orange_ball")),
    "red_cube is not hollow": lambda s: s.goal(kit.inside("green_cube", "red_cube")),
    "white_bowl is 15.* cm wide, the opening of bin only 9": lambda s: (
        s.remove("purple_carton"),
        s.add_container("bin", s.free_spot(0.08), 0.1),
        s.goal(kit.inside("white_bowl", "bin")),
    ),
    "no place on the table where red_cube at": lambda s: s.goal(kit.at("red_cube", (3, 3))),
    "has to stay": lambda s: s.goal(
        kit.at("red_cube", s["blue_cube"].position[:2]), kit.at("blue_cube", s["blue_cube"].position[:2])
    ),
    "stands fast and cannot be moved": lambda s: (
        s.add_container("bin", s.free_spot(0.08), 0.1),
        s.goal(kit.on("bin", "blue_cube")),
    ),
    "no straight place of": lambda s: s.goal(kit.in_row([o.name for o in s.objects], spacing=0.4)),
}


@pytest.mark.parametrize("reason", IMPOSSIBLE)
def test_an_unreachable_goal_is_refused_with_the_reason(scene, reason):
    sim = kit.Simulation(scene, 0)
    IMPOSSIBLE[reason](sim)
    run = sim.rollout()
    assert not run.solved and run.reward < 0.99
    assert re.search(reason, run.why), run.why
    assert any(re.search(reason, e.message) and not e.ok for e in run.events)


def test_a_goal_that_cannot_be_met_stops_later_stages_but_not_the_other_goals(scene):
    sim = kit.Simulation(scene, 0)
    sim.goal(kit.on("red_cube", "orange_ball"), kit.inside("green_cube", "white_bowl"))
    run = sim.rollout()
    assert run.reward == 0.5
    assert [g["met"] for g in run.goals] == [False, True]
    sim = kit.Simulation(scene, 0)
    sim.goal(kit.on("red_cube", "orange_ball"))
    sim.goal(kit.on_table("green_cube"))
    assert sim.rollout().reward == 0
