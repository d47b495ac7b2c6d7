"""What the Learn page asks the server: edits as decisions, playback of episodes and of the oracle, one training."""

import json
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import small_task

pytest.importorskip("stable_baselines3", reason='stable-baselines3 is missing: pip install "grs-studio[learn]"')

from bench.planted_policies import Scripted, expert, hover, stand_still, wander
from pipeline.learning import training
from pipeline.learning.edits import edited, followed, possible_goals, possible_terms
from pipeline.learning.environment import EpisodeRules, SubtaskEnv
from pipeline.learning.episodes import play
from pipeline.learning.judging import ablation
from pipeline.learning.judging.failures import failure_of
from pipeline.learning.judging.rollouts import read_rollouts, rollout_of, shown_episodes, smooth, write_rollouts
from pipeline.learning.subtask import LearningError, from_row, to_row
from pipeline.simulation.goals.at import At
from pipeline.tasks import Task
from studio.learn import learn_requests
from studio.learn.playback import OraclePlayback
from studio.sessions.project_learner import keep_apart
from studio.web.errors import RequestError


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
        ({"change": "weight", "index": 9, "weight": 1}, "there is no number 9; there are 3"),
        ({"change": "remove_goal", "index": 0}, "needs at least one success condition"),
        ({}, "cannot be read"),
    ],
)
def test_an_edit_that_makes_no_sense_is_refused_in_one_line(bowl_subtasks, pick, edit, message):
    with pytest.raises(LearningError, match=message):
        edited(bowl_subtasks, pick.name, edit)
    with pytest.raises(LearningError, match="there is no subtask 'dance'; there are: reach_red_cube"):
        edited(bowl_subtasks, "dance", edit)
    with pytest.raises(LearningError, match="needs at least one term"):
        edited((replace(pick, reward=pick.reward[:1]),), pick.name, {"change": "remove_term", "index": 0})


def test_undo_and_redo_of_edits_give_the_rows_before_and_after_them_also_when_an_edit_is_taken_back_by_hand():
    values = [1, 2, 1, 3]
    edits = [{"former": [a], "rows": [b]} for a, b in pairwise(values)]
    rows, done, undone = [3], list(edits), []
    for moves in ("u", "u", "u", "r", "r", "u", "r", "r"):
        (undone.append(done.pop()) if moves == "u" else done.append(undone.pop()))
        rows = followed(rows, done, undone)
        assert rows == [values[len(done)]]
        assert followed(rows, done, undone) == rows
    assert followed([9], edits, []) == [9], "a file that a person edited stays"


def test_recorded_episodes_come_back_and_a_failures_first_moment_is_told(bowl_task, bowl_subtasks, pick, tmp_path):
    env = SubtaskEnv(bowl_task, pick)
    start = env.starts * 3
    episodes = [one for script in (expert, hover) for one in play(env, Scripted(env, script), start)]
    solved, hovering = episodes[0], episodes[3]
    assert failure_of(pick, solved) is None
    found = failure_of(pick, hovering)
    assert found and found.kind == "stuck" and 0.2 < found.time < 2
    place = SubtaskEnv(bowl_task, bowl_subtasks[2], (solved.end,))
    (dropped,) = play(place, Scripted(place, stand_still), place.starts)
    found = failure_of(bowl_subtasks[2], dropped)
    assert found and found.kind == "dropped" and found.text == "red_cube was let go before the goal was met."
    (lost,) = play(env, Scripted(env, wander), env.starts)
    assert (failure_of(pick, lost) is None) == lost.success
    rollouts = [rollout_of(pick, one) for one in episodes]
    assert [one.success for one in shown_episodes(rollouts)] == [False, False, True, True]
    assert len(shown_episodes(rollouts[:3])) == 3
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
    options = ablation.AblationSize(steps=32, seeds=1, layouts=2)
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
    project, services = SimpleNamespace(folder=tmp_path / "one"), SimpleNamespace(workspace=tmp_path)
    session = SimpleNamespace(project=project, services=services)
    learning = SimpleNamespace(trainings=SimpleNamespace(start=lambda *given: started.append(given)))
    train = learn_requests.HANDLERS["train"]
    train(session, learning, {"skills": True, "steps": 5000})
    assert started == [(tmp_path / "one", "train", ["--steps", "5000", "--skills"], "", 5000, tmp_path)]
    with pytest.raises(RequestError, match="with skills or with demonstrations"):
        train(session, learning, {"skills": True, "demonstrations": 3})


def test_the_page_gets_each_oracle_episode_simulated_once_or_a_sentence(bowl_task, bowl_subtasks, table, monkeypatch):
    oracle = OraclePlayback()
    found = [oracle.rollout(bowl_task, bowl_subtasks, one.name, 2) for one in bowl_subtasks]
    assert all(one.success and one.layout == 2 for one in found)
    assert all(np.array_equal(former.qpos[-1], later.qpos[0]) for former, later in pairwise(found))
    env = SubtaskEnv(bowl_task, bowl_subtasks[0], small_task.settled(bowl_task, bowl_subtasks[0], [2]))
    (still,) = play(env, Scripted(env, stand_still), env.starts)
    assert np.allclose(still.qpos[0], found[0].qpos[0], atol=1e-5), "a policy's episode begins in the same state"
    monkeypatch.setattr("studio.learn.playback._play", None)  # nothing is simulated again
    assert oracle.rollout(bowl_task, bowl_subtasks, bowl_subtasks[0].name, 2) is found[0]
    monkeypatch.undo()
    pushing, subtasks = small_task.pushing(table)
    pushed = oracle.rollout(pushing, subtasks, "push_red_cube", 1)
    assert pushed.success and pushed.times[-1] < EpisodeRules().steps * 0.1 / 2, "so that a policy may make mistakes"
    apart = [replace(subtasks[0], success=(At("red_cube", (0.0, 0.3)),)), *subtasks[1:]]
    with pytest.raises(RequestError, match="its path does not solve reach_red_cube, which comes before"):
        oracle.rollout(pushing, apart, "push_red_cube", 1)
    monkeypatch.setattr("studio.learn.playback.is_installed", lambda: False)
    with pytest.raises(RequestError, match="needs extra packages"):
        oracle.rollout(bowl_task, bowl_subtasks, bowl_subtasks[0].name, 5)
