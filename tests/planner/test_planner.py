"""The offline planner reads instructions, proposes tasks and writes programs; a model's answer becomes tasks."""

# ruff: noqa: E501  (tables of sentences read best one a line)

import ast
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import tabletop
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from pipeline import tasks
from pipeline.models import ModelError, Question
from pipeline.planner import PlannerModel, program_source, program_writer
from pipeline.planner.plans import difficulty, why_infeasible
from pipeline.planner.proposals import MAX_SAFE_RISK, TASK_INTEREST, proposals
from pipeline.planner.scene_objects import TableTop, scene_objects
from pipeline.planner.zones import place_zones
from pipeline.router import ProgramAnswer, write_program
from pipeline.simulation.goals.sentences import planned_from_json, planned_to_json, read_sentences, sentences
from pipeline.simulation.goals.spec import PlannedGoal
from pipeline.simulation.kit import Scene
from pipeline.simulation.program import Program
from pipeline.simulation.sandbox.guard import guard
from pipeline.tasks import TaskError, UnderstoodAnswer, propose, scene_to_json, task_to_json, understand_instruction

RULES = PlannerModel()


CUBES = "blue_cube, red_cube and green_cube are stacked, bottom first"
RAINBOW = "red_cube, orange_ball, yellow_can, green_cube, blue_cube, purple_carton and white_bowl stand in a row from left to right"


@pytest.mark.parametrize(
    "words, goals",
    [
        ("discard all the cylinders", ["yellow_can is inside bin, set out on the table"]),
        ("stack the cubes together", [CUBES]),
        ("sort the objects in rainbow order", [RAINBOW]),
        ("put the smallest cube on top of the biggest one", ["green_cube rests on blue_cube"]),
        ("put two of the cubes in the bowl", ["blue_cube is inside white_bowl", "red_cube is inside white_bowl"]),
        ("swap the can with the ball", ["yellow_can stands where orange_ball stood", "orange_ball stands where yellow_can stood"]),
        ("move everything except the bowl, the can, the ball and the carton to the left side of the table",
         ["red_cube is in left_zone, marked on the table", "green_cube is in left_zone, marked on the table", "blue_cube is in left_zone, marked on the table"]),
        ("order the cubes by height, tallest first", ["blue_cube, red_cube and green_cube stand in a row from left to right"]),
        ("first put the ball in the bowl, then stack the red cube on the blue cube", ["orange_ball is inside white_bowl", "then red_cube rests on blue_cube"]),
        ("sort the cubes by size, but do not move the others", ["green_cube, red_cube and blue_cube stand in a row from left to right", "yellow_can stays where it stands", "orange_ball stays where it stands", "white_bowl stays where it stands", "purple_carton stays where it stands"]),
        ("mirror the cubes", ["red_cube, green_cube and blue_cube are mirrored, left and right exchanged"]),
        ("make room on the right", ["blue_cube is outside right_zone, marked on the table", "yellow_can is outside right_zone, marked on the table", "purple_carton is outside right_zone, marked on the table"]),
        ("gather all red and blue things", ["red_cube is in zone, marked on the table", "blue_cube is in zone, marked on the table"]),
        ("red_cube rests on blue_cube; then orange_ball is inside white_bowl", ["red_cube rests on blue_cube", "then orange_ball is inside white_bowl"]),
    ],
)  # fmt: skip
def test_a_persons_words_become_the_goals_they_mean(scene, words, goals):
    task = understand_instruction(words, scene, RULES)
    assert list(task.goals) == goals
    assert task.source == "human" and task.instruction == words


@pytest.mark.parametrize(
    "words, why, offer",
    [
        ("", "the instruction is empty", ""),
        ("sort " + "the objects " * 99, "say it shorter", ""),
        ("asdf qwer", 'not understood: "asdf", "qwer"; say what to do with which of: the red cube, ', "."),
        ("pour the can into the bowl", "does not pour", ""),
        ("Put the bule cube into the bowel!", 'not understood: "bule", "bowel"', "Put the blue cube into the bowl!"),
        ("put the cube in the bowl", "may mean the red cube or the green cube or the blue cube: say which", "put the red cube in the bowl"),
        ("then put the ball in the bowl", "after what?", "Put the orange ball into the white bowl."),
        ("move the ball next to the can at the front", "no task is read in these words", "orange ball"),
        ("the ball is behind the bowl?", "that is a question", ""),
        ("put three balls in the bowl", "there are 1 of them", "orange ball into the white bowl"),
        ("stack the balls", "only one object (the orange ball), stacking needs two", ""),
        ("stack everything", "the orange ball is a sphere: it rolls off", "Stack"),
        ("put the red ball in the bowl", "there is no red ball here; there are: the red cube", "bowl"),
        ("put the bowl in the bowl", "cannot go into itself", "white bowl"),
        ("put the green cube to the left of the blue cube", "is left of the blue cube already", "green cube"),
    ],
)  # fmt: skip
def test_other_words_are_answered_with_the_reason_and_tasks_that_can_be_done(scene, words, why, offer):
    with pytest.raises(TaskError, match=re.escape(why)) as error:
        understand_instruction(words, scene, RULES)
    works = [*filter(None, [error.value.suggestion]), *error.value.alternatives]
    assert len(works) <= 3 and (not words or not offer or offer in works[0]), works
    assert not (error.value.suggestion and error.value.alternatives), "one question, one kind of answer"
    assert all(understand_instruction(one, scene, RULES).objects for one in works)


