"""Goals over the time of a rollout: how far each one is from being met, and what touches its objects."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.physics import Physics
from pipeline.simulation.run_record import Contact, GoalProgress

MAX_SAMPLES = 48
"""Instants of a rollout at which the goals are measured; each costs a collision test, about 3 ms."""


def measure_progress(physics: Physics, goals: Sequence[Goal]) -> GoalProgress:
    """Measure the goals at up to MAX_SAMPLES recorded instants of a finished rollout, the last one included."""
    count = len(physics.log.times)
    chosen = np.unique(np.linspace(0, count - 1, min(count, MAX_SAMPLES)).round().astype(int))
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
