"""A better reward that a model proposes for a subtask: what it is shown, what is refused, and how a person takes it."""

import json
import threading
from contextlib import closing
from dataclasses import replace

import pytest
from offline_studio import offline_services, wait_until

from pipeline.learning.learning_files import SubtaskFolder
from pipeline.learning.reflection import KIND, ReflectionAnswer, question_data, read_proposal, reflect
from pipeline.learning.subtask import LearningError, term_row, to_row
from pipeline.models import StageCancelled
from pipeline.models.prompt_templates import load_prompt
from pipeline.project import Project, ProjectError
from pipeline.simulation import Program
from pipeline.store import write_json
from studio.__main__ import main
from studio.learn.learn_requests import Learning, endpoint
from studio.sessions import project_learner
from studio.sessions.session_registry import SessionRegistry
from studio.viewer import ViewRegistry
from studio.web.jobs import LIST
from tests.export import twins
from tests.learning.test_learn_command import PROGRAM, TASK

CODE = 'def compute_reward(env):\n    """Rise"""\n    return env.get_bottom("red_cube")'
BETTER = [
    {"term": "held", "args": {"a": "red_cube", "part": ""}, "weight": 2.0},
    {"term": "code", "source": CODE, "weight": 1.5},
]
POINT = {"steps": 4096, "seconds": 9.0, "success": 0.1, "return": 0.4, "terms": [0.9, 0.1, 0.0]}


class Answering:
    """A model that gives these rows as the reward."""

    name = "test-model"

    def __init__(self, rows, reason="Near the cube it earned as much as for holding it."):
        self.answer, self.asked = ReflectionAnswer(reason=reason, reward=rows), []

    def ask(self, question):
        self.asked.append(question)
        return self.answer


@pytest.fixture
def pick(bowl_subtasks):
    return bowl_subtasks[1]


@pytest.fixture
def folder(tmp_path):
    """Of a subtask that was trained and evaluated."""
    folder = SubtaskFolder(tmp_path / "1_pick_red_cube")
    folder.path.mkdir()
    points = [POINT | {"steps": 4096 * k, "success": k / 100} for k in range(1, 31)]
    folder.curve.write_text("".join(f"{json.dumps(point)}\n" for point in points))
    failed = [{"layout": k, "time": 2.0, "text": "it was dropped" if k else "it pushed the bowl"} for k in range(4)]
    write_json(folder.evaluation, {"failed": failed, "shortcut_found": {"text": "It hovers."}})
    return folder


def test_a_model_sees_how_the_reward_did_and_its_proposal_holds_until_the_reward_is_another(bowl_task, pick, folder):
    assert read_proposal(pick, folder) is None
    model = Answering(BETTER)
    found = reflect(pick, folder, bowl_task, model)
    assert [term_row(one.term, one.weight) for one in found.subtask.reward] == BETTER and found.model == "test-model"
    assert replace(found.subtask, reward=pick.reward, source=pick.source) == pick, "only the reward is another"
    data = model.asked[0].data
    assert len(data["curve"]) == 12 and [data["curve"][k]["steps"] for k in (0, -1)] == [4096, 30 * 4096]
    assert data["failures"][0] == {"what": "it was dropped", "episodes": 3} and data["shortcut"] == "It hovers."
    prompt = load_prompt(KIND).fill(data)
    assert '"pick_red_cube"' in prompt and "get_robot_gripper_pose" in prompt and "It hovers." in prompt
    assert read_proposal(pick, folder) == found
    changed = replace(pick, success=(*pick.success, bowl_task.base.goals[0]), way="plan")
    kept = read_proposal(changed, folder).subtask
    assert (kept.success, kept.way) == (changed.success, "plan"), "what a person edited meanwhile stays"
    assert read_proposal(found.subtask, folder) is None, "it has that reward now"
    for damaged in ("[]", "{}", json.dumps({"former": to_row(pick)["reward"], "subtask": {}, "reason": ""})):
        folder.proposal.write_text(damaged)
        assert read_proposal(pick, folder) is None


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([{"term": "held", "args": {"a": "unicorn"}}], "there is no object 'unicorn'"),
        ([{"term": "joy", "args": {}}], "there is no reward term 'joy'"),
        ([{"term": "held", "args": {"a": "red_cube"}, "weight": -1}], "weight"),
        ([{"term": "code", "source": "import os"}], "the reward.s code is one function"),
        (None, "answered the reward that pick_red_cube has"),
    ],
)
def test_a_reward_that_cannot_be_used_is_refused_with_its_reason_and_nothing_is_kept(
    bowl_task, pick, folder, rows, why
):
    with pytest.raises(LearningError, match=why) as refused:
        reflect(pick, folder, bowl_task, Answering(rows or to_row(pick)["reward"]))
    assert "test-model answered" in str(refused.value) and not folder.proposal.exists()


