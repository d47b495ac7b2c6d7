"""Phrases about drawers, doors and knobs become goals, or an error that asks which one is meant."""

import pytest

from pipeline.models import Question
from pipeline.planner import PlannerModel, program_writer, source_edits
from pipeline.planner.goals import read_sentences, sentences
from pipeline.router import ProgramAnswer
from pipeline.simulation.kit import Scene
from pipeline.simulation.program import Program
from pipeline.simulation.sandbox.guard import guard
from pipeline.tasks import TaskError, propose, scene_to_json, task_to_json, understand_instruction

RULES = PlannerModel()


@pytest.fixture(scope="module")
def scene(furniture):
    return Scene.load(furniture)


TOP, MIDDLE, BOTTOM = (f"cabinet's {which}_drawer" for which in ("top", "middle", "bottom"))


@pytest.mark.parametrize("words, kind, goals", [
    ("open the top drawer", "open", [f"{TOP} is open"]),
    ("Please open the middle drawer of the cabinet.", "open", [f"{MIDDLE} is open"]),
    ("open all drawers", "open", [f"{TOP} is open", f"{MIDDLE} is open", f"{BOTTOM} is open"]),
    ("open the oven", "open", ["oven's door is open"]),
    ("close the door of the oven", "close", ["oven's door is shut"]),
    ("put the can into the top drawer", "put_in_drawer", [f"can is in {TOP}"]),
    ("put both cubes into the middle drawer and shut it", "put_in_drawer",
     [f"red_cube is in {MIDDLE}", f"blue_cube is in {MIDDLE}", f"{MIDDLE} is shut"]),
    ("put the red cube into the bottom drawer, then shut it", "put_in_drawer",
     [f"red_cube is in {BOTTOM}", f"then {BOTTOM} is shut"]),
    ("put the can on the cabinet, then open the bottom drawer", "several",
     ["can rests on cabinet", f"then {BOTTOM} is open"]),
])  # fmt: skip
def test_phrases_about_parts_become_the_goals_they_mean(scene, words, kind, goals):
    task = understand_instruction(words, scene, RULES)
    assert (task.kind, list(task.goals)) == (kind, goals)


@pytest.mark.parametrize("words, message", [
    ("open the drawer", "may mean the top drawer of the cabinet or the middle drawer of the cabinet .*say which"),
    ("open the can", "say what to do with which object"),
    ("open the lid", 'not understood: "lid"'),
    ("put the can into the oven", "its inside is not reached from above"),
    ("put the can into the cabinet", "say which drawer: top drawer"),
    ("put the oven into the top drawer", "furniture"),
])  # fmt: skip
def test_unclear_or_infeasible_phrases_ask_back(scene, words, message):
    with pytest.raises(TaskError, match=message):
        understand_instruction(words, scene, RULES)


def test_furniture_is_opened_closed_and_filled_but_never_carried_and_what_has_no_joints_is_not_opened(scene, table):
    with pytest.raises(TaskError, match='not understood: "drawer"'):
        understand_instruction("open the drawer", Scene.load(table), RULES)
    tasks = propose(scene, RULES, 30)
    assert {"open", "close", "put_in_drawer"} <= {task.kind for task in tasks}
    for task in tasks:
        goals = read_sentences(task.goals)
        assert goals and sentences(goals) == task.goals
        assert not {"cabinet", "oven"} & {name for goal in goals for name in goal.carried}
        if task.kind in ("open", "close", "put_in_drawer"):
            assert understand_instruction(task.instruction, scene, RULES).goals == task.goals


@pytest.mark.parametrize("words", ["open the oven", "shut the top drawer", "put the can in the top drawer and shut it"])
def test_its_programs_pass_the_guard_and_mean_their_goals(scene, words):
    task, data = understand_instruction(words, scene, RULES), scene_to_json(scene)
    question = Question("write_program", {"task": task_to_json(task), "scene": data}, ProgramAnswer)
    program = RULES.ask(question)
    assert not guard(Program(program.simulation, program.checks))
    assert source_edits.planned_goals(program.simulation) == read_sentences(task.goals)
    starts_open = "set_open" in program.simulation
    assert starts_open == (words == "shut the top drawer"), "only what is to be shut, and not filled, starts open"
    functions = source_edits.functions(source_edits.parse(program.checks))
    assert set(program_writer.check_functions(read_sentences(task.goals))) <= set(functions)
