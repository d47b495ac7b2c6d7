"""A program about drawers is clean only where it means the task: another drawer or shut for open is caught."""

from dataclasses import replace

import pytest

from pipeline.planner import PlannerModel
from pipeline.router import RouteStart, judging, route, write_program
from pipeline.router.intent_check import find_contradiction
from pipeline.router.judging import judge
from pipeline.simulation import kit
from pipeline.simulation.kit import Scene
from pipeline.simulation.recipe import to_json
from pipeline.solving import Solution, solve
from pipeline.tasks import understand_instruction

RULES = PlannerModel()
OPEN, FILL = "open the top drawer", "put the red cube in the top drawer and shut it"


@pytest.fixture(scope="module")
def scene(furniture):
    return Scene.load(furniture)


@pytest.mark.parametrize("words, kinds", [
    ("shut the oven", {"nothing", "inverted"}),
    (FILL, {"nothing", "inverted", "another object", "another part", "misplaced", "half done"}),
])  # fmt: skip
def test_the_first_program_is_clean_and_its_checks_catch_every_mutation(furniture, scene, sandbox, words, kinds):
    task = understand_instruction(words, scene, RULES)
    report = judge(write_program(task, scene, RULES), task, scene, furniture, sandbox)
    assert report.clean, [check for check in report.checks if not check.passed]
    assert set(report.evidence["noticed"]) >= kinds and min(report.reward) > 0.99


@pytest.mark.parametrize("words, goals", [
    (OPEN, [kit.closed("cabinet", "top_drawer")]),
    (OPEN, [kit.opened("cabinet", "middle_drawer")]),
    (OPEN, [kit.opened("oven", "door"), kit.at("cabinet", (0.0, 0.1))]),
    ("shut the oven", [kit.opened("oven", "door")]),
    (FILL, [kit.inside_part("red_cube", "cabinet", "bottom_drawer"), kit.closed("cabinet", "top_drawer")]),
    (FILL, [kit.inside_part("red_cube", "cabinet", "top_drawer")]),
    (FILL, [kit.on("red_cube", "cabinet"), kit.closed("cabinet", "top_drawer")]),
])  # fmt: skip
def test_goals_of_another_drawer_or_the_opposite_contradict_the_task(scene, words, goals):
    task = understand_instruction(words, scene, RULES)
    contradiction = find_contradiction(task, scene, {"goals": [to_json(goal) for goal in goals]})
    assert contradiction.startswith("the task asks that ")


@pytest.mark.parametrize("words", [OPEN, "shut the oven", FILL, "open all drawers"])
def test_the_tasks_own_goals_never_contradict_it(scene, words):
    task = understand_instruction(words, scene, RULES)
    names: dict = {"kit": kit}
    exec(write_program(task, scene, RULES).simulation.replace("import kit", ""), names)
    sim = names["build"](scene, 0)
    goals = [to_json(goal) for _, stage in sim.stages for goal in stage]
    assert not find_contradiction(task, scene, {"goals": goals})


def test_a_simulation_of_another_drawer_is_repaired(furniture, scene, sandbox, monkeypatch):
    monkeypatch.setattr(judging, "MUTATION_KINDS", ("nothing", "another part"))
    monkeypatch.setattr(judging, "SEEDS", (0,))
    task = understand_instruction(OPEN, scene, RULES)
    program = write_program(task, scene, RULES)
    wrong = replace(
        program, simulation=program.simulation.replace('opened("cabinet", "top', 'opened("cabinet", "bottom')
    )
    assert wrong != program
    rounds = list(route(task, furniture, RULES, sandbox, start=RouteStart(wrong)))
    assert rounds[0].route == "fix_simulation" and rounds[-1].route == "done" and len(rounds) == 2


def test_other_layouts_are_solved_and_so_are_they_by_the_arm(furniture, scene, sandbox):
    task = understand_instruction(OPEN, scene, RULES)
    program = write_program(task, scene, RULES)
    (*_, done) = solve(program, furniture, sandbox, seeds=(1, 2))
    assert isinstance(done, Solution) and done.strict_rate == 1
    (*_, arm) = solve(program, furniture, sandbox, seeds=(0,), robot="arm")
    assert isinstance(arm, Solution) and arm.solved, arm.reasons
