"""`grs-studio learn`, and what the Learn page asks: edits as decisions, recorded episodes, one training at a time."""

import json
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import cabinet
import drawn_scene as make
import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason='stable-baselines3 is missing: pip install "grs-studio[learn]"')

from planted_policies import Scripted, expert, hover, stand_still, wander

from pipeline.learning import training
from pipeline.learning.edits import edited, followed, possible_goals, possible_terms
from pipeline.learning.environment import SubtaskEnv
from pipeline.learning.episodes import play
from pipeline.learning.judging import ablation
from pipeline.learning.judging.failures import failure_of
from pipeline.learning.judging.rollouts import read_rollouts, rollout_of, smooth, some, write_rollouts
from pipeline.learning.subtask import LearningError, from_row, to_row
from pipeline.project import Project
from pipeline.router import Round, write_round
from pipeline.scene.scene_files import write_scene
from pipeline.simulation import CheckResult, Program, Report
from pipeline.store import write_json
from pipeline.tasks import Task, task_to_json
from studio.__main__ import main
from studio.learn import learn_requests
from studio.learn.project_learner import keep_apart
from studio.server.errors import RequestError

pytestmark = pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")
PROGRAM = """import kit


def build(scene, seed):
    sim = kit.Simulation(scene, seed)
    sim.keep("red_cube", "blue_cube")
    sim.scatter("red_cube", "blue_cube")
    sim.goal(kit.on("red_cube", "blue_cube"))
    return sim
"""


