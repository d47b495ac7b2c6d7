"""A task is split by rules or by a language model; both fill the same schema, and unusable answers are dropped."""

import json

import mujoco
import pytest
import small_task

from pipeline.learning.asset_parts import read_parts
from pipeline.learning.decomposition import KIND, DecompositionAnswer, decompose, question_data
from pipeline.learning.subtask import LearningError, to_row
from pipeline.models import ModelError
from pipeline.models.prompt_templates import load_prompt
from pipeline.planner import PlannerModel
from pipeline.simulation import kit
from scripts.scripted_model_server.rule_answers import RuleAnswers


class Answering:
    name = "test-model"

    def __init__(self, *rows):
        self.rows = rows

    def ask(self, question):
        assert question.kind == KIND
        return DecompositionAnswer(subtasks=list(self.rows))


def test_a_models_answers_are_subtasks_with_its_name_also_those_of_the_scripted_server(bowl_task, bowl_subtasks):
    rows = [to_row(one) for one in bowl_subtasks]
    found = decompose(small_task.task(), bowl_task, Answering(*rows))
    assert [one.name for one in found.subtasks] == [row["name"] for row in rows] and not found.dropped
    assert {one.source for one in found.subtasks} == {"test-model"}
    assert {one.source for one in bowl_subtasks} == {"rules"}
    prompt = load_prompt(KIND).fill(question_data(small_task.task(), bowl_task))
    answer = RuleAnswers().answer(KIND, prompt)
    assert answer is not None
    found = decompose(small_task.task(), bowl_task, Answering(*json.loads(json.dumps(answer))["subtasks"]))
    assert [one.name for one in found.subtasks] == [one.name for one in bowl_subtasks]


def test_unusable_answers_are_dropped_and_what_cannot_be_split_is_one_line(bowl_task, bowl_subtasks, table):
    reach, pick, place = (to_row(one) for one in bowl_subtasks)
    pick["success"] = [{"goal": "Held", "a": "unicorn"}]
    found = decompose(small_task.task(), bowl_task, Answering(reach, pick, place))
    assert [one.name for one in found.subtasks] == ["reach_red_cube"]
    assert "there is no object 'unicorn'" in found.dropped[0]
    assert "it starts after 'pick_red_cube'" in found.dropped[1]
    assert found.dropped[2] == "no subtask ends with: red_cube inside white_bowl"
    with pytest.raises(LearningError, match="test-model answered no subtask that can be used: subtask 'x'"):
        decompose(small_task.task(), bowl_task, Answering({"name": "x"}))
    made = small_task.layouts(table, kit.in_row(["red_cube", "blue_cube", "white_bowl"]))
    with pytest.raises(ModelError, match="the rules cannot split"):
        decompose(small_task.task(), made, PlannerModel())


def test_the_question_has_parts_joints_and_limits_and_every_goal_and_term(furniture):
    made = small_task.layouts(furniture, kit.opened("cabinet", "top_drawer"))
    data = question_data(small_task.task(), made)
    cabinet = next(asset for asset in data["assets"] if asset["name"] == "cabinet")
    drawer = next(part for part in cabinet["parts"] if part["name"] == "top_drawer")
    assert drawer["joint_type"] == "prismatic" and drawer["limit"] == [0.0, 0.15]
    prompt = load_prompt(KIND).fill(data)
    assert '{"goal": "Opened", "a": str, "part": str' in prompt and "joint_target(a, part" in prompt


def test_a_urdf_gives_the_parts_of_the_mjcf_that_it_states(tmp_path):
    (tmp_path / "box.urdf").write_text(
        '<robot name="box"><link name="case"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" '
        'iyz="0" izz="1"/></inertial></link><link name="lid"><inertial><mass value="1"/><inertia ixx="1" ixy="0" '
        'ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><joint name="hinge" type="revolute"><parent link="case"/>'
        '<child link="lid"/><axis xyz="1 0 0"/><limit lower="0" upper="1.5" effort="1" velocity="1"/></joint></robot>'
    )
    (lid,) = [part for part in read_parts(tmp_path / "box.urdf") if part["name"] == "lid"]
    assert lid["joint_name"] == "hinge" and lid["joint_type"] == "revolute" and lid["limit"] == [0.0, 1.5]
    mujoco.mj_saveLastXML(str(tmp_path / "box.xml"), mujoco.MjModel.from_xml_path(str(tmp_path / "box.urdf")))
    assert lid in read_parts(tmp_path / "box.xml")
    (tmp_path / "broken.urdf").write_text("<robot")
    with pytest.raises(LearningError, match=r"broken\.urdf cannot be read as URDF or MJCF"):
        read_parts(tmp_path / "broken.urdf")