def test_a_container_that_is_missing_or_too_narrow_is_refused_with_centimetres_or_an_alternative(tmp_path):
    objects_by_name = {
        "red_mug": ("mug", "bowl", "red", (0.08, 0.08, 0.09), (0, 0), 0.2),
        "yellow_box": ("box", "box", "yellow", (0.1, 0.09, 0.1), (0.2, 0), 0.2),
    }
    scene = Scene.load(tabletop.write(tmp_path, objects=objects_by_name))
    with pytest.raises(TaskError, match=r"the yellow box \(9 cm wide\) does not fit into the red mug \(7 cm inside\)"):
        understand_instruction("put the box in the mug", scene, RULES)
    objects_by_name = {name: one for name, one in tabletop.OBJECTS.items() if "bowl" not in name}
    scene = Scene.load(tabletop.write(tmp_path / "without", objects=objects_by_name))
    with pytest.raises(TaskError, match='not understood: "bowl"'):
        understand_instruction("put the ball in the bowl", scene, RULES)
    task = understand_instruction("put the ball in a tray", scene, RULES)
    assert task.goals == ("orange_ball is inside tray, set out on the table",)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=80) | st.lists(st.sampled_from(
    ["put", "stack", "the", "all", "red", "cube", "cubes", "ball", "bowl", "in", "on", "and", "then", ",", ";", "it", "to", "left", "of", "sort", "by", "size", "swap", "with", "except", "between", "two", "a"]
), max_size=12).map(" ".join))  # fmt: skip
def test_any_words_give_a_task_or_a_reason_and_nothing_else(scene, words):
    try:
        task = understand_instruction(words, scene, RULES)
    except TaskError as error:
        assert str(error)
    else:
        assert read_sentences(task.goals) and task.objects


NAMES = st.lists(st.sampled_from(list(tabletop.OBJECTS)), min_size=2, max_size=4, unique=True).map(tuple)
PAIRS = ("on", "where", "near", "away", "left_of", "right_of", "in_front_of", "behind")
CENTIMETRES = st.integers(-20, 20).map(lambda n: n / 100)
GOALS = st.one_of(
    st.builds(PlannedGoal, st.just("stacked"), NAMES),
    st.builds(PlannedGoal, st.just("in_row"), NAMES, st.sampled_from(["right", "away"])),
    st.builds(PlannedGoal, st.sampled_from(PAIRS), NAMES.map(lambda names: names[:2])),
    st.builds(PlannedGoal, st.just("inside"), NAMES.map(lambda names: (names[0], "bin")), new_container=st.just(True)),
    st.builds(PlannedGoal, st.just("inside"), NAMES.map(lambda names: names[:2])),
    st.builds(PlannedGoal, st.just("in_zone"), NAMES.map(lambda names: (names[0], "left_zone"))),
    st.builds(PlannedGoal, st.just("outside"), NAMES.map(lambda names: (names[0], "left_zone"))),
    st.builds(PlannedGoal, st.just("mirrored"), NAMES),
    st.builds(PlannedGoal, st.just("at"), NAMES.map(lambda names: names[:1]), xy=st.tuples(CENTIMETRES, CENTIMETRES)),
    st.builds(PlannedGoal, st.just("on_table"), NAMES.map(lambda names: names[:1])),
)


@given(st.lists(GOALS, min_size=1, max_size=4), st.lists(st.integers(0, 1), min_size=4, max_size=4))
def test_goals_read_back_as_what_they_were_written_from(goals, steps):
    stages = [sum(steps[1 : i + 1]) for i in range(len(goals))]
    staged = tuple(replace(a, stage=stage) for a, stage in zip(goals, stages, strict=True))
    assert read_sentences(sentences(staged)) == staged
    assert planned_from_json(json.loads(json.dumps(planned_to_json(staged)))) == staged


