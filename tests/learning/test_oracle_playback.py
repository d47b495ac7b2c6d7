"""The oracle is shown in the subtask and on the layout of a policy's episode, measured as the policy is."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import small_task

pytest.importorskip("gymnasium", reason='gymnasium is missing: pip install "grs-studio[learn]"')

from bench.planted_policies import Scripted, stand_still
from pipeline.learning.demonstrations import oracle_episodes
from pipeline.learning.environment import EpisodeRules, SubtaskEnv
from pipeline.learning.episodes import play
from pipeline.simulation.goals.at import At
from studio.learn.playback import OraclePlayback
from studio.server.errors import RequestError


def test_the_oracle_solves_each_subtask_from_where_it_ended_the_former(bowl_task, bowl_subtasks):
    (start,) = small_task.settled(bowl_task, bowl_subtasks[0], [3])
    episodes = list(oracle_episodes(bowl_task, bowl_subtasks, start, EpisodeRules()))
    assert [one.success for one in episodes] == [True] * len(bowl_subtasks)
    assert [one.layout for one in episodes] == [3] * len(bowl_subtasks)
    for former, later in pairwise(episodes):
        assert np.array_equal(former.qpos[-1], later.qpos[0])
    env = SubtaskEnv(bowl_task, bowl_subtasks[0], (start,))
    (policy,) = play(env, Scripted(env, stand_still), (start,))
    assert np.allclose(policy.qpos[0], episodes[0].qpos[0]), "a policy's episode begins in the same state"


def test_the_page_gets_the_oracles_episode_once_simulated_and_a_sentence_where_there_is_none(
    bowl_task, bowl_subtasks, table, monkeypatch
):
    oracle = OraclePlayback()
    found = [oracle.rollout(bowl_task, bowl_subtasks, one.name, 2) for one in bowl_subtasks]
    assert all(one.success and one.layout == 2 for one in found)
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
