"""Worlds in which planted policies are played: a bowl, a zone and a drawer; each starts as its subtask does."""

import numpy as np
import small_task
from planted_policies import Planted, Scripted, expert

from pipeline.learning.environment import SubtaskEnv
from pipeline.learning.episodes import Episode, play
from pipeline.learning.layouts import Layouts
from pipeline.learning.start_states import StartState
from pipeline.learning.subtask import Subtask
from pipeline.learning.subtask_world import SubtaskWorld
from pipeline.simulation import kit

LAYOUTS = range(1, 4)
ZONE = ((0.18, 0.1), 0.09)


class Worlds:
    def __init__(self, table, furniture):
        bowl = small_task.layouts(table, kit.inside("red_cube", "white_bowl"))
        zone = small_task.layouts(table, kit.in_zone("red_cube", "zone"), zone=ZONE)
        drawer = small_task.layouts(furniture, kit.opened("cabinet", "top_drawer"), scattered=("red_cube",))
        self._tasks = {
            "reach": (bowl, "Do it."), "pick": (bowl, "Do it."), "place": (bowl, "Do it."), "push": (zone, "Push it."),
            "open": (drawer, "Do it."),
        }  # fmt: skip
        self._held: tuple[StartState, ...] = ()

    def objects(self, planted: Planted):
        return self._tasks[planted.subtask][0].base.objects

    def play(self, planted: Planted) -> tuple[Subtask, list[Episode]]:
        layouts, instruction = self._tasks[planted.subtask]
        found = small_task.subtasks(layouts, instruction)
        subtask = planted.change(next(one for one in found if one.name.startswith(planted.subtask)))
        starts = self._held_starts(layouts, found) if planted.subtask == "place" else self._settled(layouts, subtask)
        env = SubtaskEnv(layouts, subtask, starts)
        return subtask, list(play(env, Scripted(env, planted.script), starts))

    def _settled(self, layouts: Layouts, subtask: Subtask) -> tuple[StartState, ...]:
        world = SubtaskWorld(layouts, subtask)
        return tuple(world.settled(layout) for layout in layouts.get(list(LAYOUTS)))

    def _held_starts(self, layouts: Layouts, subtasks) -> tuple[StartState, ...]:
        if not self._held:
            pick = next(one for one in subtasks if one.name.startswith("pick"))
            env = SubtaskEnv(layouts, pick, self._settled(layouts, pick))
            self._held = tuple(one.end for one in play(env, Scripted(env, expert), env.starts) if one.success)
        assert self._held and np.isfinite(self._held[0].state).all()
        return self._held
