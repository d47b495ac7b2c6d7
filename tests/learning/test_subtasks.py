"""A task is split into subtasks by rules or by a model; subtasks are data, and unusable ones are refused."""

import copy
import json

import pytest
import small_task

from pipeline.learning.decomposition import KIND, DecompositionAnswer, decompose, missing_goals, question_data
from pipeline.learning.subtask import LearningError, from_row, read_subtasks, require_usable, to_row, write_subtasks
from pipeline.learning.terms import REWARD_TERMS, term_manual
from pipeline.models import ModelError
from pipeline.models.prompt_templates import load_prompt
from pipeline.planner import PlannerModel
from pipeline.simulation import kit
from scripts.scripted_model_server.rule_answers import RuleAnswers


@pytest.fixture(scope="module")
def tasks(table, furniture):
    on_table = {
        "inside": kit.inside("red_cube", "white_bowl"),
        "on": kit.on("red_cube", "blue_cube"),
        "tower": kit.stacked(["blue_cube", "red_cube"]),
        "at": kit.at("red_cube", (0.2, 0.0)),
        "near": kit.near("red_cube", "blue_cube"),
    }
    made = {name: small_task.layouts(table, goal) for name, goal in on_table.items()}
    made["zone"] = small_task.layouts(table, kit.in_zone("red_cube", "zone"), zone=((0.2, 0.1), (0.16, 0.16)))
    parts = {"open": kit.opened("cabinet", "top_drawer"), "door": kit.opened("oven", "door")}
    made |= {name: small_task.layouts(furniture, goal) for name, goal in parts.items()}
    in_drawer = kit.inside_part("red_cube", "cabinet", "top_drawer"), kit.closed("cabinet", "top_drawer")
    return made | {"drawer": small_task.layouts(furniture, *in_drawer)}


@pytest.mark.parametrize("name", ["inside", "on", "tower", "at", "near", "zone", "open", "door", "drawer"])
def test_the_rules_split_a_task_into_a_chain_that_ends_with_its_goals_and_reads_back_as_written(tasks, name, tmp_path):
    made = tasks[name]
    found = small_task.subtasks(made)
    assert [one.start for one in found] == ["reset", *(one.name for one in found[:-1])]
    assert missing_goals(found, made.base.goals) == []
    require_usable(found, made.base.objects, list(made.base.zones))
    write_subtasks(tmp_path / "subtasks.json", found)
    assert read_subtasks(tmp_path / "subtasks.json") == found
    rows = json.loads((tmp_path / "subtasks.json").read_text())
    assert [set(row) for row in rows] == [{"name", "instruction", "start", "success", "reward", "source"}] * len(rows)
    assert all(set(term) == {"term", "args", "weight"} for row in rows for term in row["reward"])


def test_a_push_is_learned_as_a_push_a_later_object_keeps_the_earlier_one_and_a_row_is_not_split(tasks, table):
    names = [one.name for one in small_task.subtasks(tasks["zone"], "Push the red cube into the zone.")]
    assert names == ["reach_red_cube", "push_red_cube"]
    made = small_task.layouts(table, kit.inside("red_cube", "white_bowl"), kit.at("blue_cube", (0.2, 0.0)))
    assert set(small_task.subtasks(made)[-1].success) == set(made.base.goals)
    row = small_task.layouts(table, kit.in_row(["red_cube", "blue_cube", "white_bowl"]))
    with pytest.raises(ModelError, match="the rules cannot split"):
        decompose(small_task.task(), row, PlannerModel())
    lines = [line for line in term_manual().splitlines() if not line.startswith(" ")]
    assert {line.partition("(")[0].partition(":")[0] for line in lines} == set(REWARD_TERMS)


