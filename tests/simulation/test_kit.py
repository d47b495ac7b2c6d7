"""The kit: its manual's names and examples, recipes, steps in order, and arrangements that are physically possible."""

import itertools
import json
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit_programs import arranged, failures

from pipeline.planner import PlannerModel, program_writer
from pipeline.simulation import kit, rollout
from pipeline.simulation.free_space import fits, overlapping
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.sentences import read_sentences
from pipeline.simulation.goals.spec import goal_classes
from pipeline.simulation.mutations import MUTATIONS, distinct_mutations
from pipeline.simulation.objects import Region, hull
from pipeline.simulation.physics import Physics
from pipeline.simulation.recipe import QUERIES, Recipe, recipe, replay
from pipeline.simulation.robots import ROBOTS, robot_kind
from pipeline.tasks import scene_to_json, understand_instruction

MANUAL = kit.__doc__ or ""


def test_every_name_in_the_short_text_exists_and_every_method_is_recorded_or_read_only():
    named = set(re.findall(r"kit\.(\w+)", MANUAL))
    assert named <= set(dir(kit)), named - set(dir(kit))
    goals = set(kit.__all__) - {"Event", "Goal", "KitError", "Object", "Region", "Run", "Scene", "Simulation", "State"}
    assert all(re.search(rf"\b{name}\b", MANUAL) for name in goals)
    for owner, text in ((kit.Simulation, r"sim\.(\w+)"), (kit.Run, r"run\.(\w+)")):
        names = set(re.findall(text, MANUAL)) - {"objects"}
        fields = set(owner.__annotations__)
        assert names <= set(dir(owner)) | fields, names
    assert len(MANUAL.splitlines()) < 110
    assert max(map(len, MANUAL.splitlines())) <= 120
    own = {name for name, value in vars(kit.Simulation).items() if callable(value) and not name.startswith("_")}
    recorded = {name for name in own if hasattr(getattr(kit.Simulation, name), "__wrapped__")}
    assert own - recorded == QUERIES


def examples(verb: str) -> list[str]:
    """Return the calls that the manual shows for a function, such as `kit.on("red_cube", "blue_cube")`."""
    lines = [line.strip() for line in MANUAL.splitlines() if line.startswith("    ")]
    found = [re.split("  +", line)[0] for line in lines if re.match(rf"(\w+ = )?{re.escape(verb)}\(", line)]
    assert found, f"the text shows no {verb}"
    return found


@pytest.fixture
def sim(table, furniture, request):
    """A simulation of simple objects, or of a cabinet for goals about drawers."""
    about_parts = any(word in request.node.name for word in ("open", "closed", "part"))
    made = kit.Simulation(kit.Scene.load(furniture if about_parts else table), 3)
    made.add_zone("goal_zone", (0.1, 0.1), (0.2, 0.15))
    return made


@pytest.mark.parametrize("verb", [n for n in kit.__all__ if n[0].islower()])
def test_every_goal_is_shown_by_an_example_that_runs_and_can_be_missed(sim, verb):
    goal = eval(examples(f"kit.{verb}")[0], {"kit": kit})
    sim.goal(goal)
    ((_, (goal,)),) = sim.stages  # with the places that it starts from
    assert goal.miss(sim.state()) >= 0 and isinstance(goal.met(sim.state()), bool)


@pytest.mark.parametrize("verb", [n for n in vars(kit.Simulation) if n[0] != "_" and callable(vars(kit.Simulation)[n])])
def test_every_verb_of_the_simulation_is_shown_by_an_example_that_runs(sim, verb):
    if verb in ("bench", "state", "reward_at_start", "keep", "rollout"):  # without an example, or only at the start
        assert verb in MANUAL or verb in ("bench", "state")
        return
    for example in examples(f"sim.{verb}"):
        example = example.replace("goal_zone", "other_zone") if verb == "add_zone" else example
        exec(example, {"kit": kit, "sim": sim, "place_of_can": (0, 0)})


def test_the_example_in_the_text_runs_and_holds(table):
    lines = [line[4:] for line in MANUAL.splitlines() if line.startswith("    ")]
    start = lines.index("import kit")
    source = "\n".join(lines[start + 1 : next(i for i, s in enumerate(lines) if "hangs" in s) + 1])
    assert source.count("def check_") == 2
    assert not failures(source, arranged(source, kit.Scene.load(table)))


