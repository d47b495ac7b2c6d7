"""Which goals the oracle pursues, and in which order."""

from collections.abc import Container, Sequence

from pipeline.simulation.goals.goal import Goal, Phase
from pipeline.simulation.state import State


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
