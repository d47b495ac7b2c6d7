"""Tasks come from a model's answer, and only where they are about this scene."""

import pytest
import tabletop
from pydantic import BaseModel

from pipeline.models import ModelError
from pipeline.models.rules import RulesModel
from pipeline.router import write
from pipeline.simulation.kit import Scene
from pipeline.tasks import (
    Task,
    TaskAnswer,
    TaskError,
    TasksAnswer,
    UnderstoodAnswer,
    arranged,
    propose,
    scene_data,
    task_from_json,
    task_to_json,
    understand,
)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return Scene.load(tabletop.write(tmp_path_factory.mktemp("table")))


class Says:
    """A model that always answers the same, and keeps what it was asked."""

    name = "scripted"

    def __init__(self, answer: BaseModel):
        self.answer, self.asked = answer, []

    def ask(self, question):
        self.asked.append(question)
        return self.answer


LIFT = TaskAnswer(
    name="Lift it!", instruction="Lift the ball.", objects=["orange_ball"], goals=["it flies"], kind="lift"
)


def test_a_models_task_keeps_its_words_and_says_whose_they_are(scene):
    (task,) = propose(scene, Says(TasksAnswer(tasks=[LIFT])))
    assert task == Task("lift_it", "Lift the ball.", ("orange_ball",), ("it flies",), "lift", "scripted")


def test_a_proposal_about_what_is_not_there_is_left_out(scene):
    ghost = LIFT.model_copy(update={"objects": ["pink_elephant"]})
    assert len(propose(scene, Says(TasksAnswer(tasks=[ghost, LIFT])))) == 1
    with pytest.raises(ModelError, match="proposed tasks about objects that are not here"):
        propose(scene, Says(TasksAnswer(tasks=[ghost])))


def test_an_empty_table_has_no_tasks_and_takes_no_words():
    model = Says(TasksAnswer(tasks=[LIFT]))
    assert propose((), model) == () and not model.asked
    with pytest.raises(TaskError, match="no object was found on this table"):
        understand("stack them", (), model)


def test_understood_words_stay_the_persons(scene):
    answer = UnderstoodAnswer(fits=True, **LIFT.model_dump())
    task = understand("  lift \n the ball ", scene, Says(answer))
    assert (task.instruction, task.source) == ("lift the ball", "human")


def test_words_that_do_not_fit_say_the_models_reason(scene):
    with pytest.raises(TaskError, match=r"^there is no kettle here$"):
        understand("boil water", scene, Says(UnderstoodAnswer(fits=False, reason="there is no kettle here")))


def test_an_answer_about_what_is_not_there_is_the_models_fault(scene):
    answer = UnderstoodAnswer(fits=True, **(LIFT.model_dump() | {"objects": ["pink_elephant"]}))
    with pytest.raises(ModelError, match="pink_elephant"):
        understand("lift it", scene, Says(answer))


def test_a_question_tells_of_every_object_and_of_the_table(scene):
    data = scene_data(scene, {"yellow_can": "a tin of soup"})
    assert [o["name"] for o in data["objects"]] == list(tabletop.THINGS)
    can = next(o for o in data["objects"] if o["name"] == "yellow_can")
    assert can["caption"] == "a tin of soup" and can["size"] == [0.066, 0.066, 0.1] and can["shape"] == "cylinder"
    assert len(data["table"]["polygon"]) == 4 and data["right"] == [1.0, 0.0]


def test_a_layout_made_by_hand_is_a_task_with_its_places_for_goals(scene):
    task = arranged({"red_cube": (0.1, -0.2004), "orange_ball": (0, 0.05)})
    assert task.goals == ("red_cube stands at (0.100, -0.200)", "orange_ball stands at (0.000, 0.050)")
    assert (task.objects, task.source) == (("red_cube", "orange_ball"), "human")
    program = write(task, scene, RulesModel())
    assert 'kit.at("red_cube", (0.100, -0.200))' in program.simulation
    assert "check_orange_ball_ends_where_it_was_wanted" in program.checks
    with pytest.raises(TaskError, match="nothing was moved"):
        arranged({})
    with pytest.raises(ModelError, match="the place for red_cube lies beside the table"):
        write(arranged({"red_cube": (3, 3)}), scene, RulesModel())


def test_a_task_reads_back_from_its_json():
    task = Task("stack", "Stack them.", ("a", "b"), ("b rests on a",), "stack", "human")
    assert task_from_json(task_to_json(task)) == task
    with pytest.raises(TaskError, match="the task has no objects, goals"):
        task_from_json({"name": "stack", "instruction": "Stack them."})