def test_a_subtask_that_nothing_was_trained_for_is_not_asked_about(bowl_task, pick, tmp_path):
    with pytest.raises(LearningError, match="was not trained with its reward yet"):
        question_data(pick, SubtaskFolder(tmp_path), bowl_task)


def test_by_the_command_a_proposal_is_taken_as_an_edit_that_undo_takes_back(tmp_path, capsys, refused, monkeypatch):
    monkeypatch.setenv("GRS_WORKSPACE", str(tmp_path / "workspace"))
    twin = twins.write(tmp_path / "twin")
    twins.write_solved(twin, TASK, Program(PROGRAM, ""))
    assert "no subtask that was trained is below 95%; choose one by --subtask: reach_red_cube" in refused(
        "learn", twin, "--reflect"
    )
    name, file = "pick_red_cube", twin / "learning" / "subtasks.json"
    folder = SubtaskFolder(twin / "learning" / f"1_{name}")
    folder.path.mkdir()
    folder.curve.write_text(json.dumps(POINT))
    assert "the offline rules know no other reward" in refused("learn", twin, "--reflect")
    before = json.loads(file.read_text())

    def open_elsewhere(*_, **__):
        raise ProjectError("another process writes")

    with monkeypatch.context() as patch:
        patch.setattr(project_learner, "has_language", lambda _: True)
        patch.setattr(project_learner, "tracing_model", lambda *_: Answering(BETTER))
        patch.setattr(Project, "decide", open_elsewhere)
        assert main(["learn", str(twin), "--reflect"]) == 0
    assert "not taken: pick_red_cube: reward by test-model: another process" in capsys.readouterr().err
    assert json.loads(file.read_text()) == before
    monkeypatch.setattr(project_learner, "has_language", lambda _: True)
    monkeypatch.setattr(project_learner, "tracing_model", lambda *_: Answering(BETTER))
    assert main(["learn", str(twin), "--reflect", "--subtask", name]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out) == BETTER and "test-model proposes: Near the cube" in shown.err
    row = json.loads(file.read_text())[1]
    assert row["reward"] == BETTER and row["source"] == "test-model"
    with closing(Project.open(twin)) as project:
        project.undo()
        project_learner.follow_decisions(project)
    assert json.loads(file.read_text()) == before


def test_on_the_page_a_proposal_is_asked_for_stopped_shown_taken_and_undone(tmp_path, monkeypatch):
    twin = twins.write(tmp_path / "work" / "twin")
    twins.write_solved(twin, TASK, Program(PROGRAM, ""))
    sessions, learning = SessionRegistry(tmp_path / "work", offline_services()), Learning(ViewRegistry())
    session, answer = sessions.open("twin"), endpoint(sessions, learning)

    def ask(kind):
        return answer({"token": session.token, "kind": kind, "subtask": "pick_red_cube"})

    def ended():
        return ask("status")["job"]["state"] not in ("waiting", "running")

    wait_until(lambda: not ask("status")["preparing"], "the layouts")
    assert ask("status")["asks"] is False and ask("status")["subtasks"][1]["proposal"] is None
    assert "no reward is proposed for pick_red_cube" in ask("take")["error"]
    folder, answered = SubtaskFolder(twin / "learning" / "1_pick_red_cube"), threading.Event()
    folder.path.mkdir()
    folder.curve.write_text(json.dumps(POINT))
    (folder.policy).touch()  # of a version that did not note its reward

    def tracing_model(project, services, calls):
        wait_until(lambda: answered.is_set() or calls.is_stopped, "an answer or a stop")
        if calls.is_stopped:
            raise StageCancelled("it was stopped")
        return Answering(BETTER)

    monkeypatch.setattr(project_learner, "has_language", lambda _: True)
    monkeypatch.setattr(project_learner, "tracing_model", tracing_model)
    job = ask("reflect")["job"]
    assert job["doing"] == "reflect" and job["subtask"] == "pick_red_cube"
    assert "at work on that already" in ask("reflect")["error"]
    LIST.stop(job["id"], lambda _: True)
    wait_until(ended, "the end of the question")
    assert ask("status")["job"]["state"] == "stopped" and not folder.proposal.exists()
    answered.set()
    ask("reflect")
    wait_until(ended, "the answer")
    before = ask("status")["subtasks"][1]
    assert before["proposal"]["model"] == "test-model" and len(before["proposal"]["reward"]) == len(BETTER)
    taken = ask("take")["subtasks"][1]
    assert taken["source"] == "test-model" and taken["proposal"] is None
    assert taken["reward"] == before["proposal"]["reward"]
    assert before["curve"] and not taken["curve"], "that was learned with the former reward"
    ask("reflect")
    wait_until(ended, "the refusal")
    assert "was not trained with its reward" in ask("status")["job"]["message"]
    session.decisions.undo()
    project_learner.follow_decisions(session.project)
    assert ask("status")["subtasks"][1] == before
    sessions.take_out("twin", lambda: None)
