"""Goals that contradict a task are found, and a tower's order counts where the words give one."""

import sys
from dataclasses import replace

import pytest
from kit_programs import arranged

from pipeline.planner import PlannerModel, source_edits
from pipeline.router import write_program
from pipeline.router.intent_check import find_contradiction, task_checks
from pipeline.simulation.sandbox import worker
from pipeline.tasks import understand_instruction

RULES = PlannerModel()


TOWER = "stack the red cube and the blue cube"
CONTRADICTIONS = {
    "put the can left of the blue cube": ("left_of", "right_of"),
    "put the can in front of the blue cube": ("in_front_of", "behind"),
    "move the can away from the blue cube": ("away", "near"),
    "put the green cube on the blue cube": ('"green_cube", "blue_cube"', '"blue_cube", "green_cube"'),
    "put the green cube on the red cube": ("kit.on", "kit.near"),
    f"{TOWER}, bottom first": ('"red_cube", "blue_cube"', '"blue_cube", "red_cube"'),
}


def requested(program, scene):
    """Return the goals of a program as the sandbox reports them."""
    return worker._to_json(worker.requested_goals(arranged(program.simulation, scene)))


@pytest.mark.parametrize("words", CONTRADICTIONS)
@pytest.mark.parametrize("goals", ["the rules' goals", "goals in other words"])
def test_only_goals_that_contradict_the_task_are_reported(scene, words, goals):
    task = understand_instruction(words, scene, RULES)
    good = write_program(task, scene, RULES)
    bad = replace(good, simulation=good.simulation.replace(*CONTRADICTIONS[words]))
    task = task if goals == "the rules' goals" else replace(task, goals=("as the words say",))
    assert bad != good and not find_contradiction(task, scene, requested(good, scene))
    assert "the simulation asks for" in find_contradiction(task, scene, requested(bad, scene))


RED_GREEN_BLUE = "Stack the red cube, the green cube and the blue cube"
ORDERED = {
    f"{RED_GREEN_BLUE}, the red cube at the bottom.": True,
    f"{RED_GREEN_BLUE}, the blue cube on top.": True,
    f"{RED_GREEN_BLUE} from small to big.": True,
    f"{RED_GREEN_BLUE} on top of each other.": False,
    f"{RED_GREEN_BLUE} at the bottom of the picture.": False,
    "Stack the cubes, the red cube at the bottom.": False,
    "Stack the blue cube, the green cube and the red cube, the red cube at the bottom.": False,
}


@pytest.fixture(scope="module")
def tower(scene):
    """A task of a tower of the red, green and blue cube, bottom first, whose words tests replace, and its program."""
    task = understand_instruction(f"{RED_GREEN_BLUE} in this order, bottom first", scene, RULES)
    program = write_program(task, scene, RULES)
    assert '["red_cube", "green_cube", "blue_cube"]' in program.simulation
    return task, program


def with_order(program, *names):
    listed = ", ".join(f'"{name}"' for name in names)
    changed = program.simulation.replace('"red_cube", "green_cube", "blue_cube"', listed)
    assert changed != program.simulation
    return replace(program, simulation=changed)


@pytest.mark.parametrize("words", ORDERED)
def test_another_order_of_a_tower_contradicts_only_words_that_give_an_order(scene, tower, words):
    task, program = tower
    task = replace(task, instruction=words)
    turned = with_order(program, "red_cube", "blue_cube", "green_cube")
    assert not find_contradiction(task, scene, requested(program, scene))
    assert bool(find_contradiction(task, scene, requested(turned, scene))) is ORDERED[words]


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's full protection is Linux's")
@pytest.mark.parametrize(
    "names, message",
    [(("red_cube", "blue_cube", "green_cube"), ""), (("blue_cube", "green_cube", "red_cube"), "blue_cube is lowest")],
)
def test_an_open_order_is_measured_as_a_tower_on_the_object_that_the_words_put_lowest(
    project, scene, sandbox, tower, names, message
):
    task, program = tower
    task = replace(task, instruction="Stack the cubes, the red cube at the bottom.")
    checks = "def check_it(sim):\n    assert sim.rollout().solved, 'no'\n"
    program = replace(with_order(program, *names), checks=checks)
    report, _ = sandbox.run(program, project, reference=task_checks(task, scene))
    assert min(report.reward) > 0.99 and report.evidence["measured"] == {"check_in_any_order_0": message}


def test_goals_whose_arguments_are_computed_are_not_read(tower):
    _, program = tower
    computed = program.simulation.replace("kit.stacked([", "kit.stacked(sorted([").replace(
        '"blue_cube"]', '"blue_cube"])'
    )
    assert computed != program.simulation
    assert [goal.kind for goal in source_edits.planned_goals(program.simulation)] == ["stacked"]
    assert source_edits.planned_goals(computed) == ()