@settings(max_examples=60, deadline=None)
@given(st.lists(GOALS, min_size=1, max_size=3, unique=True))
def test_every_written_program_passes_the_guard_and_reads_back(data, goals):
    known = {o.name: o for o in scene_objects(data)}
    names = dict.fromkeys(name for goal in goals for name in goal.objects)
    assume(place_zones(goals, [known[name] for name in names], TableTop.from_json(data)) is not None)
    assume(sum(goal.kind == "mirrored" for goal in goals) < 2)  # one program mirrors one group
    program = Program(program_writer.simulation_source("do it", goals, data), program_writer.checks_source(goals))
    assert guard(program) == ()
    assert program_source.planned_goals(program.simulation) == tuple(goals)


SIZES = st.floats(0.03, 0.2).map(lambda v: round(v, 3))


@st.composite
def tables(draw):
    """Any objects at any place of a table, as a question holds them."""
    objects = []
    for index in range(draw(st.integers(1, 7))):
        shape = draw(st.sampled_from(["box", "cube", "cylinder", "sphere", "bowl", "irregular"]))
        colour = draw(st.sampled_from(["red", "green", "blue", "yellow", "white"]))
        size = [draw(SIZES), draw(SIZES), draw(SIZES)]
        objects.append({
            "name": f"{colour}_{shape}_{index}", "category": shape, "shape": shape, "colour": colour, "size": size,
            "position": [draw(st.floats(-0.4, 0.4)), draw(st.floats(-0.3, 0.3)), size[2] / 2], "container": shape == "bowl",
        })  # fmt: skip
    polygon = [[-0.5, -0.4], [0.5, -0.4], [0.5, 0.4], [-0.5, 0.4]]
    return {"objects": objects, "table": {"polygon": polygon}, "right": [1, 0], "away": [0, 1]}


@settings(max_examples=30, deadline=None)
@given(tables())
def test_proposals_are_solvable_mean_what_they_say_and_the_safest_and_richest_rank_first(table):
    plans = proposals(table)
    safe, unsafe = [p for p in plans if p.risk <= MAX_SAFE_RISK], [p for p in plans if p.risk > MAX_SAFE_RISK]
    assert plans == (*safe, *unsafe)
    riches = [TASK_INTEREST.get(p.kind, 0) for p in safe]
    assert riches == sorted(riches, reverse=True)
    assert [p.risk for p in unsafe] == sorted(p.risk for p in unsafe)
    for plan in plans:
        assert why_infeasible(plan.goals, table) == ""
        assert read_sentences(plan.answer()["goals"]) == plan.goals
        answer = RULES.ask(Question("understand_task", {"text": plan.instruction, "scene": table}, UnderstoodAnswer))
        assert answer.fits and set(read_sentences(answer.goals)) == set(plan.goals), (plan.instruction, answer.reason)
        ast.parse(program_writer.simulation_source(plan.instruction, plan.goals, table))


@pytest.mark.parametrize("name", list(tabletop.OBJECTS))
def test_one_lone_object_still_has_tasks(tmp_path, name):
    scene = Scene.load(tabletop.write(tmp_path, objects={name: tabletop.OBJECTS[name]}))
    tasks = propose(scene, RULES)
    assert {task.kind for task in tasks} >= {"move_to"}
    assert all(task.objects == (name,) for task in tasks)


def test_proposals_are_of_many_kinds_and_more_to_carry_looks_harder(scene, data):
    tasks = propose(scene, RULES, count=20)
    kinds = {task.kind for task in tasks}
    assert all(task.difficulty is not None and 0 <= task.difficulty <= 1 for task in tasks)
    assert kinds >= {*TASK_INTEREST, "move_near", "move_away"} - {
        "put_in_tray",
        "take_out",
        "put_in_drawer",
        "open",
        "close",
    }
    one, two = PlannedGoal("in_zone", ("red_cube", "zone")), PlannedGoal("in_zone", ("blue_cube", "zone"))
    tall = PlannedGoal("stacked", ("blue_cube", "red_cube", "green_cube"))
    later = PlannedGoal("in_zone", one.names, stage=1)
    levels = [difficulty(goals, data) for goals in ((one,), (one, two), (tall,), (tall, later))]
    assert levels == sorted(levels) and len(set(levels)) == 4


