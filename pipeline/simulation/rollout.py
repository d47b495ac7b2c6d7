"""One rollout of the oracle: its events, trajectory and rewards.

`Run.xml` is the model as it ran. Its mesh paths are relative to the project's scene folder: saved as
scene/anything.xml it loads alone; pipeline.solving saves it as solution/model.xml with meshdir="../scene".
"""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby

import numpy as np

from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.stages import is_superseded, why_not_in_order
from pipeline.simulation.objects import Object
from pipeline.simulation.physics import CompiledWorld, Physics
from pipeline.simulation.robots.oracle.oracle import Event, act
from pipeline.simulation.run_record import SOLVED, Contact, GoalProgress
from pipeline.simulation.state import State

OBSERVED = 16
"""Instants at which the goals of an observed run are measured."""
MAX_SAMPLES = 48
"""Instants of a rollout at which the goals are measured; each costs a collision test, about 3 ms."""

Stages = Sequence[tuple[str, tuple[Goal, ...]]]


@dataclass(frozen=True, eq=False)
class Run:
    """A finished rollout as plain data."""

    reward: float
    """Final, in [0, 1]: share of all goals met at rest, a stage counting once those before it were met."""
    rewards: np.ndarray
    """At each recorded instant, of shape (T,); updated whenever objects have come to rest."""
    times: np.ndarray
    """Simulated seconds, of shape (T,)."""
    why: str
    """The first goal not met, with the oracle's reason; empty when solved."""
    events: tuple[Event, ...]
    goals: tuple[dict, ...]
    """Per goal {name, objects, stage, met, value, miss, nearest_miss}, metres, and over_time: its miss after each
    event, ((seconds, metres), ...)."""
    at_rest: bool
    """Whether everything was at rest at the end."""
    state_at_start: State
    state_at_end: State
    moved_before_touch: dict[str, float]
    """Metres that objects moved before the gripper touched anything, where more than 1 mm."""
    qpos: np.ndarray
    """Of shape (T, nq)."""
    actions: np.ndarray
    """Commands of the five actuators (x, y, z from home, yaw, suction), of shape (T, 5)."""
    xml: str
    _addresses: dict[str, int] = field(repr=False)
    _measure: Callable[[], GoalProgress] = field(repr=False)
    _states: tuple[State, ...] = field(default=(), repr=False)
    """At the start, after each event and at the end."""

    @property
    def solved(self) -> bool:
        """Whether the reward is above `SOLVED`."""
        return self.reward > SOLVED

    def start(self, name: str) -> Object:
        """Return an object before anything moved."""
        return self.state_at_start[name]

    def end(self, name: str) -> Object:
        """Return an object at the end."""
        return self.state_at_end[name]

    def path(self, name: str) -> np.ndarray:
        """Return an object's centre at each recorded instant, of shape (T, 3)."""
        centre = self.start(name).position
        if name not in self._addresses:
            return np.repeat(centre[None], len(self.times), 0)
        first = self._addresses[name]
        return self.qpos[:, first : first + 3].copy()

    def moved(self, name: str) -> float:
        """Return the distance between start and end, in metres."""
        return float(np.linalg.norm(self.end(name).position - self.start(name).position))

    def touching(self, a: str, b: str) -> bool:
        """Return whether a and b touch at the end; the table is called "table"."""
        for name in (a, b):
            if name not in ("table", "floor"):
                self.end(name)
        return self.state_at_end.touches(a, b)

    @cached_property
    def progress(self) -> GoalProgress:
        """The goals over time; measured when first needed."""
        return self._measure()

    def why_not_in_order(self, *steps: Goal | Sequence[Goal]) -> str:
        """Return why steps, each one goal or several, were not completed one after the other; empty where they were.

        A goal counts as met where it misses by no more than a careful check accepts (`Goal.clear_miss`). What holds at
        the start, or comes true by an earlier step, breaks no order.
        """
        return why_not_in_order(self._states, [(step,) if isinstance(step, Goal) else tuple(step) for step in steps])

    @cached_property
    def grasps(self) -> tuple[tuple[float, str], ...]:
        """Times and names of what the suction gripped, to carry it or to open or shut it."""
        return tuple((e.time, e.object) for e in self.events if e.verb in ("pick", "open", "shut") and e.ok)