def busy(scene: kit.Scene, seed: int) -> kit.Simulation:
    sim = kit.Simulation(scene, seed)
    sim.remove("purple_carton")
    sim.copy("red_cube", "red_cube_2", np.array([0.0, 0.2]))
    sim.resize("green_cube", 0.8)
    sim.move("yellow_can", xy=sim.free_spot(0.05), yaw=0.3)
    sim.scatter("red_cube", "green_cube", gap=0.04)
    sim.add_zone("left_zone", (-0.25, 0.0), np.float64(0.12))
    sim.add_container("bin", xy=(0.25, -0.12), size=(0.14, 0.12), height=0.05)
    sim.goal(kit.inside("red_cube", "bin"), kit.in_zone("green_cube", "left_zone"), name="first")
    sim.goal(kit.in_row(["red_cube_2", "blue_cube"], along="away"))
    return sim


@pytest.mark.parametrize("seed", [0, 3])
def test_replaying_a_recipe_rebuilds_the_same_simulation(scene, seed):
    original = busy(scene, seed)
    loaded = Recipe.model_validate_json(json.dumps(recipe(original).model_dump()))
    rebuilt = kit.Simulation(scene, loaded.seed)
    replay(rebuilt, loaded)
    assert rebuilt.stages == original.stages and recipe(rebuilt) == loaded
    assert rebuilt.bench().xml == original.bench().xml


def test_recipes_hold_the_kits_goals_and_no_others_follow_its_rules_and_equal_mutations_run_once(scene):
    assert {"On", "Inside", "Stacked", "InRow", "InZone", "At", "Near", "Away", "Beside"} <= set(goal_classes())

    class Mine(Goal):
        objects = ()

    sim = kit.Simulation(scene)
    sim.goal(Mine())
    with pytest.raises(kit.KitError, match="a goal of the kind Mine is not the kit's"):
        recipe(sim)
    sim = kit.Simulation(scene)
    sim.goal(kit.left_of("red_cube", "blue_cube"))
    assert {"inverted", "misplaced"} <= set(distinct_mutations(sim)) and "swapped" not in distinct_mutations(sim)
    for verb, arguments, message in (
        ("explode", [], "has no explode"),
        ("__init__", [], "has no __init__"),
        ("move", ["red_cube", "here"], "move|xy"),
        ("move", ["nobody"], "there is no object 'nobody'"),
        ("goal", [{"goal": "Mine"}], "there is no goal of the kind 'Mine'"),
        ("goal", [{"goal": "On", "a": "red_cube", "b": 3}], "other values than it takes"),
    ):
        loaded = Recipe.model_validate({"seed": 0, "calls": [{"verb": verb, "arguments": arguments}]})
        with pytest.raises(kit.KitError, match=message):
            replay(kit.Simulation(scene), loaded)


MUTATED_GOALS = {
    "inverted": (lambda: kit.left_of("red_cube", "blue_cube"), "red_cube right of blue_cube"),
    "swapped": (lambda: kit.on("red_cube", "blue_cube"), "blue_cube on red_cube"),
    "order": (
        lambda: kit.stacked(["blue_cube", "red_cube", "green_cube"]),
        "stacked, bottom first: red_cube, green_cube, blue_cube",
    ),
    "another object": (lambda: kit.near("red_cube", "blue_cube"), "green_cube within 15 cm of blue_cube"),
    "half done": (lambda: kit.stacked(["blue_cube", "red_cube", "green_cube"]), "red_cube on blue_cube"),
}


@pytest.mark.parametrize("kind", MUTATED_GOALS)
def test_a_mutation_makes_another_task(scene, kind):
    make, name = MUTATED_GOALS[kind]
    sim = kit.Simulation(scene)
    sim.goal(make())
    (stage,) = MUTATIONS[kind](sim, sim.stages) or ()
    assert [goal.name for goal in stage[1]] == [name]
    at = kit.Simulation(scene)
    at.goal(kit.at("red_cube", (0.0, 0.0)))
    assert kind not in ("swapped", "half done", "order") or MUTATIONS[kind](at, at.stages) is None


TASKS = {
    "two steps": "First put the green cube into the white bowl, then put the red cube on the blue cube.",
    "one object twice": (
        "First put the red cube on the blue cube, then put the green cube into the white bowl, "
        "finally move the red cube to the right."
    ),
}