def test_an_unknown_question_is_named_and_a_task_in_other_words_is_read_from_its_instruction(data, scene):
    with pytest.raises(ModelError, match='do not answer "sing"; they answer: describe_segment'):
        RULES.ask(Question("sing", {}, UnderstoodAnswer))
    task = task_to_json(understand_instruction("put the ball in the bowl", scene, RULES))
    task["goals"] = ["the ball has found its home"]
    answer = RULES.ask(Question("write_program", {"task": task, "scene": data}, ProgramAnswer))
    assert 'kit.inside("orange_ball", "white_bowl")' in answer.simulation
    with pytest.raises(ModelError, match="cannot write a program for this task"):
        RULES.ask(Question("write_program", {"task": task | {"instruction": "be nice"}, "scene": data}, ProgramAnswer))


@pytest.mark.parametrize("words", ["the yellow object and the red cube", "the red cube and the yellow object"])
def test_an_object_without_a_noun_of_its_own_takes_none_from_its_neighbour(data, words):
    last = data["objects"][-1]
    unknown = last | {"name": "yellow_object", "colour": "yellow", "shape": "irregular", "category": ""}
    scene = data | {"objects": [*data["objects"][:-1], unknown]}
    question = {"text": f"Swap the places of {words}", "scene": scene}
    answer = RULES.ask(Question("understand_task", question, UnderstoodAnswer))
    assert answer.fits and set(answer.objects) == {"yellow_object", "red_cube"}, answer


@pytest.fixture(scope="session")
def data(scene):
    return scene_to_json(scene)


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
    model = ScriptedModel(tasks.TasksAnswer(tasks=[LIFT]))
    (task,) = tasks.ask_for_proposals(scene, model, learned="one\ntwo").tasks
    assert model.questions[0].data["scene"]["earlier_proposals"] == ["one", "two"]
    assert task == tasks.Task("lift_it", "Lift the ball.", ("orange_ball",), ("it flies",), "lift", "scripted")
    hard = tasks.TasksAnswer.model_validate({"tasks": [LIFT.model_dump() | {"difficulty": 7.5}]})
    assert tasks.propose(scene, ScriptedModel(hard))[0].difficulty == 1.0
    ghost = LIFT.model_copy(update={"objects": ["pink_elephant"]})
    wordless = LIFT.model_copy(update={"name": "", "instruction": " "})
    answered = tasks.ask_for_proposals(scene, ScriptedModel(tasks.TasksAnswer(tasks=[ghost, LIFT, wordless])))
    assert [task.name for task in answered.tasks] == ["lift_it"]
    dropped = [(one.task.name, one.reason) for one in answered.dropped]
    assert dropped == [("lift_it", "there is no pink_elephant here"), ("task", "it has no instruction")]
    assert tasks.propose(scene, ScriptedModel(tasks.TasksAnswer(tasks=[ghost]))) == ()


def test_an_instruction_is_understood_impossible_or_misunderstood_and_questions_list_every_object(scene):
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
    data = tasks.scene_to_json(scene, {"yellow_can": "a tin of soup"})
    assert [o["name"] for o in data["objects"]] == list(tabletop.OBJECTS)
    can = next(o for o in data["objects"] if o["name"] == "yellow_can")
    assert can["caption"] == "a tin of soup" and can["size"] == [0.066, 0.066, 0.1] and can["shape"] == "cylinder"
    assert len(data["table"]["polygon"]) == 4 and data["right"] == [1.0, 0.0]
    named = {"red_cube": {"handle": np.array([0.025, 0.0, 0.01])}}
    objects = [replace(one, affordances=named.get(one.name, {})) for one in scene.objects]
    more = tasks.scene_to_json(replace(scene, objects=tuple(objects)), {"yellow_can": "a tin of soup"})
    assert more["objects"][0].pop("affordances") == {"handle": [-0.155, -0.05, 0.035]}
    assert more == data, "a scene without affordances asks what it asked before"


def test_a_layout_made_by_hand_is_a_task_with_its_positions_as_goals_and_a_task_reads_back_from_its_json(scene):
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
    task = tasks.Task("stack", "Stack them.", ("a", "b"), ("b rests on a",), "stack", "human")
    value = tasks.task_to_json(task)
    assert value["planned"] == [[{"goal": "on", "names": ["b", "a"]}]]
    assert tasks.task_from_json(value) == task == tasks.task_from_json({**value, "planned": None})
    assert tasks.task_from_json({**value, "goals": ["a is upright"]}).planned == (PlannedGoal("upright", ("a",)),)
    renamed = tasks.rename_in_task(task, lambda text: text.replace("a", "c"))
    assert renamed.planned == (PlannedGoal("on", ("b", "c")),) and "planned" not in tasks.question_task(task)
    with pytest.raises(tasks.TaskError, match="the task has no objects, goals"):
        tasks.task_from_json({"name": "stack", "instruction": "Stack them."})
