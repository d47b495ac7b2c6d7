"""Stages of a task: which goals are pursued in which order, which hold at the end, were steps done in order."""

from collections.abc import Container, Iterable, Sequence
from typing import Protocol, TypeVar

import numpy as np

from pipeline.simulation.goals.goal import Goal, Phase
from pipeline.simulation.goals.spec import PlannedGoal
from pipeline.simulation.state import State

Step = Sequence[Goal]


class _Stated(Protocol):
    @property
    def carried(self) -> tuple[str, ...]: ...


AnyGoal = TypeVar("AnyGoal", Goal, PlannedGoal)


def is_superseded(goal: _Stated, later: Iterable[_Stated]) -> bool:
    """Return whether a goal about a place is over once later goals are met: one of them carries its object elsewhere.

    "First the cup on the plate, then the cup into the bin": the cup need not be on the plate at the end.
    """
    moved = {name for other in later if _sets_place(other) for name in other.carried}
    return _sets_place(goal) and bool(moved & set(goal.carried))


def lasting(stages: Sequence[Sequence[AnyGoal]]) -> list[AnyGoal]:
    """Return the goals that have to hold at the end, in order."""
    return [goal for index, stage in enumerate(stages) for goal in stage
            if not is_superseded(goal, [other for after in stages[index + 1 :] for other in after])]  # fmt: skip


def _sets_place(goal: _Stated) -> bool:
    measured = goal.spec.goal if isinstance(goal, PlannedGoal) else type(goal)
    return measured.sets_place  # type: ignore[union-attr]


def why_not_in_order(states: Sequence[State], steps: Sequence[Step]) -> str:
    """Return why steps were not completed one after the other; empty where they were.

    `states` are those of a rollout: at the start, after each event and at the end. A step is completed at the first
    state, not before the completion of the step before it, in which all its goals are met. A goal of the next step
    that is met earlier breaks the order, unless it was met at the start or came true by a step before it.
    """
    done = 0
    completed = {0}
    for index, step in enumerate(steps):
        met = np.all([_met(goal, states) for goal in step], axis=0)
        if not met[done:].any():
            after = f" after {_named(steps[index - 1])}" if index else ""
            return f"not done{after}: {_named(step)}"
        done += int(met[done:].argmax())
        moved = {name for goal in step for name in goal.carried}
        following = steps[index + 1] if done and index + 1 < len(steps) else ()
        for goal in following:
            is_own = not moved & set(goal.carried)
            if is_own and _became_met(_met(goal, states[:done])) not in (None, *completed):
                return f"{goal.name} came before {_named(step)}"
        completed.add(done)
    return ""


def _met(goal: Goal, states: Sequence[State]) -> np.ndarray:
    """Return in which states a careful check takes a goal for met, of shape (len(states),)."""
    return np.array([goal.miss(state) <= goal.clear_miss for state in states])


def _became_met(met: np.ndarray) -> int | None:
    """Return the index from which a goal is met until the last state; None where it is not met there."""
    if not met[-1]:
        return None
    missed = np.flatnonzero(~met)
    return int(missed[-1]) + 1 if len(missed) else 0


def _named(step: Step) -> str:
    return " and ".join(goal.name for goal in step)


def pursued(state: State, goals: Sequence[Goal], refused: Container[Goal]) -> list[Goal]:
    """Return the goals not given up; of a count only as many as it needs."""
    return [part for goal in goals if goal not in refused for part in goal.pursued(state, refused)]


def in_order(goals: list[Goal]) -> list[Goal]:
    """Return the goals by their phase, stacks from the bottom up."""
    ordered: list[Goal] = []
    for phase in Phase:
        found = [g for g in goals if g.phase == phase]
        ordered += _bottom_up(found) if phase == Phase.STACK else found
    return ordered


def _bottom_up(stacks: list[Goal]) -> list[Goal]:
    ordered: list[Goal] = []
    while stacks:
        raised = {g.objects[0] for g in stacks}
        ready = [g for g in stacks if g.objects[1] not in raised] or stacks[:1]
        ordered += ready
        stacks = [g for g in stacks if g not in ready]
    return ordered


def held_by_wanted(name: str, wanted: set[str], goals: list[Goal]) -> bool:
    """Return whether a goal puts an object on or in one of the wanted objects."""
    return any(g.rests and g.objects[0] == name and g.objects[1] in wanted for g in goals)