def program_of(scene, instruction):
    goals = read_sentences(understand_instruction(instruction, scene, PlannerModel()).goals)
    assert goals
    simulation = program_writer.simulation_source(instruction, goals, scene_to_json(scene))
    return lambda: arranged(simulation, scene), program_writer.checks_source(goals)


@pytest.mark.parametrize("task", TASKS)
def test_only_the_stated_order_passes(scene, task):
    build, checks = program_of(scene, TASKS[task])
    assert not failures(checks, build())
    stages = build().stages
    for order in itertools.permutations(stages):
        if order == stages:
            continue
        sim = build()
        sim._run = rollout.roll_out(sim.bench(), order)
        assert failures(checks, sim), [name for name, _ in order]


def test_a_wrong_order_is_named_and_a_step_undone_later_or_held_at_the_start_is_none(scene):
    build, checks = program_of(scene, TASKS["two steps"])
    sim = build()
    sim._run = rollout.roll_out(sim.bench(), tuple(reversed(sim.stages)))
    wrong = "red_cube on blue_cube came before green_cube inside white_bowl"
    assert failures(checks, sim) == {"check_steps_are_done_in_order": wrong}
    build, _ = program_of(scene, TASKS["one object twice"])
    run = build().rollout()
    assert run.solved and all(goal["met"] for goal in run.goals), run.why
    assert not run.touching("red_cube", "blue_cube")
    sim = kit.Simulation(scene, 0)
    sim.goal(kit.inside("green_cube", "white_bowl"))
    sim.goal(kit.left_of("red_cube", "blue_cube"))
    assert not sim.rollout().why_not_in_order(*(goals for _, goals in sim.stages))


def names(sim):
    return [o.name for o in sim.objects]


def test_a_simulation_starts_as_photographed_with_a_free_spot_and_keeps_what_it_is_told(scene):
    state = kit.Simulation(scene, 0).state()
    for o in scene.objects:
        assert np.allclose(state[o.name].position, o.position, atol=1e-6) and abs(state[o.name].top - o.top) < 0.001
    sim = kit.Simulation(scene, 0)
    sim.keep("red_cube", "white_bowl")
    assert set(names(sim)) == {"red_cube", "white_bowl"} == set(sim.state().objects)
    sim = kit.Simulation(scene, 0)
    spot = np.array(sim.free_spot(0.04))
    assert scene.table.contains(spot, margin=0.04)
    assert min(float(Region(o.outline).distance(spot)) for o in sim.objects) >= 0.04
    spots = [spot]
    for _ in range(3):
        spots.append(np.array(sim.free_spot(0.03, near=spot, clear_of=spots)))
    assert min(np.linalg.norm(a - b) for a, b in combinations(spots, 2)) >= 0.06, "each is free of the ones before"
    assert np.linalg.norm(spots[1] - spot) < 0.1


@pytest.mark.parametrize("robot", ["gripper", "arm"])
def test_the_mirror_images_of_what_is_scattered_are_free_and_in_reach_if_wanted(scene, robot):
    group, taken = ("red_cube", "blue_cube", "green_cube"), {False: 0, True: 0}
    for seed, mirrored in ((seed, mirrored) for seed in range(1, 9) for mirrored in taken):
        sim = kit.Simulation(replace(scene, robot=robot_kind(robot).make(False)), seed)
        sim.scatter(*group, mirrored=mirrored)
        others, mount = [o for o in sim.objects if o.name not in group], sim._mounted()
        taken[mirrored] += not all(
            fits(xy[None], sim[name], others, 0.02)[0] and (mount is None or mount.reaches(xy[None])[0])
            for name, xy in sim.mirrored(*group).items()
        )
    assert taken[False] and not taken[True], taken


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(1, 10_000))
def test_scattered_objects_are_apart_and_fully_on_the_table(scene, seed):
    sim = kit.Simulation(scene, seed)
    sim.scatter(*names(sim))
    for o in sim.objects:
        assert scene.table.depth(o.outline).min() > -1e-9, o.name
        assert abs(o.bottom) < 1e-6
    for a, b in combinations(sim.objects, 2):
        assert fits(a.position[None, :2], a, [b], 0.003)[0], f"{a.name} meets {b.name}"


