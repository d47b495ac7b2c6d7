"""Demonstrations: the oracle's path on a layout, followed at 10 Hz through the subtasks of a task.

The oracle moves faster than a policy may, so its path is followed, not replayed: the hand goes on along it as far as
one control step allows, and stops where the suction is switched.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from pipeline.learning.environment import EpisodeRules, SubtaskEnv
from pipeline.learning.episodes import Acts, SubtaskEpisode, finish
from pipeline.learning.layouts import Layouts
from pipeline.learning.pushing import STILL, is_push, push_action
from pipeline.learning.start_states import StartState
from pipeline.learning.subtask import PLAN, Subtask
from pipeline.learning.subtask_world import RATE, SubtaskWorld
from pipeline.simulation.goals.goal import Move
from pipeline.simulation.goals.hand import HandNear, Held
from pipeline.simulation.physics import UnstableError
from pipeline.simulation.robots.oracle.oracle import act

SETTLED_STEPS = 15
"""Control steps that the hand waits at the end of the path, for everything to come to rest."""
CARRIED_M, HIGHER_M = 0.05, 0.02
"""What is held higher than this above the grasp is carried higher still: subtasks lift higher than the oracle does."""
LIFTED_M = 0.3
"""How high the hand lifts what it puts back where it was: higher than any subtask asks."""
PAUSE, ARRIVE = 4, 2
"""Control steps that the hand stands still where the suction is switched, and how many of them come before."""
PLANNED_TIME = 4
"""How many times as long a planned subtask may take as a learned one."""
HEIGHT, SUCTION = 2, 4
"""Indices of height and suction among the floating gripper's commands x, y, z, yaw, suction."""


@dataclass(frozen=True, eq=False)
class Demonstrated:
    """What the follower saw and did in one subtask that it solved."""

    subtask: str
    observations: np.ndarray
    """Of shape (T, O)."""
    actions: np.ndarray
    """Of shape (T, A), in [-1, 1]."""


def oracle_path(layouts: Layouts, subtask: Subtask, start: StartState) -> np.ndarray:
    """Return the oracle's commands from a state on, of shape (T, 5), at 31 Hz."""
    (layout,) = layouts.get([start.layout])
    world = SubtaskWorld(layouts, subtask)
    world.begin(start)
    world.data.ctrl[SUCTION] = float(bool(world.control.held))
    world.physics.record_instant()
    first = world.data.ctrl.copy()
    if (lifted := _lifted_in_place(world)) is not None:
        hand = world.physics.world.robot.hand(world.physics)
        if not hand.pick(lifted, 0, {}):
            hand.go(hand.tip + np.array([0, 0, LIFTED_M]))
            hand.place(lifted)
    for _ in act(world.physics, layout.stages):
        pass
    path = np.array([first, *world.physics.log.actions[1:]])
    return carried_higher(path)


def _lifted_in_place(world: SubtaskWorld) -> Move | None:
    """Return the move that lifts what a subtask picks and puts it back, where its place is right already.

    The oracle alone leaves such an object where it is.
    """
    success, state = world.subtask.success, world.physics.state()
    picked = {goal.a for goal in success if isinstance(goal, Held) or (isinstance(goal, HandNear) and not goal.part)}
    if len(picked) != 1 or world.control.held:
        return None
    (name,) = picked
    about = [goal for goal in world.layout.goals if name in goal.objects]
    if not about or not all(goal.met(state) for goal in about):
        return None
    return Move(name, state[name].position[:2], None, "place", "where it was", about[0])


def carried_higher(path: np.ndarray) -> np.ndarray:
    """Return a path of commands (T, 5) that carries each object higher, once it is clear of where it was grasped."""
    path, held = path.copy(), path[:, SUCTION] > 0.5
    for carry in np.split(np.arange(len(path)), np.flatnonzero(np.diff(held)) + 1):
        heights = path[carry, HEIGHT]
        grasped = heights[0] if carry[0] else heights.min()  # a path that begins with a full hand has no grasp
        path[carry[held[carry] & (heights > grasped + CARRIED_M)], HEIGHT] += HIGHER_M
    return path


def demonstrate(
    layouts: Layouts, subtasks: Sequence[Subtask], starts: Sequence[StartState], rules: EpisodeRules | None = None
) -> Iterator[Demonstrated]:
    """Yield what is demonstrated from each settled start, subtask by subtask, up to the first that is not solved."""
    first = SubtaskWorld(layouts, subtasks[0])
    worlds = [first, *(SubtaskWorld(layouts, subtask, first.control) for subtask in subtasks[1:])]
    envs = [SubtaskEnv(layouts, one.subtask, starts, rules or EpisodeRules(), one) for one in worlds]
    for index, start in enumerate(starts):
        (layout,) = layouts.get([start.layout])
        oracle = _Oracle(layouts)
        observation, _ = envs[0].reset(options={"start": index})
        for number, env in enumerate(envs):
            if number:
                env.world.layout = layout
                observation = env.resume()
            found = _follow(env, oracle, observation)
            if found is None:
                break
            yield found


