"""`grs-studio learn`: files, lines and exit codes."""

import json
from contextlib import closing
from dataclasses import replace
from unittest.mock import Mock

import pytest

pytest.importorskip("stable_baselines3", reason='stable-baselines3 is missing: pip install "grs-studio[learn]"')

from pipeline.learning import training
from pipeline.learning.chain import TaskLearner
from pipeline.learning.subtask import LearningError
from pipeline.project import Project, ProjectError
from pipeline.simulation import Program
from pipeline.store import write_json
from pipeline.tasks import Task, task_to_json
from studio.__main__ import main, parser
from studio.commands.learn import complete
from studio.sessions.project_learner import follow_decisions
from tests.export import twins

pytestmark = pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")
PROGRAM = """import kit


def build(scene, seed):
    sim = kit.Simulation(scene, seed)
    sim.keep("red_cube", "blue_cube")
    sim.scatter("red_cube", "blue_cube")
    sim.goal(kit.on("red_cube", "blue_cube"))
    return sim
"""


TASK = Task("stack", "Put the red cube on the blue one.", ("red_cube", "blue_cube"), ("red_cube rests on blue_cube",))


@pytest.fixture
def twin(tmp_path):
    return twins.write(tmp_path / "twin")


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path, short_trainings):
    monkeypatch.setenv("GRS_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setattr(training, "ROLLOUT", 4)


def test_what_cannot_be_done_is_one_line_that_says_what_would_work_and_nothing_is_lost(twin, refused, monkeypatch):
    program = PROGRAM.replace('sim.keep("red_cube", ', 'sim.keep("cabinet", "red_cube", ')
    twins.write_solved(twin, TASK, Program(program, ""))
    refused("learn", twin, "--evaluate")  # nothing is learned yet, but the task is split
    for flag in (("--ablation",), ("--demonstrations", "3"), ("--skills",), ("--variants", "2")):
        line = refused("learn", twin, "--robot", "arm-suction", *flag)
        assert f"{flag[0]} is for the floating gripper" in line and "leave it or --robot arm-suction out" in line
    assert "aloha has no suction cup" in refused("learn", twin, "--robot", "aloha")
    assert "--variants 99 is too many" in refused("learn", twin, "--variants", "99")
    line = refused("learn", twin, "--skills", "--demonstrations", "3")
    assert "give --skills or --demonstrations" in line
    file = twin / "learning" / "subtasks.json"
    rows = json.loads(file.read_text())
    lifted = [*rows[:1], rows[1] | {"success": [{"goal": "Held", "a": "cabinet"}]}]
    write_json(file, lifted)
    line = refused("learn", twin)
    assert "cabinet stands fast and cannot be lifted; learn its parts or another object" in line
    assert json.loads(file.read_text()) == lifted
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert 'pip install "grs-studio[learn]"' in refused("learn", twin)


def test_a_project_is_learned_step_by_step(twin, capsys, refused):
    assert "has no task yet; run grs-studio run FRAME" in refused("learn", twin)
    write_json(twin / "task.json", task_to_json(replace(TASK, goals=())))
    assert "the task 'stack' has no goals, so nothing can be learned" in refused("learn", twin)
    twins.write_solved(twin, TASK, Program(PROGRAM, ""))
    assert "0_reach_red_cube has no policy.zip yet; learn that subtask first" in refused("learn", twin, "--evaluate")
    rows = json.loads((twin / "learning" / "subtasks.json").read_text())
    assert [row["name"] for row in rows] == ["reach_red_cube", "pick_red_cube", "place_red_cube"]
    alone = ["--demonstrations", "0"]
    assert main(["learn", str(twin), "--subtask", "reach_red_cube", "--steps", "32", "--seed", "3", *alone]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert "learns reach_red_cube: each by reward alone, then at most 32 steps" in lines[0]
    assert lines[1].startswith("reach_red_cube: 32 steps") and "learned to" in lines[2]
    assert lines[3].startswith("not evaluated: pick_red_cube, place_red_cube not learned yet")
    unfinished = json.loads((twin / "learning" / "report.json").read_text())
    assert unfinished["missing"] == ["pick_red_cube", "place_red_cube"] and unfinished["chain"]["layouts"] == 0
    write_json(twin / "learning" / "subtasks.json", rows[:1])
    assert main(["learn", str(twin), "--evaluate", "--layouts", "2"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report == json.loads((twin / "learning" / "report.json").read_text())
    assert [row["name"] for row in report["subtasks"]] == ["reach_red_cube"]
    assert report["subtasks"][0]["steps"] == 32 and report["chain"]["layouts"] == 2
    kept = (twin / "learning" / "0_reach_red_cube" / "policy.zip").read_bytes()
    write_json(twin / "learning" / "subtasks.json", [rows[0] | {"reward": rows[1]["reward"]}])
    assert "reach_red_cube was learned with another reward; learn it again" in refused("learn", twin, "--evaluate")
    write_json(twin / "learning" / "subtasks.json", rows[:1])
    assert main(["learn", str(twin), "--robot", "arm-suction", "--steps", "32", "--layouts", "2"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[1].startswith("reach_red_cube: starts from the policy reach_red_cube of the floating gripper, success")
    by_arm = json.loads((twin / "learning" / "arm-suction" / "learning" / "report.json").read_text())
    assert by_arm["subtasks"][0]["skill"] == "reach_red_cube of the floating gripper"
    assert (twin / "learning" / "0_reach_red_cube" / "policy.zip").read_bytes() == kept
    assert report == json.loads((twin / "learning" / "report.json").read_text())
    out = twin.parent / "varied"
    arguments = ["vary", str(twin), "--robot", "policy", "--count", "2", "--out", str(out)]
    assert main(arguments) == 0
    varied = json.loads((out / "variation.json").read_text())
    assert varied["robot"] == "policy learned" and varied["success"]["count"] == 2
    assert "success" in capsys.readouterr().err


INF = float("inf")


@pytest.mark.parametrize(
    ("options", "plan", "minutes"),
    [
        ("", ["rest"], 6), ("--minutes 2 --variants 3", ["rest"], 2), ("--plan rest", ["rest"], 6),
        ("--plan none", ["none"], INF), ("--subtask reach", [], INF), ("--steps 10", [], INF), ("--skills", [], INF),
        ("--demonstrations 0", [], INF), ("--robot arm-suction", [], INF), ("--evaluate", [], INF),
    ],
)  # fmt: skip
def test_as_typed_the_oracle_plans_the_rest_and_whoever_says_how_to_learn_gets_that(options, plan, minutes):
    given = parser(["learn"]).parse_args(["learn", "twin", *options.split()])
    complete(given)
    assert (given.plan, given.minutes, given.steps) == (plan, minutes, 10 if "--steps" in options else 80_000)


def test_a_training_that_cannot_go_on_says_why_and_leaves_a_report_of_what_is_missing(twin, capsys, monkeypatch):
    twins.write_solved(twin, TASK, Program(PROGRAM, ""))
    monkeypatch.setattr(TaskLearner, "starts", Mock(side_effect=LearningError("reach never ended well enough")))
    assert main(["learn", str(twin)]) == 0 and "reach never ended well enough" in capsys.readouterr().err
    report = json.loads((twin / "learning" / "report.json").read_text())
    assert report["missing"] == ["reach_red_cube", "pick_red_cube", "place_red_cube"]


def test_steps_that_the_oracle_plans_are_an_edit_and_nothing_is_trained_for_them(twin, capsys, refused, monkeypatch):
    twins.write_solved(twin, TASK, Program(PROGRAM, ""))
    assert "there is no subtask 'dance'" in refused("learn", twin, "--plan", "dance")
    assert '"none" alone' in refused("learn", twin, "--plan", "none", "--plan", "rest")
    assert '"none" alone' in refused("learn", twin, "--plan", "whole")
    assert "give --evaluate or --plan, not both" in refused("learn", twin, "--plan", "rest", "--evaluate")
    assert "give --plan or --reflect, not both" in refused("learn", twin, "--plan", "rest", "--reflect")
    names = ["reach_red_cube", "pick_red_cube", "place_red_cube"]
    plan = [word for name in names for word in ("--plan", name)]
    assert main(["learn", str(twin), *plan, "--layouts", "2"]) == 0
    shown = capsys.readouterr()
    assert "reach_red_cube: planned by the oracle, solves 100% of validation layouts" in shown.err
    assert "planned by the oracle: reach_red_cube, pick_red_cube, place_red_cube; Undo on the Learn page" in shown.err
    report = json.loads((twin / "learning" / "report.json").read_text())
    assert report["chain"] == {"success": 1.0, "layouts": 2}
    assert "place_red_cube: planned by the oracle)" in shown.err.splitlines()[-1]
    assert "planned by the oracle, which moves the floating gripper" in refused("learn", twin, "--robot", "arm-suction")
    assert [row["way"] for row in report["subtasks"]] == ["plan"] * 3
    assert not list((twin / "learning").rglob("policy.zip"))
    rows = lambda: json.loads((twin / "learning" / "subtasks.json").read_text())  # noqa: E731
    assert [row.get("way") for row in rows()] == ["plan"] * 3
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(Project, "decide", Mock(side_effect=ProjectError("another process writes")))
        assert "not taken: everything is learned: another process" in refused("learn", twin, "--plan", "none")
    assert main(["learn", str(twin), "--plan", "none", "--subtask", names[0], "--steps", "32"]) == 0
    assert [row.get("way") for row in rows()] == [None] * 3
    with closing(Project.open(twin)) as project:
        project.undo()
        follow_decisions(project)
    assert [row.get("way") for row in rows()] == ["plan"] * 3