def test_seed_0_scatters_nothing_and_every_other_seed_its_own_way_which_stays_at_rest(scene):
    def layout(seed):
        sim = kit.Simulation(scene, seed)
        sim.scatter(*names(sim))
        return np.array([o.position for o in sim.objects])

    assert np.allclose(layout(0), [o.position for o in scene.objects])
    assert np.allclose(layout(3), layout(3))
    assert not np.allclose(layout(3), layout(4))
    for seed in range(3):
        sim = kit.Simulation(scene, seed)
        sim.scatter(*names(sim))
        physics = Physics(sim.bench())
        physics.wait(1.0)
        state = physics.state()
        for o in sim.objects:
            assert np.linalg.norm(state[o.name].position - o.position) < 0.001, o.name


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(1, 10_000), robot=st.sampled_from([name for name, kind in ROBOTS.items() if not kind.floats]))
def test_an_arm_reaches_all_that_is_scattered_for_it_and_a_seed_is_one_layout(scene, seed, robot):
    arm = robot_kind(robot).make(True)
    wide = scene.table.centre + 2.5 * (scene.table.polygon - scene.table.centre)  # most of it out of reach
    layouts = []
    for _ in range(2):
        sim = kit.Simulation(replace(scene, table=Region(wide), robot=arm), seed)
        mount = sim._mounted()
        sim.scatter(*names(sim))
        assert mount and mount.reaches(np.array([o.position[:2] for o in sim.objects])).all()
        assert sim._mounted() is mount, "the robot does not move between photograph and layout"
        layouts.append([o.position.tobytes() + o.quat_wxyz.tobytes() for o in sim.objects])
    assert layouts[0] == layouts[1]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(1, 10_000))
def test_a_crowded_table_is_scattered_without_a_collision(scene, seed):
    crowded = replace(scene, table=Region(hull(np.concatenate([o.outline for o in scene.objects]))))
    sim = kit.Simulation(crowded, seed)
    sim.scatter(*names(sim))
    for a, b in combinations(sim.objects, 2):
        met = fits(scene[a.name].position[None, :2], scene[a.name], [scene[b.name]], 0)[0]
        assert fits(a.position[None, :2], a, [b], -1e-9)[0] or not met, f"{a.name} meets {b.name}"


def test_a_full_table_a_simulation_that_ran_and_a_folder_without_a_scene_are_reported(scene, tmp_path):
    sim = kit.Simulation(scene, 1)
    for i in range(40):
        sim.copy("white_bowl", f"bowl_{i}", scene.table.centre)
    with pytest.raises(kit.KitError, match=r"no free place of .* cm for .*: keep or scatter fewer"):
        sim.scatter(*names(sim))
    sim = kit.Simulation(scene, 0)
    sim.state(), sim.bench()
    with pytest.raises(kit.KitError, match="has already run"):
        sim.move("red_cube", xy=(0, 0))
    with pytest.raises(kit.KitError, match=r"has no scene\.json: run the stages up to scene first"):
        kit.Scene.load(tmp_path)


def test_objects_on_a_moved_object_move_with_it_and_copies_and_containers_are_real_bodies(scene):
    sim = kit.Simulation(scene, 0)
    sim.move("red_cube", xy=sim["blue_cube"].position[:2], z=sim["blue_cube"].top)
    stacked = kit.Simulation(kit.Scene(sim.objects, scene.table, scene.right, scene.away, scene.folder), 0)
    stacked.move("blue_cube", xy=stacked.free_spot(0.05), yaw=1.0)
    assert stacked["red_cube"].bottom == pytest.approx(stacked["blue_cube"].top)
    assert np.allclose(stacked["red_cube"].position[:2], stacked["blue_cube"].position[:2])
    stacked.remove("blue_cube")
    assert stacked["red_cube"].bottom == pytest.approx(0)
    sim = kit.Simulation(scene, 0)
    sim.resize("yellow_can", 0.7)
    sim.copy("yellow_can", "small_can", sim.free_spot(0.05))
    state = sim.state()
    assert state["small_can"].height == pytest.approx(0.07, abs=0.002)
    assert state["yellow_can"].height == pytest.approx(0.07, abs=0.002)
    assert state.touches("small_can", "table")
    sim = kit.Simulation(scene, 0)
    sim.keep("orange_ball")
    sim.add_container("tray", sim.free_spot(0.1), (0.16, 0.12), height=0.04)
    sim.goal(kit.inside("orange_ball", "tray"))
    assert sim.rollout().solved
    assert sim.rollout().moved("tray") == 0