def demonstrate_subtask(
    env: SubtaskEnv, starts: Sequence[StartState], random: np.random.Generator
) -> Iterator[Demonstrated]:
    """Yield what the oracle shows from each start that it solves.

    Every second time its motions are disturbed, so that it also shows how to come back (DART: Laskey et al. 2017); the
    actions that it meant are what is kept.
    """
    for number in range(len(starts)):
        observation = _reset(env, starts, number)
        # 0.3: standard deviation of what disturbs every second demonstration, as a share of the largest motion
        noise = random.normal(0, 0.3, (env.rules.steps, SUCTION)) if number % 2 else None
        if shown := _follow(env, _Oracle(env.world.layouts), observation, noise):
            yield shown


def correct(
    env: SubtaskEnv, policy: Acts, starts: Sequence[StartState], random: np.random.Generator
) -> Iterator[Demonstrated]:
    """Yield what the oracle does from states that a policy has reached (DAgger: Ross et al. 2011).

    A push is decided from the present state alone, so the oracle says at each step of an episode what it would do.
    Elsewhere it plans a path, and takes over at a random moment (Kelly et al. 2019).
    """
    for number in range(len(starts)):
        observation = _reset(env, starts, number)
        if is_push(env.world.subtask):
            yield _judged(env, policy, observation)
            continue
        ended = cut_off = False
        for _ in range(random.integers(env.rules.steps)):
            observation, _, ended, cut_off, _ = env.step(policy.act(observation))
            if ended or cut_off:
                break
        if not (ended or cut_off) and (shown := _follow(env, _Oracle(env.world.layouts), observation)):
            yield shown


def doubled_steps(rules: EpisodeRules) -> EpisodeRules:
    """Return rules by which an episode goes on as long again, for the oracle to finish what a policy began."""
    return replace(rules, steps=2 * rules.steps)


def rules_of(subtask: Subtask) -> EpisodeRules:
    """Return the rules of a subtask's episodes; what the oracle plans may move something out of the way first."""
    rules = EpisodeRules()
    return replace(rules, steps=PLANNED_TIME * rules.steps) if subtask.way == PLAN else rules


def _reset(env: SubtaskEnv, starts: Sequence[StartState], number: int) -> np.ndarray:
    """Begin an episode at a start, and return the observation."""
    env.starts = tuple(starts)
    return env.reset(options={"start": number})[0]


def _judged(env: SubtaskEnv, policy: Acts, observation: np.ndarray) -> Demonstrated:
    """Return a policy's episode with the actions that the oracle would have chosen in it."""
    observations, actions, ended, cut_off = [], [], False, False
    while not (ended or cut_off):
        observations.append(observation)
        actions.append(push_action(env))
        observation, _, ended, cut_off, _ = env.step(policy.act(observation))
    return Demonstrated(env.world.subtask.name, np.array(observations), np.array(actions))


def oracle_episodes(
    layouts: Layouts, subtasks: Sequence[Subtask], start: StartState, rules: EpisodeRules
) -> Iterator[SubtaskEpisode]:
    """Yield the oracle's episode of each subtask from a settled start, up to the first that it does not solve.

    It moves as a policy may and is measured as a policy is, so both can be compared step by step.
    """
    first = SubtaskWorld(layouts, subtasks[0])
    worlds = [first, *(SubtaskWorld(layouts, subtask, first.control) for subtask in subtasks[1:])]
    (layout,) = layouts.get([start.layout])
    oracle = _Oracle(layouts)
    for number, world in enumerate(worlds):
        env = SubtaskEnv(layouts, world.subtask, (start,), rules, world)
        if number:
            world.layout = layout
        observation = env.resume() if number else env.reset(options={"start": 0})[0]
        yield (episode := finish(env, _Following(oracle, env), observation))
        if not episode.success:
            return


class _Following:
    """Acts as the oracle does, and stands still with an empty hand after its path has ended."""

    def __init__(self, oracle: "_Oracle", env: SubtaskEnv):
        self._oracle, self._env = oracle, env

    def act(self, observation: np.ndarray, explore: bool = False) -> np.ndarray:
        action = self._oracle.action(self._env)
        return STILL if action is None else action


class Planned:
    """Acts as the oracle does in one environment; the plan of an episode may serve the next subtasks, too."""

    def __init__(self, env: SubtaskEnv):
        self._env, self._oracle = env, _Oracle(env.world.layouts)
        self._following = _Following(self._oracle, env)

    def keep_plan(self, episode: SubtaskEpisode) -> None:
        """Let the rest of the plan serve whatever begins where the episode, which has just ended, succeeded."""
        if episode.success:
            self._oracle.keep_plan(self._env, episode.end)

    def act(self, observation: np.ndarray, explore: bool = False) -> np.ndarray:
        if self._env.is_at_start:
            self._oracle = _Oracle(self._env.world.layouts)
            self._following = _Following(self._oracle, self._env)
        try:
            return self._following.act(observation, explore)
        except UnstableError:  # of the path that it tries: it does nothing, and fails
            return STILL


_plans: WeakKeyDictionary[Layouts, dict[tuple[int, bytes], "_Follower"]] = WeakKeyDictionary()
"""What is left of a plan where a planned subtask has ended, by the layout and the positions there."""


