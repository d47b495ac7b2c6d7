"""Scripted policies in the real environments: one that knows every pose, some that take a shortcut, and sound ones.

A shortcut earns reward without doing the task. A sound policy does it, or fails without being paid for something else.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pipeline.learning.environment import SubtaskEnv
from pipeline.learning.subtask import Subtask, WeightedTerm
from pipeline.learning.subtask_world import RATE
from pipeline.learning.terms import Energy
from pipeline.simulation.goals.hand import HandNear, Held, hand_of

STILL = np.array([0, 0, 0, 0, -1.0])


class ScriptedPolicy:
    """Acts for one environment of reach, pick or place."""

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
        offset = hand.tip[:2] - a.position[:2]
        target = np.array([*(holder.position[:2] + offset), hand.tip[2]])
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


Script = Callable[[SubtaskEnv], Iterator[np.ndarray]]
OFF, ON = -1.0, 1.0


@dataclass(frozen=True)
class Planted:
    """A policy and the subtask that it plays."""

    subtask: str
    """Verb of the subtask: reach, pick, place, push or open."""
    script: Script
    term: str = ""
    """Kind of the term that pays for the shortcut; empty if none does, or for a sound policy."""
    change: Callable[[Subtask], Subtask] = lambda subtask: subtask


class Scripted:
    """Acts by a script that begins again with every episode."""

    def __init__(self, env: SubtaskEnv, script: Script):
        self._env, self._script, self._actions = env, script, iter(())

    def act(self, observation: np.ndarray, explore: bool = False) -> np.ndarray:
        if not self._env._steps:
            self._actions = self._script(self._env)
        return next(self._actions, STILL)


def tip(env) -> np.ndarray:
    return hand_of(env.moment.state).tip


def top(env, above: float, beside: float = 0.0) -> np.ndarray:
    """Return the point above the first object's top."""
    a = env.moment.state[env.world.subtask.objects[0]]
    return np.array([a.position[0] + beside, a.position[1], a.top + above])


def towards(env, target, suction: float, speed: float = 0.8) -> np.ndarray:
    change = (target - tip(env)) / RATE.slide_m * speed
    return np.array([*np.clip(change, -1, 1), 0.0, suction])


def stay(env, point: Callable[[], np.ndarray], suction: float = OFF) -> Iterator[np.ndarray]:
    """Go to a point that may move, from above, and stay there."""
    while True:
        target = point()
        if np.linalg.norm((target - tip(env))[:2]) > 0.015:
            target = np.array([*target[:2], max(target[2], tip(env)[2], top(env, 0.03)[2])])
        yield towards(env, target, suction)


def goal_of(env):
    return env.world.subtask.success[-1]


def place_point(env) -> np.ndarray:
    """Return world x and y of the middle of the goal's place."""
    state, goal = env.moment.state, env.world.bound.get(goal_of(env), goal_of(env))
    return state.zones[goal.holder].xy if goal.holder in state.zones else state[goal.holder].position[:2]


# ---------------------------------------------------------------------- shortcuts


def hover(env):
    return stay(env, lambda: top(env, 0.025))


def hold_low(env):
    """Lift the object by a centimetre and keep it there."""
    while hand_of(env.moment.state).holding == "":
        yield towards(env, top(env, -0.005), ON)
    height = tip(env)[2] + 0.01
    while True:
        yield towards(env, np.array([*tip(env)[:2], height]), ON)


def hold_over_place(env, inside: bool = False):
    """Carry the object over its place and keep it there, 2 cm above its rim, or above its bottom."""
    while True:
        a = env.moment.state[goal_of(env).objects[0]]
        holder = env.moment.state[goal_of(env).holder] if goal_of(env).holder not in env.moment.state.zones else None
        bottom = (0.0 if holder is None else holder.bottom if inside else holder.top) + 0.02
        change = np.array([*(place_point(env) - a.position[:2]), 0.0])
        if np.linalg.norm(change[:2]) < 0.03:
            change[2] = bottom - a.bottom
        yield np.array([*np.clip(change / RATE.slide_m * 0.8, -1, 1), 0.0, ON])


