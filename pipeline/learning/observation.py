"""What a policy sees: the measured state relative to the hand, in decimetres, as one vector."""

import numpy as np

from pipeline.learning.pushing import is_push, push_line
from pipeline.learning.subtask_world import SubtaskWorld
from pipeline.learning.terms.term import Moment
from pipeline.simulation.goals.hand import hand_of

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
            world.control.lag * SCALE, [float(bool(hand.holding)), data.ctrl[world.control.suction]],
        ]  # fmt: skip
        for name in world.names:
            one = state[name]
            between = one.position - hand.tip
            values += [
                between * SCALE, [(one.top - hand.tip[2]) * SCALE, one.bottom * SCALE, one.height * SCALE],
                [float(hand.holding == name), one.rotation[2, 2], float(np.linalg.norm(between)) * SCALE],
            ]  # fmt: skip
        for joint in self._parts:
            values += [(hand.grasp_points[joint] - hand.tip) * SCALE, [state[joint[0]].part(joint[1]).open]]
        for named in self._places:
            goal = world.bound.get(named, named)
            place = np.array(goal.fixed_place) if goal.fixed_place is not None else state.zones[goal.zones[0]].xy
            values.append((place - hand.tip[:2]) * SCALE)
        if self._is_push:
            line = push_line(state, world.subtask.success[-1], hand.tip)
            values += [line.unit, line.off_line * SCALE, (line.behind - hand.tip[:2]) * SCALE]
        values.append(moment.misses * SCALE)
        return np.clip(np.concatenate(values), -BOUND, BOUND).astype(np.float32)
