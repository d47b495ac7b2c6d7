"""A round keeps its rollouts as judged, a rehearsal the layout it reached; solved programs are kept without secrets."""

import json
import zipfile
from dataclasses import replace

import mujoco
import numpy as np
import pytest
import tabletop
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pipeline.planner import PlannerModel
from pipeline.rehearsal import picture_path, read_rehearsal, rehearse
from pipeline.router import judging, read_record, read_rounds, write_round
from pipeline.router.route import RouteOptions, RouteStart, route, write_program
from pipeline.router.solved_programs import (
    SolvedProgram,
    example_json,
    keep_solved,
    kit_version,
    nearest_solved,
    object_facts,
    read_solved,
)
from pipeline.simulation.kit import Scene
from pipeline.tasks import Task, propose, understand_instruction

RULES = PlannerModel()


@pytest.fixture(scope="module")
def judged(tmp_path_factory, sandbox):
    """A project with a failed round and its repair, and what was reported while they were judged."""
    project, reported = tabletop.write(tmp_path_factory.mktemp("table")), []
    scene = Scene.load(project)
    task = understand_instruction("swap the red cube and the green cube", scene, RULES)
    good = write_program(task, scene, RULES)
    place = "place_of_green_cube"
    bad = replace(good, simulation=good.simulation.replace(f"{place})", f"{place}, tolerance=1e-5)"))
    assert bad != good
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "MUTATION_KINDS", ())
        for one in route(task, project, RULES, sandbox, RouteOptions(on_rollout=reported.append), RouteStart(bad)):
            write_round(one, project)
    return project, reported


def test_replaying_any_round_gives_the_poses_rewards_and_goals_of_its_report(judged):
    project, reported = judged
    rounds = read_rounds(project)
    assert len(rounds) > 1 and not rounds[0].report.clean and rounds[-1].report.clean
    for shown in rounds:
        first, *_ = records = read_record(project / "rounds" / f"{shown.number:03d}")
        (project / "scene" / "replayed.xml").write_text(first.xml)
        model = mujoco.MjModel.from_xml_path(str(project / "scene" / "replayed.xml"))
        data = mujoco.MjData(model)
        for name, motion in shown.report.evidence["objects"].items():
            data.qpos[:] = first.qpos[-1]
            mujoco.mj_kinematics(model, data)
            np.testing.assert_allclose(data.body(name).xpos, motion["end"], atol=1e-6)
        assert first.times[-1] == pytest.approx(shown.report.evidence["simulated_seconds"])
        assert [record.seed for record in records] == list(judging.SEEDS)
        assert [record.reward for record in records] == list(shown.report.reward)
        for record in records:
            progress = record.progress
            assert progress and len(progress.times) > 10 and progress.times[-1] == record.times[-1]
            met = [bool(miss <= 0) for miss in progress.misses[-1]]
            assert met == [goal["met"] for goal in record.goals]
            assert {"a": "red_cube", "b": "table"} in [{"a": c.a, "b": c.b} for c in progress.contacts]
            assert all(c.start <= c.end <= record.times[-1] for c in progress.contacts)
    assert {one.number for one in reported if one.record.seed == 0} == {0, 1}
    assert next(one.parent for one in reported if one.number == 1) == 0 and reported[-1].change


@pytest.mark.parametrize("damage", ["truncated", "huge", "another length", "gone"])
def test_a_damaged_record_counts_as_none(judged, tmp_path, damage, monkeypatch):
    data = (judged[0] / "rounds" / "000" / "record.npz").read_bytes()
    file = tmp_path / "record.npz"
    if damage == "truncated":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "huge":
        file.write_bytes(data)
        with zipfile.ZipFile(file) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        monkeypatch.setattr("pipeline.store.files.MAX_ARRAY_BYTES", size - 1)
    elif damage == "another length":
        with np.load(judged[0] / "rounds" / "000" / "record.npz") as arrays:
            np.savez(file, **{**arrays, "times": arrays["times"][:-1]})
    assert read_record(tmp_path) == ()


STACK = Task("stack", "Stack the red cube on the blue cube.", ("red_cube", "blue_cube"), (), "stack")
SORT = Task("sort", "Sort the cans into a row by height.", ("yellow_can",), (), "sort_by_height")


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


