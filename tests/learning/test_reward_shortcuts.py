"""Every planted shortcut is reported with a change that ends it; no sound policy is reported."""

import numpy as np
import pytest
import small_task

from bench.planted_policies import SHORTCUTS, SOUND, Planted, Scripted, expert
from pipeline.learning.edits import edited
from pipeline.learning.environment import SubtaskEnv
from pipeline.learning.episodes import Episode, play
from pipeline.learning.judging.shortcuts import find_shortcut
from pipeline.learning.layouts import Layouts
from pipeline.learning.start_states import StartState
from pipeline.learning.subtask import Subtask
from pipeline.simulation import kit


class Worlds:
    """The tasks and the states in which their subtasks begin."""

    def __init__(self, table, furniture):
        bowl = small_task.layouts(table, kit.inside("red_cube", "white_bowl"))
        zone = small_task.layouts(table, kit.in_zone("red_cube", "zone"), zone=((0.18, 0.1), 0.09))
        drawer = small_task.layouts(furniture, kit.opened("cabinet", "top_drawer"), scattered=("red_cube",))
        self._tasks = {
            "reach": (bowl, "Do it."), "pick": (bowl, "Do it."), "place": (bowl, "Do it."), "push": (zone, "Push it."),
            "open": (drawer, "Do it."),
        }  # fmt: skip
        self._held: tuple[StartState, ...] = ()

    def objects(self, planted: Planted):
        return self._tasks[planted.subtask][0].base.objects

    def play(self, planted: Planted) -> tuple[Subtask, list[Episode]]:
        """Return the subtask and an episode on each layout."""
        layouts, instruction = self._tasks[planted.subtask]
        found = small_task.subtasks(layouts, instruction)
        subtask = planted.change(next(one for one in found if one.name.startswith(planted.subtask)))
        held = planted.subtask == "place"
        starts = self._held_starts(layouts, found) if held else small_task.settled(layouts, subtask, range(1, 4))
        env = SubtaskEnv(layouts, subtask, starts)
        return subtask, list(play(env, Scripted(env, planted.script), starts))

    def _held_starts(self, layouts: Layouts, subtasks) -> tuple[StartState, ...]:
        """Return states in which the cube is held, as pick ends."""
        if not self._held:
            pick = next(one for one in subtasks if one.name.startswith("pick"))
            env = SubtaskEnv(layouts, pick, small_task.settled(layouts, pick, range(1, 4)))
            self._held = tuple(one.end for one in play(env, Scripted(env, expert), env.starts) if one.success)
        assert self._held and np.isfinite(self._held[0].state).all()
        return self._held


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
    assert find_shortcut(subtask, [], worlds.objects(planted)) is None
    assert name not in ("reaches", "picks", "places", "pushes", "opens") or all(one.success for one in episodes)
