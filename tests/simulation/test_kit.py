"""The kit: its manual's names and examples, recipes that rebuild a simulation, and steps that are done in order."""

import itertools
import json
import re

import numpy as np
import pytest
from kit_programs import arranged, failures

from pipeline.planner import PlannerModel, program_writer
from pipeline.simulation import kit, rollout
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.sentences import read_sentences
from pipeline.simulation.goals.spec import goal_classes
from pipeline.simulation.mutations import MUTATIONS, distinct_mutations
from pipeline.simulation.recipe import QUERIES, Recipe, recipe, replay
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


def test_every_goal_of_the_kit_but_none_of_ones_own_is_serialised_and_equal_mutations_run_once(scene):
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


def test_a_recipe_is_followed_by_the_kits_own_rules(scene):
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