def test_the_nearest_task_comes_first_and_of_other_goals_none_comes(solved, objects):
    farther = replace(STACK, name="farther", instruction="Stack some cans.", objects=("yellow_can",))
    kept = [solved(farther), solved(SORT), solved(STACK)]
    asked = replace(STACK, instruction="Stack the green cube on the red cube.", objects=("green_cube", "red_cube"))
    nearest = nearest_solved(kept, asked, objects, "another", 3)
    assert [one.task.name for one in nearest] == ["stack", "farther"]
    planned = replace(asked, goals=("green_cube is next to red_cube",), planned=())
    assert not nearest_solved(kept, planned, objects, "another", 3), "what holds in the end is another kind"
    assert len(nearest_solved(kept, asked, objects, "another", 1)) == 1


@given(scenes=st.lists(st.sampled_from("abc"), max_size=6), under_test=st.sampled_from("abcd"))
def test_no_example_comes_from_the_scene_under_test(scenes, under_test):
    kept = [SolvedProgram(scene, (), STACK, "s", "c", "rules", 1.0, kit_version()) for scene in scenes]
    nearest = nearest_solved(kept, STACK, (), under_test, 10)
    assert under_test not in {one.scene_key for one in nearest}
    assert len(nearest) == len(scenes) - scenes.count(under_test)


@pytest.fixture(scope="module")
def pictured(tmp_path_factory):
    folder = tabletop.write(tmp_path_factory.mktemp("table"))
    scene = folder / "scene" / "scene.xml"
    camera = '<camera name="photo" pos="0 -0.8 0.6" xyaxes="1 0 0 0 0.6 0.8" fovy="50"/>'
    scene.write_text(scene.read_text().replace("<worldbody>", f"<worldbody>{camera}"))
    return folder


def test_a_solvable_task_has_its_goal_layout_and_a_picture_of_it(pictured, sandbox):
    task = understand_instruction("put the green cube on the blue cube", Scene.load(pictured), RULES)
    assert read_rehearsal(task, pictured) is None
    rehearsal = rehearse(task, pictured, sandbox)
    assert rehearsal.solved and rehearsal.reason == "" and rehearsal.carries >= 1
    upper, lower = rehearsal.poses["green_cube"].pos, rehearsal.poses["blue_cube"].pos
    assert np.hypot(*(upper - lower)[:2]) < 0.03 and upper[2] - lower[2] == pytest.approx(0.05, abs=0.003)
    assert set(rehearsal.poses) == set(tabletop.OBJECTS)
    assert read_rehearsal(task, pictured).poses["green_cube"].pos == pytest.approx(upper)
    path = picture_path(rehearsal.key, pictured)
    assert path is not None and Image.open(path).size == (360, 240)
    assert len(Image.open(path).convert("RGB").getcolors(100_000)) > 50
    assert rehearse(task, pictured, None).poses.keys() == rehearsal.poses.keys()  # read, not run again
    assert read_rehearsal(task, pictured, "arm-suction") is None
    by_suction = rehearse(task, pictured, sandbox, "arm-suction")
    assert by_suction.solved and set(by_suction.poses) == set(tabletop.OBJECTS)
    assert read_rehearsal(task, pictured, "arm") is None


def test_an_unsolvable_proposal_has_a_reason_and_no_picture_and_a_new_scene_is_rehearsed(pictured, sandbox, tmp_path):
    task = Task("stack", "Stack them.", ("red_cube", "orange_ball"), ("red_cube rests on orange_ball",))
    rehearsal = rehearse(task, pictured, sandbox)
    assert rehearsal.solved is None and "nothing stays on a sphere" in rehearsal.reason
    assert not rehearsal.poses and picture_path(rehearsal.key, pictured) is None
    assert picture_path("../scene/scene", pictured) is None and picture_path("../../etc/passwd", pictured) is None
    (task, *_) = propose(Scene.load(pictured), RULES)
    other = tabletop.write(tmp_path, objects={k: v for k, v in tabletop.OBJECTS.items() if k in task.objects})
    rehearsed = rehearse(task, other, sandbox)
    assert read_rehearsal(task, other) is not None
    file = other / "tasks" / f"{rehearsed.key}.json"
    kept = json.loads(file.read_text())
    for damaged in (b"{", b"null", b"[]", json.dumps({**kept, "poses": {"cup": True}}).encode()):
        file.write_bytes(damaged)
        assert read_rehearsal(task, other) is None, "it is rehearsed again"
    file.write_text(json.dumps(kept))
    assert read_rehearsal(task, other) is not None
    scene = json.loads((other / "scene.json").read_text())
    scene["placements"][0]["world_from_object"]["pos"][0] += 0.01
    (other / "scene.json").write_text(json.dumps(scene))
    assert read_rehearsal(task, other) is None
