"""A hand that knows every pose: what a policy has to learn, in the same environment and with the same actions."""

import numpy as np

from pipeline.learning.subtask_world import RATE
from pipeline.simulation.goals.hand import HandNear, Held, hand_of

STILL = np.array([0, 0, 0, 0, -1.0])


class ScriptedPolicy:
    def __init__(self, env):
        self.env = env
        self.released = False

    def act(self, observation, explore=False):
        if not self.env._steps:
            self.released = False
        state, goal = self.env.moment.state, self.env.world.subtask.success[-1]
        hand, held = hand_of(state), hand_of(state).holding
        if isinstance(goal, HandNear):
            target = np.array([*state[goal.a].position[:2], state[goal.a].top + 0.012])
            return self.towards(hand.tip, target, above=state[goal.a].top + 0.012, suction=-1)
        if isinstance(goal, Held):
            a = state[goal.a]
            if held == goal.a:
                return np.array([0, 0, 0.6, 0, 1.0])
            return self.towards(hand.tip, np.array([*a.position[:2], a.top - 0.005]), above=-1, suction=1)
        a, holder = state[goal.objects[0]], state[goal.objects[-1]]
        if self.released or not held:
            self.released = True
            return np.array([0, 0, 1.0, 0, -1.0]) if hand.tip[2] < a.top + 0.1 else STILL
        target = np.array([*(holder.position[:2] + (hand.tip[:2] - a.position[:2])), hand.tip[2]])
        if np.linalg.norm(a.position[:2] - holder.position[:2]) > 0.01:
            return self.towards(hand.tip, target, above=-1, suction=1)
        rest = holder.top if goal.rests == "on" else holder.bottom + 0.02
        if a.bottom > rest + 0.02:
            return np.array([0, 0, -0.3, 0, 1.0])
        self.released = True
        return STILL

    @staticmethod
    def towards(tip, target, above, suction):
        """Return the action that moves the tip sideways first, then down."""
        change = target - tip
        if np.linalg.norm(change[:2]) > 0.02 and above > 0:
            change[2] = max(change[2], 0.0)
        return np.array([*np.clip(change / RATE.slide_m * 0.8, -1, 1), 0.0, suction])
