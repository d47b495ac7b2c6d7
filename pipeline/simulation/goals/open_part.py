"""A drawer, door or lid open or shut, a knob turned: kit.opened, kit.closed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pipeline.simulation.goals.goal import Goal, Move, PartGoal, PartMotion, Phase, Planner
from pipeline.simulation.goals.spec import FIRST, NONE, GoalSpec, PlannedGoal, SentenceForm
from pipeline.simulation.objects import KitError
from pipeline.simulation.state import State

OPEN, SHUT = 0.6, 0.1
"""Shares of its travel from which a part counts as open, and up to which as shut."""
START_OPEN = 0.8
"""Share of its travel by which a part that has to be shut starts open."""


@dataclass(frozen=True)
class PartOpening(PartGoal):
    """How far a part is open; the base of both goals."""

    a: str
    part: str

    @property
    def carried(self) -> tuple[str, ...]:
        return ()

    def next_move(self, planner: Planner, state: State, goals: list[Goal]) -> Move | PartMotion:
        return planner.move_part(state, self, goals)

    def agreement(self, planned: PlannedGoal, ordered: bool) -> bool | None:
        same_part = planned.kind in KINDS and planned.names == (self.a, self.part)
        return KINDS[planned.kind] is type(self) if same_part else None


@dataclass(frozen=True)
class Opened(PartOpening):
    """A part is open."""

    least: float = OPEN
    phase: ClassVar = Phase.OPEN
    label: ClassVar = "{part} of {a} open"

    def miss(self, state: State) -> float:
        """Return the way that its farthest point still has to go, in metres."""
        part = state[self.a].part(self.part)
        return max(0.0, self.least - part.open) * part.travel

    def opposite(self, sim: Any) -> Goal:
        return Closed(self.a, self.part)


@dataclass(frozen=True)
class Closed(PartOpening):
    """A part is shut."""

    most: float = SHUT
    phase: ClassVar = Phase.SHUT
    label: ClassVar = "{part} of {a} shut"

    def miss(self, state: State) -> float:
        """Return the way that its farthest point still has to go, in metres."""
        part = state[self.a].part(self.part)
        return max(0.0, part.open - self.most) * part.travel

    def opposite(self, sim: Any) -> Goal:
        return Opened(self.a, self.part)


KINDS = {"opened": Opened, "closed": Closed}


def opened(a: str, part: str, least: float = OPEN) -> Goal:
    """Return the goal that a drawer, door or lid of a is open by this share of its travel, or a knob turned so far."""
    if not 0.3 <= least <= 1:
        raise KitError(f"opened: least is {least!r}; a share of 0.3 to 1 is open")
    return Opened(a, str(part), float(least))


def closed(a: str, part: str, most: float = SHUT) -> Goal:
    """Return the goal that a drawer, door or lid of a is open by at most this share of its travel."""
    if not 0 <= most <= 0.2:
        raise KitError(f"closed: most is {most!r}; a share of 0 to 0.2 is shut")
    return Closed(a, str(part), float(most))


def _start_open(closed: Sequence[PlannedGoal], goals: Sequence[PlannedGoal], objects: Mapping[str, Any]) -> list[str]:
    """Open at the start what has to be shut and is so on the photograph; not what something is first put into."""
    filled = {goal.names[1:] for goal in goals if goal.kind == "inside_part"}
    wanted = [goal.names for goal in closed if goal.names not in filled]
    shut = [(a, b) for a, b in wanted if any(p.name == b and p.share < 0.5 for p in objects[a].parts)]
    lines = [f'sim.set_open("{a}", "{b}", {START_OPEN})' for a, b in shut]
    return ["# Shut on the photograph: it starts open.", *lines] if lines else []


def _check_opened(goal: PlannedGoal) -> str:
    return _check(goal.names, "open", "> 0.5", "only {} open")


def _check_closed(goal: PlannedGoal) -> str:
    return _check(goal.names, "shut", "< 0.15", "{} open")


def _check(names: Sequence[str], ends: str, holds: str, wrong: str) -> str:
    a, part = names
    return f'''
def check_{part}_of_{a}_ends_{ends}(sim):
    """Measured at its joint, and {a} stays where it stands."""
    run = sim.rollout()
    share = run.end("{a}").part("{part}").open
    assert share {holds}, f"{part} of {a} ends {wrong.format("{share:.0%}")}"
    assert run.moved("{a}") < 0.05, f"{a} was dragged {{run.moved('{a}') * 100:.0f}} cm"
'''


SPECS = (
    GoalSpec(
        kind="opened",
        goal=Opened,
        function=opened,
        manual=(
            'kit.opened("cabinet", "top_drawer", least=0.6)           a drawer, door, lid is open, a knob turned, by '
            "that share"
        ),
        order=40,
        forms=(SentenceForm("{}'s {} is open"),),
        commands=(SentenceForm("open the {1} of {0}"), SentenceForm("open {1}"), SentenceForm("open {0}")),
        objects=FIRST,
        carried=NONE,
        checks=_check_opened,
    ),
    GoalSpec(
        kind="closed",
        goal=Closed,
        function=closed,
        manual='kit.closed("cabinet", "top_drawer", most=0.1)            it is shut',
        order=50,
        forms=(SentenceForm("{}'s {} is shut"),),
        commands=(SentenceForm("shut the {1} of {0}"), SentenceForm("shut {1}"), SentenceForm("shut {0}")),
        objects=FIRST,
        carried=NONE,
        setup=_start_open,
        checks=_check_closed,
    ),
)
