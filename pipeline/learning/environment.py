"""The Gymnasium environment of one subtask on the twin: 10 Hz, position deltas, potential-based shaping."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from pipeline.learning.layouts import Layouts
from pipeline.learning.observation import BOUND, Observer
from pipeline.learning.start_states import StartState
from pipeline.learning.subtask import LearningError, Subtask
from pipeline.learning.subtask_world import SubtaskWorld
from pipeline.learning.terms.term import Moment
from pipeline.simulation.physics import UnstableError


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
