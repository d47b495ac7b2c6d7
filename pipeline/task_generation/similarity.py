"""How alike two tasks are, by their goal graphs and their words, and how diverse a set of tasks is.

Both similarities are positive definite kernels with 1 on the diagonal, so that the eigenvalues of a set's matrix, over
its number of tasks, are a distribution. The Vendi score (Friedman and Dieng, TMLR 2023) is the exponential of its
entropy: the effective number of different tasks.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np

from pipeline.simulation.goals.spec import PlannedGoal
from pipeline.tasks import Task

GRAPH_WEIGHT = 0.7
"""Weight of the goal graph beside the words."""
REPEATED = 0.86
"""Similarity from which a task repeats another one (docs/results/task_generation.md)."""


@dataclass(frozen=True, eq=False)
class TaskProfile:
    """What two tasks are compared by."""

    graph: Mapping[str, float]
    """Weights of the goals' kinds, of the kinds of objects in them, and of the objects themselves."""
    words: Mapping[str, float]
    """Number of each word of the instruction."""


def profile_of(task: Task, categories: Mapping[str, str]) -> TaskProfile:
    """Return the profile of a task. Goals that cannot be read count by their words.

    Args:
        categories: of the objects, by name.
    """
    graph = _graph(task.planned, categories) if task.planned else {f"goal {text}": 1.0 for text in task.goals}
    return TaskProfile(graph, Counter(re.findall(r"[a-z0-9]{2,}", task.instruction.lower().replace("_", " "))))


def _graph(goals: Sequence[PlannedGoal], categories: Mapping[str, str]) -> dict[str, float]:
    """Return the features of a goal graph: each goal with its objects' categories and names, and the order of steps."""
    found: dict[str, float] = defaultdict(float)
    steps: dict[int, list[str]] = defaultdict(list)
    for goal in chain.from_iterable(map(_single_goals, goals)):
        where = "added" if goal.new_container else goal.along
        kinds = [categories.get(name) or name for name in goal.names]
        named = f"{goal.kind} {where} {' '.join(goal.names)} {goal.xy or ''}"
        found[f"kind {goal.kind} {where}"] += 1.0
        found[f"kinds {goal.kind} {where} {' '.join(kinds)}"] += 1.0
        found[f"names {named}"] += 1.0
        steps[goal.stage].append(named)
    found[f"steps {len(steps)}"] += 1.0
    for one, other in pairwise(sorted(steps)):
        found[f"order {sorted(steps[one])} {sorted(steps[other])}"] += 1.0
    return found


def _single_goals(goal: PlannedGoal) -> list[PlannedGoal]:
    """Return a tower as its objects on each other, which is what other tasks call it; other goals as they are."""
    if goal.kind != "stacked":
        return [goal]
    return [replace(goal, kind="on", names=(upper, lower)) for lower, upper in pairwise(goal.names)]


def similarity(one: TaskProfile, other: TaskProfile) -> float:
    """Return a similarity in [0, 1]; 1 for the same goals in the same words."""
    return GRAPH_WEIGHT * _ruzicka(one.graph, other.graph) + (1 - GRAPH_WEIGHT) * _cosine(one.words, other.words)


def repeats(one: TaskProfile, other: TaskProfile) -> bool:
    """Return whether a task repeats another one: the same goals in whatever words, or a similarity from REPEATED on."""
    return one.graph == other.graph or similarity(one, other) >= REPEATED


def _ruzicka(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return the sum of the smaller weights over that of the larger ones (min-max kernel, weighted Jaccard)."""
    keys = {*one, *other}
    larger = sum(max(one.get(key, 0.0), other.get(key, 0.0)) for key in keys)
    return sum(min(one.get(key, 0.0), other.get(key, 0.0)) for key in keys) / larger if larger else 1.0


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    lengths = np.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))
    return float(sum(n * other.get(word, 0) for word, n in one.items()) / lengths) if lengths else 1.0


def similarity_matrix(profiles: Sequence[TaskProfile]) -> np.ndarray:
    """Return the similarities of a set, of shape (N, N)."""
    return np.array([[similarity(a, b) for b in profiles] for a in profiles]).reshape(len(profiles), len(profiles))


def mean_distance(matrix: np.ndarray) -> float:
    """Return the mean of 1 - similarity over all pairs; 0 for fewer than two tasks."""
    count = len(matrix)
    return float((1 - matrix)[np.triu_indices(count, 1)].mean()) if count > 1 else 0.0


def vendi_score(matrix: np.ndarray) -> float:
    """Return the effective number of different tasks, from 1 to N; 0 for none."""
    if not len(matrix):
        return 0.0
    shares = np.clip(np.linalg.eigvalsh(matrix / len(matrix)), 0, None)
    shares = shares[shares > 1e-12]
    return float(np.exp(-(shares * np.log(shares)).sum()))
