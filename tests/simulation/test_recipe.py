"""A simulation told as data and made again from it is the same simulation."""

import json

import numpy as np
import pytest
import tabletop

from pipeline.simulation import kit
from pipeline.simulation.alteration import KINDS, distinct
from pipeline.simulation.goals import Goal
from pipeline.simulation.recipe import QUESTIONS, Recipe, follow, kinds_of_goals, recipe


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return kit.Scene.load(tabletop.write(tmp_path_factory.mktemp("table")))


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
def test_what_is_made_from_the_recipe_is_what_was_told(scene, seed):
    one = busy(scene, seed)
    said = Recipe.model_validate_json(json.dumps(recipe(one).model_dump()))
    other = kit.Simulation(scene, said.seed)
    follow(other, said)
    assert other.stages == one.stages and recipe(other) == said
    assert other.bench().xml == one.bench().xml


def test_every_goal_of_the_kit_can_be_told(scene):
    assert {"On", "Inside", "Stacked", "InRow", "InZone", "At", "Near", "Away", "Beside"} <= set(kinds_of_goals())


def test_a_goal_of_ones_own_is_no_goal_of_the_kit(scene):
    class Mine(Goal):
        objects = ()

    sim = kit.Simulation(scene)
    sim.goal(Mine())
    with pytest.raises(kit.KitError, match="a goal of the kind Mine is not the kit's"):
        recipe(sim)


@pytest.mark.parametrize(
    "verb, arguments, says",
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
def test_a_recipe_is_followed_by_the_kits_own_rules(scene, verb, arguments, says):
    said = Recipe.model_validate({"seed": 0, "calls": [{"verb": verb, "arguments": arguments}]})
    with pytest.raises(kit.KitError, match=says):
        follow(kit.Simulation(scene), said)


def test_every_method_of_a_simulation_is_told_or_only_asks():
    own = {name for name, value in vars(kit.Simulation).items() if callable(value) and not name.startswith("_")}
    told = {name for name in own if hasattr(getattr(kit.Simulation, name), "__wrapped__")}
    assert own - told == QUESTIONS


ALTERED = {
    "inverted": (lambda: kit.left_of("red_cube", "blue_cube"), "red_cube right of blue_cube"),
    "swapped": (lambda: kit.on("red_cube", "blue_cube"), "blue_cube on red_cube"),
    "order": (
        lambda: kit.stacked(["blue_cube", "red_cube", "green_cube"]),
        "stacked, bottom first: red_cube, green_cube, blue_cube",
    ),
    "another object": (lambda: kit.near("red_cube", "blue_cube"), "green_cube within 15 cm of blue_cube"),
    "half done": (lambda: kit.stacked(["blue_cube", "red_cube", "green_cube"]), "red_cube on blue_cube"),
}


@pytest.mark.parametrize("kind", ALTERED)
def test_an_alteration_makes_another_task(scene, kind):
    make, told = ALTERED[kind]
    sim = kit.Simulation(scene)
    sim.goal(make())
    (stage,) = KINDS[kind](sim, sim.stages) or ()
    assert [goal.name for goal in stage[1]] == [told]


@pytest.mark.parametrize("kind", ["swapped", "half done", "order"])
def test_what_does_not_apply_says_so(scene, kind):
    sim = kit.Simulation(scene)
    sim.goal(kit.at("red_cube", (0.0, 0.0)))
    assert KINDS[kind](sim, sim.stages) is None


def test_what_is_the_same_alteration_is_carried_out_once(scene):
    sim = kit.Simulation(scene)
    sim.goal(kit.left_of("red_cube", "blue_cube"))
    assert {"inverted", "misplaced"} <= set(distinct(sim)) and "swapped" not in distinct(sim)
