"""A new kind of goal is one file: sentence, instruction, program, checks, oracle and verdict all follow from it."""

import importlib
import re
import sys
from pathlib import Path

import pytest
from kit_programs import arranged, failures

from pipeline.planner import PlannerModel, source_edits
from pipeline.planner.goals import read_sentences, sentences
from pipeline.router import write_program
from pipeline.router.intent_check import find_contradiction
from pipeline.simulation import goals, kit
from pipeline.simulation.goals.spec import PlannedGoal, goal_specs
from pipeline.simulation.mutations import roll_out_mutated
from pipeline.simulation.recipe import from_json, to_json
from pipeline.simulation.sandbox.guard import guard
from pipeline.tasks import understand_instruction

DOC = Path(__file__).resolve().parents[2] / "docs" / "extending.md"
PLANNER = PlannerModel()
GOAL = PlannedGoal("higher_than", ("red_cube", "blue_cube"))


@pytest.fixture(scope="module")
def scene(table, tmp_path_factory):
    """The table of simple objects, with the kind of goal that docs/extending.md shows added to the package."""
    path, folder = list(goals.__path__), tmp_path_factory.mktemp("goal_kinds")
    shown = re.search(r"^```python pipeline/simulation/goals/(\w+\.py)\n(.*?)^```$", DOC.read_text(), re.M | re.S)
    assert shown
    (folder / shown[1]).write_text(shown[2])
    goals.__path__ = [*path, str(folder)]
    goal_specs.cache_clear()
    importlib.reload(kit)
    try:
        yield kit.Scene.load(table)
    finally:
        goals.__path__ = path
        goal_specs.cache_clear()
        del kit.higher_than, sys.modules["pipeline.simulation.goals.higher_than"]
        importlib.reload(kit)


@pytest.fixture(scope="module")
def task(scene):
    return understand_instruction("Put the red cube higher than the blue cube.", scene, PLANNER)


@pytest.fixture(scope="module")
def program(task, scene):
    return write_program(task, scene, PLANNER)


def test_its_sentence_instruction_function_and_program_mean_it(scene, task, program):
    assert sentences([GOAL]) == ("red_cube is higher than blue_cube",)
    assert read_sentences(sentences([GOAL])) == (GOAL,)
    assert task.goals == ("red_cube is higher than blue_cube",) and task.kind == "higher_than"
    assert 'kit.higher_than("red_cube", "blue_cube")' in (kit.__doc__ or "")
    assert kit.higher_than("red_cube", "blue_cube").name == "red_cube higher than blue_cube"
    assert guard(program) == ()
    assert source_edits.planned_goals(program.simulation) == (GOAL,)


def test_the_oracle_solves_it_and_its_checks_pass_but_not_for_the_inverted_task(program, scene):
    sim = arranged(program.simulation, scene)
    run = sim.rollout()
    assert run.solved, run.why
    assert not failures(program.checks, sim)
    assert roll_out_mutated(sim, "inverted")["applies"]
    assert "check_red_cube_ends_higher_than_blue_cube" in failures(program.checks, sim)


def test_it_is_written_as_json_and_compared_with_the_task(program, scene, task):
    ((_, (goal,)),) = arranged(program.simulation, scene).stages
    assert from_json(to_json(goal)) == goal
    assert find_contradiction(task, scene, {"goals": [to_json(goal)]}) == ""
    other = kit.left_of("red_cube", "blue_cube")
    assert find_contradiction(task, scene, {"goals": [to_json(other)]}).startswith(
        "the task asks that red_cube is higher"
    )


def test_every_kind_that_a_task_can_state_has_a_check_and_reads_back():
    for spec in goal_specs().values():
        for form in spec.forms:
            names = ("a", "b", "c")[: form.template.count("{}")] or ("a", "b", "c")
            goal = PlannedGoal(spec.kind, names, form.along, form.new_container)
            if "{xy}" in form.template:
                goal = PlannedGoal(spec.kind, names, xy=(0.1, -0.2))
            assert read_sentences(sentences([goal])) == (goal,)
            assert spec.checks(goal) and all(source.strip().startswith("def check_") for source in spec.checks(goal))
