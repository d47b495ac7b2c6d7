"""A simulation that is rebuilt from its recipe is the same simulation."""

import json

import numpy as np
import pytest

from pipeline.simulation import kit
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.spec import goal_classes
from pipeline.simulation.mutations import MUTATIONS, distinct_mutations
from pipeline.simulation.recipe import QUERIES, Recipe, recipe, replay


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


def test_every_goal_of_the_kit_can_be_serialised_and_a_class_of_ones_own_is_refused(scene):
    assert {"On", "Inside", "Stacked", "InRow", "InZone", "At", "Near", "Away", "Beside"} <= set(goal_classes())

    class Mine(Goal):
        objects = ()

    sim = kit.Simulation(scene)
    sim.goal(Mine())
    with pytest.raises(kit.KitError, match="a goal of the kind Mine is not the kit's"):
        recipe(sim)


@pytest.mark.parametrize(
    "verb, arguments, message",
    [
        ("explode", [], "has no explode"),
        ("rollout", [], "has no rollout"),
        ("__init__", [], "has no __init__"),
        ("objects", [], "has no objects"),
        ("move", ["red_cube", "here"], "move|xy"),
        ("move", ["nobody"], "there is no object 'nobody'"),
        ("goal", [{"goal": "Mine"}], "there is no goal of the kind 'Mine'"),
        ("goal", [{"goal": "On", "a": "red_cube", "b": 3}], "other values than it takes"),
    ],
)
def test_a_recipe_is_followed_by_the_kits_own_rules(scene, verb, arguments, message):
    loaded = Recipe.model_validate({"seed": 0, "calls": [{"verb": verb, "arguments": arguments}]})
    with pytest.raises(kit.KitError, match=message):
        replay(kit.Simulation(scene), loaded)


def test_every_method_of_a_simulation_is_recorded_or_read_only():
    own = {name for name, value in vars(kit.Simulation).items() if callable(value) and not name.startswith("_")}
    recorded = {name for name in own if hasattr(getattr(kit.Simulation, name), "__wrapped__")}
    assert own - recorded == QUERIES


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


@pytest.mark.parametrize("kind", ["swapped", "half done", "order"])
def test_an_inapplicable_call_gives_a_reason(scene, kind):
    sim = kit.Simulation(scene)
    sim.goal(kit.at("red_cube", (0.0, 0.0)))
    assert MUTATIONS[kind](sim, sim.stages) is None


def test_equal_mutations_are_run_once(scene):
    sim = kit.Simulation(scene)
    sim.goal(kit.left_of("red_cube", "blue_cube"))
    assert {"inverted", "misplaced"} <= set(distinct_mutations(sim)) and "swapped" not in distinct_mutations(sim)