def reward(state: State, stages: Stages, reached: int, broken: Container[Goal] = ()) -> float:
    """Return the share of all goals met, in [0, 1], counting the first `reached` stages.

    A goal that a reached stage supersedes was met before that stage began, and counts. `broken` are goals that did not
    hold throughout: they never count.
    """
    total = sum(len(goals) for _, goals in stages)
    shares = [
        0.0
        if goal in broken
        else 1.0
        if is_superseded(goal, _goals_of(stages[index + 1 : reached]))
        else goal.share(state)
        for index, (_, goals) in enumerate(stages[:reached])
        for goal in goals
    ]
    return float(sum(shares) / max(total, 1))


def _goals_of(stages: Stages) -> list[Goal]:
    return [goal for _, goals in stages for goal in goals]


def roll_out(world: CompiledWorld, stages: Stages) -> Run:
    """Run the oracle until it is done or gives up. Raises UnstableError."""
    physics = Physics(world)
    physics.settle(0.5)
    start = physics.state()
    drift = {n: float(np.linalg.norm(start[n].position - o.position)) for n, o in world.objects.items()}
    ledger = _Ledger(stages, start)
    events = []
    for event in act(physics, stages):
        events.append(event)
        ledger.update(physics.state())
    at_rest = physics.settle(2.0)
    physics.record_instant()
    ledger.update(physics.state())
    return _finished(physics, ledger, events, drift, at_rest)


def observed_run(
    world: CompiledWorld, stages: Stages, times: np.ndarray, qpos: np.ndarray, grasps: Sequence[tuple[float, str]]
) -> Run:
    """Return what something other than the oracle did, at rest at its end, as a finished rollout.

    Args:
        world: in which it was recorded.
        stages: goals of the task.
        times: simulated seconds, of shape (T,), rising.
        qpos: at these times, of shape (T, nq).
        grasps: time in seconds of each grasp, and the name of its object.

    Raises ValueError for coordinates of another world.
    """
    physics = Physics(world)
    if qpos.ndim != 2 or qpos.shape != (len(times), world.model.nq) or not len(times):
        raise ValueError(f"the recorded coordinates {qpos.shape} are of another world: {world.model.nq} are needed")
    physics.log.times[:], physics.log.qpos[:] = [float(time) for time in times], list(qpos)
    physics.log.actions[:] = [np.zeros(world.model.nu)] * len(times)
    states = [physics.state_at(qpos[i], float(times[i])) for i in observed_instants(len(times))]
    ledger = _Ledger(stages, states[0])
    for state in states[1:]:
        ledger.update(state)
    events = [Event(time, "pick", name, "", True) for time, name in grasps]
    return _finished(physics, ledger, events, {}, True)


