"""The Gymnasium environment of one subtask on the twin: 10 Hz, position deltas, potential-based shaping.

A policy sees the measured state relative to the hand, in decimetres, as one vector.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from pipeline.learning.layouts import Layouts
from pipeline.learning.pushing import is_push, push_line
from pipeline.learning.start_states import StartState
from pipeline.learning.subtask import LearningError, Subtask
from pipeline.learning.subtask_world import SubtaskWorld
from pipeline.learning.terms import Moment
from pipeline.simulation.goals.hand import grasp_point, hand_of
from pipeline.simulation.physics import UnstableError

SCALE = 10.0
"""Metres are observed in decimetres: about one for the distances of a table."""
BOUND = 10.0
"""Largest absolute value."""
VERSION = 2
"""Changes with what is observed, so that policies are learned again."""
AT_HAND, PER_OBJECT, PER_PART, PER_PLACE, PER_PUSH = 8, 9, 4, 2, 6


class Observer:
    """Turns moments of one subtask into vectors; their length depends on what the subtask names."""

    def __init__(self, world: SubtaskWorld):
        self._world = world
        self._parts = world.subtask.joints
        self._places = tuple(goal for goal in world.subtask.goals if goal.fixed_place is not None or goal.zones)
        self._is_push = is_push(world.subtask)
        self.length = (
            AT_HAND + PER_OBJECT * len(world.names) + PER_PART * len(self._parts) + PER_PLACE * len(self._places)
            + len(world.subtask.success) + PER_PUSH * self._is_push
        )  # fmt: skip

    def observe(self, moment: Moment) -> np.ndarray:
        """Return the observation, of shape (length,), float32."""
        state, world = moment.state, self._world
        hand = hand_of(state)
        data = world.data
        values = [
            (hand.tip - [*state.table.centre, 0.0]) * SCALE / 2,
            world.control.lag * SCALE,
            [float(bool(hand.holding)), data.ctrl[world.control.suction]],
        ]
        for name in world.names:
            one = state[name]
            between = one.position - hand.tip
            values += [
                between * SCALE,
                [(one.top - hand.tip[2]) * SCALE, one.bottom * SCALE, one.height * SCALE],
                [float(hand.holding == name), one.rotation[2, 2], float(np.linalg.norm(between)) * SCALE],
            ]
        for joint in self._parts:
            owner, part = state[joint[0]], joint[1]
            share = 0.0 if part in owner.affordances else owner.part(part).open
            values += [(grasp_point(state, *joint) - hand.tip) * SCALE, [share]]
        for named in self._places:
            goal = world.bound.get(named, named)
            place = np.array(goal.fixed_place) if goal.fixed_place is not None else state.zones[goal.zones[0]].xy
            values.append((place - hand.tip[:2]) * SCALE)
        if self._is_push:
            line = push_line(state, world.subtask.success[-1], hand.tip)
            values += [line.unit, line.off_line * SCALE, (line.behind - hand.tip[:2]) * SCALE]
        values.append(moment.misses * SCALE)
        return np.clip(np.concatenate(values), -BOUND, BOUND).astype(np.float32)


@dataclass(frozen=True)
class EpisodeRules:
    """How an episode is rewarded and ended."""

    discount: float = 0.97
    """The learner's discount. Terms are paid without it: paid with it, they would be worth the same everywhere until
    success is found for the first time, and would lead nowhere."""
    bonus: float = 10.0
    """Reward of success; more than all weighted terms together."""
    steps: int = 60
    """Control steps after which an episode is cut off: 6 s."""
    is_shaped: bool = True
    """Whether the terms are paid; without, success alone is."""


class SubtaskEnv(gymnasium.Env):
    """One subtask, begun at states drawn from a list.

    Observation: a vector float32 (observation.py). Action: changes of the hand's x, y, z and yaw and its suction, of
    shape (5,), in [-1, 1]. Reward: the change of the weighted terms, and a bonus on success; a lost episode pays all
    potentials back. Along any episode the changes add up to at most the sum of the weights, so to come near and wait,
    or to repeat a motion, is always worth less than success. `info` has "success", "layout", and "terms" (T,), the
    weighted potentials.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        layouts: Layouts,
        subtask: Subtask,
        starts: Sequence[StartState] = (),
        rules: EpisodeRules = EpisodeRules(),
        world: SubtaskWorld | None = None,
    ):
        """Args:
        layouts: of the task.
        subtask: to be learned.
        starts: states to begin at; none for the photographed layout.
        rules: of an episode.
        world: a running world of this subtask; None for a new one.
        """
        self.world = world or SubtaskWorld(layouts, subtask)
        self.starts = tuple(starts) or (self.world.settled(layouts.base),)
        self.rules = rules
        self._observer = Observer(self.world)
        self.observation_space = gymnasium.spaces.Box(-BOUND, BOUND, (self._observer.length,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (self.world.control.actions,), np.float32)
        self._potentials = np.zeros(len(subtask.reward))
        self._steps = 0
        self.moment: Moment | None = None
        """What was measured last."""

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        """Begin an episode at a start drawn at random.

        Args:
            options: {"start": index} chooses the start.
        """
        super().reset(seed=seed)
        index = int(self.np_random.integers(len(self.starts)))
        if options and "start" in options:
            index = int(options["start"])
            if not 0 <= index < len(self.starts):
                raise LearningError(f"there is no start {index}; there are {len(self.starts)}")
        self._begin(self.world.begin(self.starts[index]))
        assert self.moment is not None
        return self._observer.observe(self.moment), self._info(False)

    def resume(self) -> np.ndarray:
        """Begin an episode at the world's present state, as a chain does; return the observation."""
        self._begin(self.world.pursue())
        assert self.moment is not None
        return self._observer.observe(self.moment)

    @property
    def is_at_start(self) -> bool:
        """Whether nothing was done yet in the present episode."""
        return self._steps == 0

    def _begin(self, moment: Moment) -> None:
        self.moment, self._steps = moment, 0
        self._potentials = self.world.potentials(moment)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Simulate 0.1 s. The episode is terminated on success, and when an object has left the table."""
        assert self.moment is not None, "call reset first"
        rules, before, lost = self.rules, self._potentials.sum(), False
        try:
            self.moment = self.world.step(np.asarray(action, float))
        except UnstableError:
            lost = True
        solved = not lost and self.world.is_solved(self.moment)
        lost = lost or self.world.is_lost(self.moment)
        self._potentials = self.world.potentials(self.moment)
        self._steps += 1
        shaping = (0.0 if lost else self._potentials.sum()) - before if rules.is_shaped else 0.0
        reward = float(shaping + (rules.bonus if solved else 0.0))
        cut_off = self._steps >= rules.steps and not (solved or lost)
        return self._observer.observe(self.moment), reward, solved or lost, cut_off, self._info(solved)

    def _info(self, solved: bool) -> dict[str, Any]:
        return {"success": solved, "is_success": solved, "layout": self.world.layout.seed, "terms": self._potentials}
