"""Solved programs are kept without secrets and come back as examples for similar tasks of other scenes."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.router.solved_programs import (
    SolvedProgram,
    example_json,
    keep_solved,
    kit_version,
    nearest_solved,
    object_facts,
    read_solved,
)
from pipeline.tasks import Task

STACK = Task("stack", "Stack the red cube on the blue cube.", ("red_cube", "blue_cube"), (), "stack")
SORT = Task("sort", "Sort the cans into a row by height.", ("yellow_can",), (), "sort_by_height")
POUR = Task("bring", "Bring me coffee", ("white_bowl",), (), "")


@pytest.fixture(scope="module")
def objects(scene):
    return object_facts(scene)


@pytest.fixture
def solved(objects):
    return lambda task, scene="one": SolvedProgram(scene, objects, task, "s", "c", "rules", 1.0, kit_version())


def test_a_kept_program_reads_back_until_the_kit_changes_without_keys_and_folders(solved, tmp_path, monkeypatch):
    one = solved(STACK)
    keep_solved(one, tmp_path)
    keep_solved(one, tmp_path)
    (read,) = read_solved(tmp_path)
    assert example_json(read) == example_json(one) and read.task == STACK
    keep_solved(replace(solved(SORT), kit_version="older"), tmp_path)
    (tmp_path / "damaged.json").write_text("{")
    assert [one.task for one in read_solved(tmp_path)] == [STACK]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")
    leaky = replace(solved(STACK), simulation="# /home/someone/table/rgb.png sk-very-secret-0123456789")
    text = keep_solved(leaky, tmp_path).read_text()
    assert "someone" not in text and "very-secret" not in text and "rgb.png" in json.loads(text)["simulation"]


def test_the_nearest_task_comes_first_and_unlike_ones_do_not_come(solved, objects):
    kept = [solved(SORT), solved(STACK), solved(POUR)]
    asked = replace(STACK, instruction="Stack the green cube on the red cube.", objects=("green_cube", "red_cube"))
    nearest = nearest_solved(kept, asked, objects, "another", 3)
    assert [one.task.name for one in nearest] == ["stack", "sort"], "the coffee has no word in common"
    assert len(nearest_solved(kept, asked, objects, "another", 1)) == 1


@given(scenes=st.lists(st.sampled_from("abc"), max_size=6), under_test=st.sampled_from("abcd"))
def test_no_example_comes_from_the_scene_under_test(scenes, under_test):
    kept = [SolvedProgram(scene, (), STACK, "s", "c", "rules", 1.0, kit_version()) for scene in scenes]
    nearest = nearest_solved(kept, STACK, (), under_test, 10)
    assert under_test not in {one.scene_key for one in nearest}
    assert len(nearest) == len(scenes) - scenes.count(under_test)