def observed_instants(count: int, most: int = OBSERVED) -> list[int]:
    """Return the indices of the instants, at most so many, at which the goals of a run are measured."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()


def _finished(physics: Physics, ledger: "_Ledger", events: list[Event], drift: dict[str, float], at_rest: bool) -> Run:
    """Return the run that a ledger has followed to its end."""
    start, end = ledger.states[0], ledger.states[-1]
    ledger.broken = _broken(physics, [goal for goal in _goals_of(ledger.stages) if goal.throughout])
    final = reward(end, ledger.stages, ledger.reached, ledger.broken) if ledger.broken else ledger.rewards[-1]
    final = final if at_rest else min(final, 0.98)
    times = np.array(physics.log.times)
    steps = np.searchsorted(ledger.times, times, side="right") - 1
    return Run(
        reward=final,
        rewards=np.array(ledger.rewards)[np.maximum(steps, 0)],
        times=times,
        why=_why(ledger, end, events, at_rest, final),
        events=tuple(events),
        goals=ledger.goals(end),
        at_rest=at_rest,
        state_at_start=start,
        state_at_end=end,
        moved_before_touch={name: metres for name, metres in drift.items() if metres > 0.001},
        qpos=np.array(physics.log.qpos),
        actions=np.array(physics.log.actions),
        xml=physics.world.xml,
        _addresses=physics.addresses,
        _measure=partial(measure_progress, physics, _goals_of(ledger.stages)),
        _states=tuple(ledger.states),
    )


def _broken(physics: Physics, goals: Sequence[Goal]) -> dict[Goal, tuple[float, float]]:
    """Return the largest miss, in metres, of each goal that did not hold throughout, and its time in seconds."""
    log = physics.log
    instants = observed_instants(len(log.times), MAX_SAMPLES) if goals else []
    states = [physics.state_at(log.qpos[i], log.times[i]) for i in instants]
    worst = {goal: max(((goal.miss(state), state.time) for state in states), key=lambda one: one[0]) for goal in goals}
    return {goal: found for goal, found in worst.items() if found[0] > 0}


class _Ledger:
    """Rewards so far, the stage reached, and how near each goal came."""

    def __init__(self, stages: Stages, state: State):
        self.stages, self.reached = stages, 1
        self.states: list[State] = []
        self.broken: dict[Goal, tuple[float, float]] = {}
        """What did not hold throughout: its largest miss, and when."""
        self.completed: list[State] = []
        """For each stage that was reached but the last, the state in which it was completed."""
        self.times: list[float] = []
        self.rewards: list[float] = []
        self.misses: dict[Goal, list[tuple[float, float]]] = {goal: [] for _, goals in stages for goal in goals}
        self.update(state)

    def update(self, state: State) -> None:
        while self.reached < len(self.stages) and all(g.met(state) for g in self.stages[self.reached - 1][1]):
            self.reached += 1
            self.completed.append(state)
        for goal, misses in self.misses.items():
            misses.append((state.time, goal.miss(state)))
        self.states.append(state)
        self.times.append(state.time)
        self.rewards.append(reward(state, self.stages, self.reached))

    def last_state(self, goal: Goal, index: int, end: State) -> State:
        """Return the state in which a goal of a stage has to hold: the end, or when a superseded one was completed."""
        superseded = is_superseded(goal, _goals_of(self.stages[index + 1 : self.reached]))
        return self.completed[index] if superseded else end

    def goals(self, end: State) -> tuple[dict, ...]:
        return tuple(
            {
                "name": goal.name,
                "objects": goal.objects,
                "stage": stage,
                "met": goal.met(last) and goal not in self.broken,
                "value": goal.value(last) * (goal not in self.broken),
                "miss": max(goal.miss(last), self.broken.get(goal, (0.0,))[0]),
                "nearest_miss": min(miss for _, miss in self.misses[goal]),
                "over_time": tuple(self.misses[goal]),
            }
            for index, (stage, goals) in enumerate(self.stages)
            for goal in goals
            for last in [self.last_state(goal, index, end)]
        )


def _why(ledger: _Ledger, end: State, events: list[Event], at_rest: bool, final: float) -> str:
    if final > SOLVED:
        return ""
    failures = [e for e in events if not e.ok and e.message]
    for index, (_, goals) in enumerate(ledger.stages):
        for goal in goals:
            last = ledger.last_state(goal, index, end)
            if goal in ledger.broken:
                miss, time = ledger.broken[goal]
                return f"{goal.name} is missed by {miss * 100:.1f} cm at {time:.1f} s"
            if not goal.met(last):
                related = [e for e in failures if e.object in goal.objects] or failures
                reason = f": {related[-1].message}" if related else ""
                return f"{goal.name} is missed by {goal.miss(last) * 100:.1f} cm{reason}"
    return "something still moves at the end" if not at_rest else "a later stage was never reached"


def measure_progress(physics: Physics, goals: Sequence[Goal]) -> GoalProgress:
    """Measure the goals at up to MAX_SAMPLES recorded instants of a finished rollout, the last one included."""
    chosen = observed_instants(len(physics.log.times), MAX_SAMPLES)
    states = [physics.state_at(physics.log.qpos[i], physics.log.times[i]) for i in chosen]
    times = np.array([state.time for state in states])
    misses = np.array([[goal.miss(state) for goal in goals] for state in states]).reshape(len(states), len(goals))
    named = {name for goal in goals for name in goal.objects}
    touching = [{pair for pair in state.touching if pair & named} for state in states]
    return GoalProgress(times, misses, tuple(sorted(_contacts(times, touching), key=lambda c: (c.start, c.a, c.b))))


def _contacts(times: np.ndarray, touching: Sequence[set[frozenset[str]]]) -> Iterator[Contact]:
    """Yield each uninterrupted contact of each pair."""
    for pair in set[frozenset[str]]().union(*touching):
        a, b = sorted(pair, key=lambda name: (name == "table", name))
        for holds, group in groupby(range(len(times)), key=lambda i: pair in touching[i]):
            indices = list(group)
            if holds:
                yield Contact(a, b, float(times[indices[0]]), float(times[indices[-1]]))