def write_twin(folder):
    (folder.parent / "made").mkdir()
    scene = cabinet.scene(folder.parent / "made")
    frame, _, segments = make.photograph(scene)
    project = Project.create(folder, frame)
    project.save_segments(segments)
    write_scene(scene, folder)
    project.close()


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learn") / "twin"
    write_twin(folder)
    return folder


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path, short_trainings):
    monkeypatch.setenv("GRS_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setattr(training, "ROLLOUT", 4)


def refused(capsys, *arguments) -> str:
    assert main(["learn", *map(str, arguments)]) == 2
    line = capsys.readouterr().err.strip()
    assert "\n" not in line and line.startswith("grs-studio: ")
    return line


@pytest.fixture(scope="module")
def stacking(tmp_path_factory):
    """A project with a twin, the task to stack two cubes, and its subtasks."""
    folder = tmp_path_factory.mktemp("stacking") / "twin"
    write_twin(folder)
    names = ("red_cube", "blue_cube")
    task = Task("stack", "Put the red cube on the blue one.", names, ("red_cube rests on blue_cube",))
    write_json(folder / "task.json", task_to_json(task))
    passed = Report((CheckResult("a", True, ""),), (1.0,))
    program = PROGRAM.replace('sim.keep("red_cube", ', 'sim.keep("cabinet", "red_cube", ')
    write_round(Round(0, None, Program(program, ""), passed, "done", "", 0.0), folder)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("GRS_WORKSPACE", str(folder.parent / "workspace"))
        assert main(["learn", str(folder), "--evaluate"]) == 2  # nothing is learned yet, but the task is split
    return folder


def rows_of(project):
    return json.loads((project / "learning" / "subtasks.json").read_text())


def test_what_cannot_be_lifted_evaluated_or_varied_is_one_line_and_nothing_is_lost(stacking, capsys):
    rows = rows_of(stacking)
    lifted = [*rows[:1], rows[1] | {"success": [{"goal": "Held", "a": "cabinet"}]}]
    write_json(stacking / "learning" / "subtasks.json", lifted)
    line = refused(capsys, stacking)
    assert "cabinet stands fast and cannot be lifted; learn its parts or another object" in line
    assert rows_of(stacking) == lifted
    write_json(stacking / "learning" / "subtasks.json", rows)
    line = refused(capsys, stacking, "--robot", "arm-suction", "--evaluate")
    assert "has no policy.zip yet; learn that subtask first" in line
    assert "--variants 99 is too many" in refused(capsys, stacking, "--variants", "99")


@pytest.mark.parametrize("flag", [("--ablation",), ("--demonstrations", "3"), ("--skills",), ("--variants", "2")])
def test_what_the_arm_cannot_do_is_one_line_that_says_which_robot_can(stacking, capsys, flag):
    line = refused(capsys, stacking, "--robot", "arm-suction", *flag)
    assert f"{flag[0]} is for the floating gripper" in line and "leave it or --robot arm-suction out" in line


def test_a_project_is_learned_step_by_step(twin, capsys):
    assert "has no task yet; run grs-studio run FRAME" in refused(capsys, twin)
    task = Task("stack", "Put the red cube on the blue one.", ("red_cube", "blue_cube"), ())
    write_json(twin / "task.json", task_to_json(task))
    assert "the task 'stack' has no goals, so nothing can be learned" in refused(capsys, twin)
    task = Task("stack", task.instruction, task.objects, ("red_cube rests on blue_cube",))
    write_json(twin / "task.json", task_to_json(task))
    passed = Report((CheckResult("a", True, ""),), (1.0,))
    write_round(Round(0, None, Program(PROGRAM, ""), passed, "done", "", 0.0), twin)
    assert "0_reach_red_cube has no policy.zip yet; learn that subtask first" in refused(capsys, twin, "--evaluate")
    rows = json.loads((twin / "learning" / "subtasks.json").read_text())
    assert [row["name"] for row in rows] == ["reach_red_cube", "pick_red_cube", "place_red_cube"]
    assert main(["learn", str(twin), "--subtask", "reach_red_cube", "--steps", "32", "--seed", "3"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("reach_red_cube: 32 steps") and "learned to" in lines[1]
    assert lines[2] == "not evaluated: pick_red_cube, place_red_cube not learned yet"
    write_json(twin / "learning" / "subtasks.json", rows[:1])
    assert main(["learn", str(twin), "--evaluate", "--layouts", "2"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report == json.loads((twin / "learning" / "report.json").read_text())
    assert [row["name"] for row in report["subtasks"]] == ["reach_red_cube"]
    assert report["subtasks"][0]["steps"] == 32 and report["chain"]["layouts"] == 2
    kept = (twin / "learning" / "0_reach_red_cube" / "policy.zip").read_bytes()
    assert main(["learn", str(twin), "--robot", "arm-suction", "--steps", "32", "--layouts", "2"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("reach_red_cube: starts from the policy reach_red_cube of the floating gripper, success")
    by_arm = json.loads((twin / "learning" / "arm-suction" / "learning" / "report.json").read_text())
    assert by_arm["subtasks"][0]["skill"] == "reach_red_cube of the floating gripper"
    assert (twin / "learning" / "0_reach_red_cube" / "policy.zip").read_bytes() == kept
    assert report == json.loads((twin / "learning" / "report.json").read_text())
    out = twin.parent / "varied"
    assert main(["vary", str(twin), "--robot", "policy", "--count", "2", "--out", str(out)]) == 0
    varied = json.loads((out / "variation.json").read_text())
    assert varied["robot"] == "policy learned" and varied["success"]["count"] == 2
    assert "success" in capsys.readouterr().err
    rows[0]["reward"][0]["term"] = "joy"
    write_json(twin / "learning" / "subtasks.json", rows)
    assert "there is no reward term 'joy'" in refused(capsys, twin)


@pytest.mark.parametrize("arguments", [("--steps", "0"), ("--layouts", "x"), ("--from", "moon"), ("--seed", "a")])
def test_a_wrong_flag_is_refused_in_one_line(twin, capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        main(["learn", str(twin), *arguments])
    assert ended.value.code == 2 and len(capsys.readouterr().err.splitlines()) == 1


def test_skills_or_demonstrations_not_both_and_missing_packages_are_named(twin, capsys, monkeypatch):
    line = refused(capsys, twin, "--skills", "--demonstrations", "3")
    assert "give --skills or --demonstrations" in line
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert 'pip install "grs-studio[learn]"' in refused(capsys, twin)


@pytest.fixture(scope="module")
def pick(bowl_subtasks):
    return bowl_subtasks[1]


def test_every_term_and_condition_that_can_be_added_gives_a_subtask_that_can_be_read(bowl_task, bowl_subtasks, pick):
    objects, zones = bowl_task.base.objects, list(bowl_task.base.zones)
    terms = possible_terms(pick, objects, zones)
    goals = possible_goals(pick, bowl_task.base.goals, objects, zones)
    assert {"upright", "others_still", "energy"} <= {row["term"] for row in terms}
    assert not {one.term.term for one in pick.reward} & {row["term"] for row in terms if row["term"] == "held"}
    assert "Inside" in {row["goal"] for row in goals}
    for change, rows in (("add_term", terms), ("add_goal", goals)):
        for row in rows:
            now = edited(bowl_subtasks, pick.name, {"change": change, "row": row})
            changed = next(one for one in now if one.name == pick.name)
            assert from_row(to_row(changed)) == changed and changed.source == "human"
            assert [one for one in now if one.name != pick.name] == [one for one in bowl_subtasks if one is not pick]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"change": "weight", "index": 0, "weight": 0}, "a weight is above 0 and at most 100"),
        ({"change": "weight", "index": 0, "weight": "many"}, "cannot be read"),
        ({"change": "weight", "index": 9, "weight": 1}, "there is no number 9; there are 3"),
        ({"change": "remove_goal", "index": 0}, "needs at least one success condition"),
        ({"change": "add_term", "row": {"term": "joy", "args": {}}}, "there is no reward term 'joy'"),
        ({"change": "add_goal", "row": 3}, "cannot be read"),
        ({}, "cannot be read"),
    ],
)
def test_an_edit_that_makes_no_sense_is_refused_in_one_line(bowl_subtasks, pick, edit, message):
    with pytest.raises(LearningError, match=message):
        edited(bowl_subtasks, pick.name, edit)
    with pytest.raises(LearningError, match="there is no subtask 'dance'; there are: reach_red_cube"):
        edited(bowl_subtasks, "dance", edit)


def test_the_last_term_of_a_reward_stays(pick):
    single = (replace(pick, reward=pick.reward[:1]),)
    with pytest.raises(LearningError, match="needs at least one term"):
        edited(single, pick.name, {"change": "remove_term", "index": 0})


def test_undo_and_redo_of_edits_give_the_rows_before_and_after_them_also_when_an_edit_is_taken_back_by_hand():
    values = [1, 2, 1, 3]
    edits = [{"former": [a], "rows": [b]} for a, b in pairwise(values)]
    rows, done, undone = [3], list(edits), []
    for moves in ("u", "u", "u", "r", "r", "u", "r", "r"):
        (undone.append(done.pop()) if moves == "u" else done.append(undone.pop()))
        rows = followed(rows, done, undone)
        assert rows == [values[len(done)]] and followed(rows, done, undone) == rows
    assert followed([9], edits, []) == [9], "a file that a person edited stays"


def test_recorded_episodes_come_back_and_both_kinds_are_kept(bowl_task, pick, tmp_path):
    env = SubtaskEnv(bowl_task, pick)
    start = env.starts * 3
    episodes = [one for script in (expert, hover) for one in play(env, Scripted(env, script), start)]
    rollouts = [rollout_of(pick, one) for one in episodes]
    assert [one.success for one in some(rollouts)] == [False, False, True, True]
    assert len(some(rollouts[:3])) == 3
    write_rollouts(tmp_path / "some.npz", rollouts)
    for one, other in zip(rollouts, read_rollouts(tmp_path / "some.npz"), strict=True):
        assert np.allclose(one.qpos, other.qpos, atol=1e-5) and one.failure == other.failure
        assert other.potentials.shape == (len(other.times), len(pick.reward))
    assert read_rollouts(tmp_path / "none.npz") == ()
    (tmp_path / "some.npz").write_bytes(b"PK")
    with pytest.raises(LearningError, match="is damaged"):
        read_rollouts(tmp_path / "some.npz")
    times, poses = smooth(rollouts[0].times, rollouts[0].qpos)
    assert np.allclose(poses[::4], rollouts[0].qpos) and np.allclose(times[::4], rollouts[0].times)


def test_the_first_moment_of_a_failure_says_what_happened(bowl_task, bowl_subtasks, pick):
    env = SubtaskEnv(bowl_task, pick)
    (solved,) = play(env, Scripted(env, expert), env.starts)
    (hovering,) = play(env, Scripted(env, hover), env.starts)
    assert failure_of(pick, solved) is None
    found = failure_of(pick, hovering)
    assert found and found.kind == "stuck" and 0.2 < found.time < 2
    place = SubtaskEnv(bowl_task, bowl_subtasks[2], (solved.end,))
    (dropped,) = play(place, Scripted(place, stand_still), place.starts)
    found = failure_of(bowl_subtasks[2], dropped)
    assert found and found.kind == "dropped" and found.text == "red_cube was let go before the goal was met."
    (lost,) = play(env, Scripted(env, wander), env.starts)
    assert (failure_of(pick, lost) is None) == lost.success


def test_what_was_learned_for_one_task_comes_back_with_it(tmp_path):
    one, other = (Task(name, f"{name} it.", (), ("a",)) for name in ("Push", "Pick"))
    keep_apart(tmp_path, one)
    (tmp_path / "learning" / "policy").write_text("push")
    keep_apart(tmp_path, other)
    assert not (tmp_path / "learning" / "policy").exists()
    (tmp_path / "learning" / "policy").write_text("pick")
    keep_apart(tmp_path, one)
    assert (tmp_path / "learning" / "policy").read_text() == "push"
    keep_apart(tmp_path, other)
    assert (tmp_path / "learning" / "policy").read_text() == "pick"
    assert json.loads((tmp_path / "learning" / "task.json").read_text())["instruction"] == "Pick it."


@pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")
def test_an_ablation_measures_each_variant_once(bowl_task, bowl_subtasks, tmp_path, short_trainings, monkeypatch):
    monkeypatch.setattr(training, "ROLLOUT", 4)
    chosen = {name: ablation.VARIANTS[name] for name in ("subtasks", "sparse")}
    monkeypatch.setattr(ablation, "VARIANTS", chosen)
    options = ablation.AblationOptions(steps=32, seeds=1, layouts=2)
    lines = list(ablation.ablate(tmp_path, bowl_task, bowl_subtasks[:1], options))
    assert [line.partition(",")[0] for line in lines] == ["Subtasks", "Whole task"]
    found = json.loads((tmp_path / "learning" / "ablation.json").read_text())
    assert [row["variant"] for row in found["rows"]] == list(chosen)
    for row in found["rows"]:
        assert row["low"] <= row["success"] <= row["high"] and row["layouts"] == 2 and row["steps"] == 32
    monkeypatch.setattr(ablation, "_measure", None)  # nothing is learned again
    assert list(ablation.ablate(tmp_path, bowl_task, bowl_subtasks[:1], options)) == lines


def test_a_training_from_skills_knows_the_workspace_and_takes_no_demonstrations(monkeypatch, tmp_path):
    started = []
    monkeypatch.setattr(learn_requests, "_status", lambda *_: {})
    places = {"project": SimpleNamespace(folder=tmp_path / "one"), "services": SimpleNamespace(workspace=tmp_path)}
    session = SimpleNamespace(**places)
    learning = SimpleNamespace(trainings=SimpleNamespace(start=lambda *given: started.append(given)))
    train = learn_requests.HANDLERS["train"]
    train(session, learning, {"skills": True, "steps": 5000})
    assert started == [(tmp_path / "one", "train", ["--steps", "5000", "--skills"], "", 5000, tmp_path)]
    with pytest.raises(RequestError, match="with skills or with demonstrations"):
        train(session, learning, {"skills": True, "demonstrations": 3})