def push(env):
    """Push the object to the middle of its zone."""
    while True:
        a = env.moment.state[goal_of(env).objects[0]]
        way = place_point(env) - a.position[:2]
        if env.moment.misses.max() <= 0:
            yield STILL
            continue
        unit = way / np.linalg.norm(way)
        behind = np.array([*(a.position[:2] - 0.06 * unit), 0.02])
        if np.linalg.norm((behind - tip(env))[:2]) > 0.03 and (tip(env)[:2] - a.position[:2]) @ unit > -0.035:
            yield towards(env, np.array([*behind[:2], a.top + 0.03]), OFF)
        elif tip(env)[2] > 0.035:
            yield towards(env, np.array([*behind[:2], 0.02]), OFF)
        else:
            yield np.array([*np.clip(unit * 0.25, -1, 1), 0.0, 0.0, OFF])


def handle(env) -> np.ndarray:
    return hand_of(env.moment.state).grasp_points[env.world.subtask.joints[0]]


def hover_at_handle(env):
    while True:
        yield towards(env, handle(env) - np.array([0, 0.015, 0]), OFF)


def pull(env, share: float, lets_go: bool):
    """Open the part by that share of its travel."""
    name, part = env.world.subtask.joints[0]
    outwards = -env.moment.state[name].rotation[:, 1]
    while not hand_of(env.moment.state).holding:
        yield towards(env, handle(env), ON)
    while env.moment.state[name].part(part).open < share:
        yield np.array([*np.clip(outwards * 0.6, -1, 1), 0.0, ON])
    while True:
        yield STILL if lets_go else np.array([0, 0, 0, 0, ON])


def sweep(env, start):
    """Push what stands at world position `start` (3,) away, and lift the hand."""
    while np.linalg.norm(tip(env)[:2] - start[:2]) > 0.07 or tip(env)[2] > 0.03:
        over = np.linalg.norm(tip(env)[:2] - (start[:2] - [0, 0.06])) > 0.02
        yield towards(env, np.array([start[0], start[1] - 0.06, 0.09 if over else 0.02]), OFF, speed=1.0)
    for _ in range(4):
        yield np.array([0, 0.7, 0, 0, OFF])
    while tip(env)[2] < 0.1:
        yield np.array([0, 0, 1, 0, OFF])


def sweep_then_pick(env):
    """Push the other cube away, then pick the right one up."""
    yield from sweep(env, env.world.data.body("blue_cube").xpos.copy())
    while hand_of(env.moment.state).holding == "":
        near = np.linalg.norm((top(env, 0) - tip(env))[:2]) < 0.02
        yield towards(env, top(env, -0.005 if near else 0.05), ON, speed=1.0)
    while True:
        yield np.array([0, 0, 1, 0, ON])


def stand_still(env):
    while True:
        yield STILL


def with_costly_actions(subtask: Subtask) -> Subtask:
    return replace(subtask, reward=(*subtask.reward, WeightedTerm(Energy(), 20.0)))


SHORTCUTS = {
    "hovers over the cube": Planted("pick", hover, "hand_distance"),
    "holds the cube a centimetre up": Planted("pick", hold_low, "held"),
    "holds the cube over the bowl": Planted("place", hold_over_place, "approach"),
    "keeps holding the cube in the bowl": Planted("place", partial(hold_over_place, inside=True)),
    "hovers over what it should push": Planted("push", hover, "hand_distance"),
    "waits at the handle": Planted("open", hover_at_handle, "hand_distance"),
    "opens the drawer and never lets go": Planted("open", partial(pull, share=0.4, lets_go=False)),
    "throws the other cube away before it picks": Planted("pick", sweep_then_pick),
    "stands still because actions cost more": Planted("reach", stand_still, "energy", with_costly_actions),
}
# ---------------------------------------------------------------------- sound ones


def expert(env):
    policy = ScriptedPolicy(env)
    while True:
        yield policy.act(np.zeros(1))


def noisy(script: Script, noise: float) -> Script:
    def play(env):
        random = np.random.default_rng(env.world.layout.seed)
        for action in script(env):
            yield np.clip(action + np.array([*random.normal(0, noise, 4), 0.0]), -1, 1)

    return play


def wander(env):
    random = np.random.default_rng(env.world.layout.seed)
    while True:
        yield random.uniform(-1, 1, 5)


SOUND = {
    "reaches": Planted("reach", expert),
    "picks": Planted("pick", expert),
    "places": Planted("place", expert),
    "pushes": Planted("push", push),
    "opens": Planted("open", partial(pull, share=0.9, lets_go=True)),
    "picks with noise": Planted("pick", noisy(expert, 0.3)),
    "places with noise": Planted("place", noisy(expert, 0.2)),
    "acts at random": Planted("pick", wander),
}