class _Oracle:
    """Pushes where a subtask is a push, and else follows the oracle's path from where it is."""

    def __init__(self, layouts: Layouts):
        self._layouts = layouts
        self._follower: _Follower | None = None

    def keep_plan(self, env: SubtaskEnv, end: StartState) -> None:
        """Follow the rest of the present path also from a state in which an episode has ended."""
        if self._follower is not None:
            _plans.setdefault(self._layouts, {})[_place(env, end)] = copy(self._follower)

    def action(self, env: SubtaskEnv) -> np.ndarray | None:
        """Return the next action; None once its path has ended and everything has had time to come to rest."""
        if is_push(env.world.subtask):
            self._follower = None  # what comes next begins elsewhere
            return push_action(env)
        if self._follower is None:
            start = env.world.snapshot()
            kept = _plans.get(self._layouts, {}).get(_place(env, start))
            self._follower = copy(kept) or _Follower(oracle_path(self._layouts, env.world.subtask, start))
        return self._follower.action(env)


def _place(env: SubtaskEnv, state: StartState) -> tuple[int, bytes]:
    """Return a key for a state: its layout, and the joint positions qpos (nq,), in m and rad, to six decimals."""
    positions = state.state[1 : 1 + env.world.model.nq]  # after the time
    return state.layout, (np.round(positions, 6) + 0.0).tobytes()


def _detour(path: np.ndarray) -> int:
    """Return how many of the first commands only go up and come back to where the hand is, before the suction is on.

    The oracle approaches from above. To see it go up from just above an object would teach a policy, which does not
    remember what it has done, to go up from there each time.
    """
    off = path[: int(np.argmax(path[:, SUCTION] > 0.5))]
    change = np.abs(off[:, :SUCTION] - path[0, :SUCTION])
    # 0.01: nearest distance on the ground at which the path has come back to where the hand is
    is_back = (change[:, :HEIGHT] < 0.01).all(axis=1) & (change[:, HEIGHT] < RATE.slide_m)
    is_back &= change[:, HEIGHT + 1] < RATE.turn_rad
    return int(np.flatnonzero(is_back)[-1]) if is_back.any() else 0


class _Follower:
    """Goes along a path of commands."""

    def __init__(self, path: np.ndarray):
        self._path, self._at = path, _detour(path)
        self._waited = self._pause = 0

    def action(self, env: SubtaskEnv) -> np.ndarray | None:
        """Return the next action; None once the path has ended and everything has had time to come to rest."""
        control, path = env.world.control, self._path
        ctrl = control.data.ctrl
        self._pause = max(0, self._pause - 1)
        if control.held and path[self._at][SUCTION] > 0.5:
            self._pause = 0  # it has taken hold, and can go on
        while not self._pause and self._at + 1 < len(path):
            if not self._is_near(env, path[self._at + 1]) and not self._is_there(env, path[self._at]):
                break
            self._at += 1
            if path[self._at][SUCTION] != path[self._at - 1][SUCTION]:
                self._pause = PAUSE
        self._waited += self._at + 1 == len(path)
        if self._waited > SETTLED_STEPS:
            return None
        wanted = path[self._at].copy()
        action = control.action(np.where(np.arange(len(wanted)) == SUCTION, ctrl, wanted))
        # 12: commands of the path, 0.4 s, by which the suction is on before it is needed: what a policy does at a place
        # depends on the place alone, not on how long it has waited there
        is_on = path[self._at : self._at + 12, SUCTION].max() > 0.5
        is_leaving = wanted[SUCTION] < 0.5 and self._pause > PAUSE - ARRIVE
        action[SUCTION] = 1.0 if is_on or is_leaving else -1.0
        return action

    def _is_there(self, env: SubtaskEnv, command: np.ndarray) -> bool:
        """Whether a command is carried out; what follows it may be more than one control step away."""
        return bool(np.allclose(env.world.data.ctrl[:SUCTION], command[:SUCTION], atol=1e-4))

    def _is_near(self, env: SubtaskEnv, command: np.ndarray) -> bool:
        """Whether one control step gets to a command."""
        rate, change = env.world.control.rate, np.abs(command - env.world.data.ctrl)
        return bool((change[:3] <= rate.slide_m).all() and change[3] <= rate.turn_rad)


def _follow(
    env: SubtaskEnv, oracle: _Oracle, observation: np.ndarray, noise: np.ndarray | None = None
) -> Demonstrated | None:
    """Return one subtask as followed, disturbed by `noise` (T, 4); None if it was not solved."""
    observations, actions = [], []
    while (action := oracle.action(env)) is not None:
        observations.append(observation)
        actions.append(action)
        done = action.copy()
        if noise is not None:
            done[:SUCTION] = np.clip(done[:SUCTION] + noise[len(actions) - 1], -1, 1)
        observation, _, ended, cut_off, info = env.step(done)
        if info["success"]:
            return Demonstrated(env.world.subtask.name, np.array(observations), np.array(actions))
        if ended or cut_off:
            return None
    return None
