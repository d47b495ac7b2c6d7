"""Every planted shortcut is reported with a change that ends it; no sound policy is reported."""

import pytest
from planted_policies import SHORTCUTS, SOUND, Worlds

from pipeline.learning.edits import edited
from pipeline.learning.judging.shortcuts import find_shortcut


@pytest.fixture(scope="module")
def worlds(table, furniture):
    return Worlds(table, furniture)


@pytest.mark.parametrize("name", SHORTCUTS)
def test_a_planted_shortcut_is_found_with_its_moment_and_a_change_that_can_be_made(worlds, name):
    planted = SHORTCUTS[name]
    subtask, episodes = worlds.play(planted)
    found = find_shortcut(subtask, episodes, worlds.objects(planted))
    assert found is not None, name
    longest = max(one.steps for one in episodes) * 0.1
    assert 0 <= found.time <= longest and f"{found.time:.1f} s" in found.text and found.text.count(". ") == 0
    assert not planted.term or f"'{planted.term}'" in found.text
    (changed,) = [subtask]
    for edit in found.edits:
        (changed,) = edited((changed,), subtask.name, edit)
    assert changed.reward != subtask.reward and changed.success == subtask.success


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_policy_is_not_accused(worlds, name):
    planted = SOUND[name]
    subtask, episodes = worlds.play(planted)
    assert find_shortcut(subtask, episodes, worlds.objects(planted)) is None
    assert name not in ("reaches", "picks", "places", "pushes", "opens") or all(one.success for one in episodes)


def test_no_episode_is_no_shortcut(bowl_subtasks, bowl_task):
    assert find_shortcut(bowl_subtasks[0], [], bowl_task.base.objects) is None