@pytest.mark.parametrize(
    ("number", "change", "reason"),
    [
        (0, lambda r: r.update(success=[{"goal": "Flying", "a": "red_cube"}]), "there is no goal of the kind 'Flying'"),
        (0, lambda r: r["reward"][0].update(term="joy"), "there is no reward term 'joy'; there are: approach, code"),
        (0, lambda r: r["reward"][0].update(args={"b": 1}), "the reward term hand_distance takes a, part"),
        (0, lambda r: r.update(name="Reach it!"), "name: String should match pattern"),
        (0, lambda r: r.update(start="pick_red_cube"), "it starts after 'pick_red_cube'; before it there are: none"),
        (1, lambda r: r.update(name="reach_red_cube"), "there are two subtasks 'reach_red_cube'"),
        (0, lambda r: r["success"][0].update(a="cup"), "there is no object 'cup'; there are: red_cube, blue_cube"),
        (0, lambda r: r["success"][0].update(part="lid"), "red_cube has no part 'lid'; it has: none that moves"),
        (0, lambda r: r.update(success=[{"goal": "InZone", "a": "red_cube", "zone": "z"}]), "there is no zone 'z'"),
    ],
)
def test_a_subtask_that_cannot_be_used_is_refused_in_one_line(bowl_task, bowl_subtasks, number, change, reason):
    rows = copy.deepcopy([to_row(one) for one in bowl_subtasks])
    change(rows[number])
    with pytest.raises(LearningError) as refused:
        require_usable([from_row(row) for row in rows], bowl_task.base.objects, list(bowl_task.base.zones))
    assert reason in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["[", "{}", "[]", '[{"name": "a"}]'])
def test_a_damaged_file_is_refused_in_one_line(tmp_path, text):
    (tmp_path / "subtasks.json").write_text(text)
    with pytest.raises(LearningError, match=r"\A.*\Z"):
        read_subtasks(tmp_path / "subtasks.json")


class Answering:
    name = "test-model"

    def __init__(self, *rows):
        self.rows = rows

    def ask(self, question):
        assert question.kind == KIND
        return DecompositionAnswer(subtasks=list(self.rows))


def test_the_answers_of_a_model_that_can_be_used_are_its_subtasks(bowl_task, bowl_subtasks):
    assert {one.source for one in bowl_subtasks} == {"rules"}
    answer = RuleAnswers().answer(KIND, load_prompt(KIND).fill(question_data(small_task.task(), bowl_task)))
    for rows in ([to_row(one) for one in bowl_subtasks], json.loads(json.dumps(answer))["subtasks"]):
        found = decompose(small_task.task(), bowl_task, Answering(*rows))
        assert [one.name for one in found.subtasks] == [one.name for one in bowl_subtasks] and not found.dropped
        assert {one.source for one in found.subtasks} == {"test-model"}
    reach, pick, place = (to_row(one) for one in bowl_subtasks)
    pick["success"] = [{"goal": "Held", "a": "unicorn"}]
    found = decompose(small_task.task(), bowl_task, Answering(reach, pick, place))
    assert [one.name for one in found.subtasks] == ["reach_red_cube"]
    assert "there is no object 'unicorn'" in found.dropped[0]
    assert "it starts after 'pick_red_cube'" in found.dropped[1]
    assert found.dropped[2] == "no subtask ends with: red_cube inside white_bowl"
    with pytest.raises(LearningError, match="test-model answered no subtask that can be used: subtask 'x'"):
        decompose(small_task.task(), bowl_task, Answering({"name": "x"}))


def test_the_question_has_parts_joints_and_limits_and_every_goal_and_term(furniture):
    made = small_task.layouts(furniture, kit.opened("cabinet", "top_drawer"))
    data = question_data(small_task.task(), made)
    cabinet = next(asset for asset in data["assets"] if asset["name"] == "cabinet")
    drawer = next(part for part in cabinet["parts"] if part["name"] == "top_drawer")
    assert drawer["joint_type"] == "prismatic" and drawer["limit"] == [0.0, 0.15]
    prompt = load_prompt(KIND).fill(data)
    assert '{"goal": "Opened", "a": str, "part": str' in prompt and "joint_target(a, part" in prompt
