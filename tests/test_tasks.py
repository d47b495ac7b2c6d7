"""Tasks are made from a model's answer, if it is about the objects of the scene."""

import pytest
import tabletop
from pydantic import BaseModel

from pipeline import tasks
from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.router import write_program
from pipeline.simulation.goals.spec import PlannedGoal


class ScriptedModel:
    name = "scripted"

    def __init__(self, answer: BaseModel):
        self.answer, self.questions = answer, []

    def ask(self, question):
        self.questions.append(question)
        return self.answer


LIFT = tasks.TaskAnswer(
    name="Lift it!", instruction="Lift the ball.", objects=["orange_ball"], goals=["it flies"], kind="lift"
)


def test_a_proposed_task_has_the_models_instruction_and_difficulty_or_is_left_out_with_a_reason(scene):
    (task,) = tasks.propose(scene, ScriptedModel(tasks.TasksAnswer(tasks=[LIFT])))
    assert task == tasks.Task("lift_it", "Lift the ball.", ("orange_ball",), ("it flies",), "lift", "scripted")
    hard = tasks.TasksAnswer.model_validate({"tasks": [LIFT.model_dump() | {"difficulty": 7.5}]})
    assert tasks.propose(scene, ScriptedModel(hard))[0].difficulty == 1.0
    ghost = LIFT.model_copy(update={"objects": ["pink_elephant"]})
    wordless = LIFT.model_copy(update={"name": "", "instruction": " "})
    answered = tasks.ask_for_proposals(scene, ScriptedModel(tasks.TasksAnswer(tasks=[ghost, LIFT, wordless])))
    assert [task.name for task in answered.tasks] == ["lift_it"]
    assert answered.dropped == ("lift_it: there is no pink_elephant here", "task: it has no instruction")
    assert tasks.propose(scene, ScriptedModel(tasks.TasksAnswer(tasks=[ghost]))) == ()


def test_an_instruction_is_understood_impossible_misunderstood_or_about_an_empty_table(scene):
    answer = tasks.UnderstoodAnswer(fits=True, **LIFT.model_dump())
    task = tasks.understand_instruction("  lift \n the ball ", scene, ScriptedModel(answer))
    assert (task.instruction, task.source) == ("lift the ball", "human")
    with pytest.raises(tasks.TaskError, match=r"^there is no kettle here$"):
        answer = tasks.UnderstoodAnswer(fits=False, reason="there is no kettle here")
        tasks.understand_instruction("boil water", scene, ScriptedModel(answer))
    answer = tasks.UnderstoodAnswer(fits=True, **(LIFT.model_dump() | {"objects": ["pink_elephant"]}))
    with pytest.raises(ModelError, match="pink_elephant"):
        tasks.understand_instruction("lift it", scene, ScriptedModel(answer))
    model = ScriptedModel(tasks.TasksAnswer(tasks=[LIFT]))
    assert tasks.propose((), model) == () and not model.questions
    with pytest.raises(tasks.TaskError, match="there is no object on this table"):
        tasks.understand_instruction("stack them", (), model)


def test_a_question_lists_every_object_and_the_table(scene):
    data = tasks.scene_to_json(scene, {"yellow_can": "a tin of soup"})
    assert [o["name"] for o in data["objects"]] == list(tabletop.OBJECTS)
    can = next(o for o in data["objects"] if o["name"] == "yellow_can")
    assert can["caption"] == "a tin of soup" and can["size"] == [0.066, 0.066, 0.1] and can["shape"] == "cylinder"
    assert len(data["table"]["polygon"]) == 4 and data["right"] == [1.0, 0.0]


def test_a_layout_made_by_hand_is_a_task_with_its_positions_as_goals(scene):
    task = tasks.arrangement_task({"red_cube": (0.1, -0.2004), "orange_ball": (0, 0.05)})
    assert task.goals == ("red_cube stands at (0.100, -0.200)", "orange_ball stands at (0.000, 0.050)")
    assert (task.objects, task.source) == (("red_cube", "orange_ball"), "human")
    program = write_program(task, scene, PlannerModel())
    assert 'kit.at("red_cube", (0.100, -0.200))' in program.simulation
    assert "check_orange_ball_ends_where_it_was_wanted" in program.checks
    with pytest.raises(tasks.TaskError, match="nothing was moved"):
        tasks.arrangement_task({})
    with pytest.raises(ModelError, match="the place for red_cube lies beside the table"):
        write_program(tasks.arrangement_task({"red_cube": (3, 3)}), scene, PlannerModel())


def test_a_task_reads_back_from_its_json():
    task = tasks.Task("stack", "Stack them.", ("a", "b"), ("b rests on a",), "stack", "human")
    value = tasks.task_to_json(task)
    assert value["planned"] == [[{"goal": "on", "names": ["b", "a"]}]]
    assert tasks.task_from_json(value) == task == tasks.task_from_json({**value, "planned": None})
    assert tasks.task_from_json({**value, "goals": ["a is upright"]}).planned == (PlannedGoal("upright", ("a",)),)
    renamed = tasks.rename_in_task(task, lambda text: text.replace("a", "c"))
    assert renamed.planned == (PlannedGoal("on", ("b", "c")),) and "planned" not in tasks.question_task(task)
    with pytest.raises(tasks.TaskError, match="the task has no objects, goals"):
        tasks.task_from_json({"name": "stack", "instruction": "Stack them."})