MISUSES = {
    "there is no object 'cup'; there are: red_cube": lambda sim: sim.keep("cup"),
    "the factor may be 0.5 to 2": lambda sim: sim.resize("red_cube", 3),
    "'a b' is no name": lambda sim: sim.add_zone("a b", (0, 0), 0.1),
    "xy is two numbers": lambda sim: sim.move("red_cube", xy=(0, 0, 1)),
    "needs a size larger than zero": lambda sim: sim.add_zone("zone", (0, 0), 0),
    "goal takes one or more goals": lambda sim: sim.goal("red_cube on blue_cube"),
    "there is nothing to do yet": lambda sim: sim.rollout(),
    "no free place of 200 cm": lambda sim: sim.free_spot(1.0),
    "zero or more, not -1": lambda sim: sim.goal(kit.near("red_cube", "blue_cube", distance=-1)),
    'it may be "right" or "away"': lambda sim: sim.goal(kit.in_row(["red_cube", "blue_cube"], along="up")),  # pyright: ignore[reportArgumentType]
    "it may be size, height": lambda _: kit.sorted_by(["a", "b"], "beauty"),
    "takes a list of goals": lambda _: kit.count([]),
    "takes one goal about objects": lambda _: kit.always(kit.always(kit.on_table("a"))),
    "needs exactly=, at_least= or at_most=": lambda _: kit.count([kit.on_table("a")]),
    "cannot be; ask for 0 to 1": lambda _: kit.count([kit.on_table("a")], at_least=2),
}


@pytest.mark.parametrize("message", MISUSES)
def test_every_misuse_says_what_would_work(scene, message):
    with pytest.raises(kit.KitError, match=message.replace("(", r"\(")):
        MISUSES[message](kit.Simulation(scene, 0))


@pytest.mark.parametrize(
    ("moved", "to", "metres", "z", "overlaps"),
    [
        ("blue_cube", "red_cube", 0.035, None, True),
        ("blue_cube", "red_cube", 0.052, None, False),
        ("purple_carton", "white_bowl", 0.08, None, True),
        ("green_cube", "white_bowl", 0.0, 0.006, False),
        ("green_cube", "red_cube", 0.0, 0.05, False),
    ],
)
def test_objects_reach_into_each_other_unless_they_touch_lie_in_a_bowl_or_on_top(scene, moved, to, metres, z, overlaps):
    sim = kit.Simulation(scene, 0)
    sim.move(moved, xy=sim[to].position[:2] + metres * np.array(scene.right), z=z)
    assert [{a.name, b.name} for a, b in overlapping(sim.objects)] == [{moved, to}] * overlaps
    row = next(one for one in scene_to_json(sim.objects)["objects"] if one["name"] == moved)
    below = {0.006: ("white_bowl", None), 0.05: (None, "red_cube")}.get(z, (None, None))
    assert (row.get("stands_in"), row.get("rests_on")) == below, "a model reads what stands in what"


@given(seed=st.integers(0, 10_000), count=st.integers(1, 5), more=st.floats(0, 0.3))
@settings(max_examples=10, deadline=None)
def test_objects_stand_evenly_around_another_and_apart(scene, seed, count, more):
    sim = kit.Simulation(scene, seed)
    sim.scatter(*names(sim))
    middle, *around = np.random.default_rng(seed).permutation(names(sim))[: count + 1]
    free = sim.circle_around(middle, *around)
    radius = np.linalg.norm(free[around[0]] - sim[middle].position[:2]) + more
    places = sim.circle_around(middle, *around, radius=float(radius))
    assert np.allclose([np.linalg.norm(xy - sim[middle].position[:2]) for xy in places.values()], radius)
    standing = [sim[middle], *(sim[name].moved(xy) for name, xy in places.items())]
    for a, b in combinations(standing, 2):
        assert fits(a.position[None, :2], a, [b], 0.0)[0], f"{a.name} meets {b.name}"
    with pytest.raises(kit.KitError, match="has room: at least"):
        sim.circle_around(middle, *around, radius=0.01)
