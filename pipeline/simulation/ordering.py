"""Which goals are pursued, and in which order."""

from collections.abc import Container, Sequence

from pipeline.simulation.goals import Goal, Inside, On
from pipeline.simulation.groups import Count
from pipeline.simulation.part_goals import Closed, InsidePart, Opened
from pipeline.simulation.state import State


def pursued(state: State, goals: Sequence[Goal], refused: Container[Goal]) -> list[Goal]:
    """The goals not given up; of a count only as many as it asks for."""
    found: list[Goal] = []
    for goal in goals:
        if goal not in refused:
            found += goal.chosen(state, refused) if isinstance(goal, Count) else [goal]
    return found


def in_order(goals: list[Goal]) -> list[Goal]:
    """Places on the table first, then stacks from the bottom up, containers, what is shut, and last what is opened.

    An open drawer covers those below it.
    """
    simple = [g for g in goals if not isinstance(g, On | Inside | InsidePart | Closed | Opened)]
    stacks, inside = [g for g in goals if isinstance(g, On)], [g for g in goals if isinstance(g, Inside | InsidePart)]
    ordered: list[On] = []
    while stacks:
        raised = {g.a for g in stacks}
        ready = [g for g in stacks if g.b not in raised] or stacks[:1]
        ordered += ready
        stacks = [g for g in stacks if g not in ready]
    parts = [g for kind in (Closed, Opened) for g in goals if isinstance(g, kind)]
    return [*simple, *ordered, *inside, *parts]


def wanted_above(name: str, wanted: set[str], goals: list[Goal]) -> bool:
    """Whether something stands there because other goals put it on what belongs here."""
    return any(isinstance(g, On | Inside) and g.objects[0] == name and g.objects[1] in wanted for g in goals)
