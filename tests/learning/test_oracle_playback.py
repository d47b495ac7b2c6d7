"""The oracle is shown in the subtask and on the layout of a policy's episode, measured as the policy is."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import small_task

pytest.importorskip("gymnasium", reason='gymnasium is missing: pip install "grs-studio[learn]"')

from planted_policies import Scripted, stand_still

from pipeline.learning.demonstrations import oracle_episodes
from pipeline.learning.environment import EpisodeRules, SubtaskEnv
from pipeline.learning.episodes import play
from pipeline.learning.subtask_world import SubtaskWorld
from pipeline.simulation import kit
from pipeline.simulation.goals.at import At
from studio.learn.playback import OraclePlayback
from studio.server.errors import RequestError


def test_the_oracle_solves_each_subtask_and_pushes_in_half_of_an_episode(bowl_task, bowl_subtasks, table):
    (layout,) = bowl_task.get([3])
    start = SubtaskWorld(bowl_task, bowl_subtasks[0]).settled(layout)
    episodes = list(oracle_episodes(bowl_task, bowl_subtasks, start, EpisodeRules()))
    assert [one.success for one in episodes] == [True] * len(bowl_subtasks)
    assert [one.layout for one in episodes] == [3] * len(bowl_subtasks)
    for former, later in pairwise(episodes):
        assert np.array_equal(former.qpos[-1], later.qpos[0])
    env = SubtaskEnv(bowl_task, bowl_subtasks[0], (start,))
    (policy,) = play(env, Scripted(env, stand_still), (start,))
    assert np.allclose(policy.qpos[0], episodes[0].qpos[0]), "a policy's episode begins in the same state"
    pushing = small_task.layouts(table, kit.in_zone("red_cube", "zone"), zone=((0.18, 0.1), (0.16, 0.16)))
    subtasks, rules = small_task.subtasks(pushing, "Push it."), EpisodeRules()
    world = SubtaskWorld(pushing, subtasks[0])
    starts = [world.settled(layout) for layout in pushing.get(range(100, 106))]
    pushes = [list(oracle_episodes(pushing, subtasks, one, rules))[-1] for one in starts]
    assert sum(one.success for one in pushes) >= 5
    assert np.mean([len(one.qpos) for one in pushes]) < rules.steps / 2


def test_the_page_gets_the_oracles_episode_once_or_a_sentence(bowl_task, bowl_subtasks, table, monkeypatch):
    oracle = OraclePlayback()
    found = [oracle.rollout(bowl_task, bowl_subtasks, one.name, 2) for one in bowl_subtasks]
    assert all(one.success and one.layout == 2 for one in found)
    monkeypatch.setattr("studio.learn.playback._play", None)  # nothing is simulated again
    assert oracle.rollout(bowl_task, bowl_subtasks, bowl_subtasks[0].name, 2) is found[0]
    monkeypatch.undo()
    pushing = small_task.layouts(table, kit.in_zone("red_cube", "zone"), zone=((0.18, 0.1), (0.16, 0.16)))
    subtasks = small_task.subtasks(pushing, "Push it.")
    assert oracle.rollout(pushing, subtasks, "push_red_cube", 1).success, "the oracle pushes as a policy has to"
    apart = [replace(subtasks[0], success=(At("red_cube", (0.0, 0.3)),)), *subtasks[1:]]
    with pytest.raises(RequestError, match="its path does not solve reach_red_cube, which comes before"):
        oracle.rollout(pushing, apart, "push_red_cube", 1)
    monkeypatch.setattr("studio.learn.playback.is_installed", lambda: False)
    with pytest.raises(RequestError, match="needs extra packages"):
        oracle.rollout(bowl_task, bowl_subtasks, bowl_subtasks[0].name, 5)
