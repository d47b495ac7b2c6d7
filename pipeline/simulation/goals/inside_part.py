"""An object in a drawer: kit.inside_part."""

from dataclasses import dataclass
from typing import Any, ClassVar

from pipeline.simulation.goals.at import elsewhere
from pipeline.simulation.goals.goal import Goal, Move, PartGoal, PartMotion, Phase, Planner, length, two_objects
from pipeline.simulation.goals.spec import GoalSpec, PlannedGoal, SentenceForm, Tolerance
from pipeline.simulation.objects import Region, hull
from pipeline.simulation.state import State

TOLERANCE = Tolerance(0.01)


@dataclass(frozen=True)
class InsidePart(PartGoal):
    """a is in a drawer of b."""

    a: str
    b: str
    part: str
    tolerance: float = TOLERANCE.default
    phase: ClassVar = Phase.CONTAINER
    measured_after_release: ClassVar = True
    object_fields: ClassVar = ("a", "b")
    label: ClassVar = "{a} inside {part} of {b}"

    def miss(self, state: State) -> float:
        """Return the largest of: centre outside the part's outline, lowest point above its rim or below its bottom.

        It also misses while it stands on the table or does not touch b.
        """
        a, b = state[self.a], state[self.b]
        part = b.part(self.part)
        sideways = float(Region(hull(part.corners[:, :2])).distance(a.position[:2])) - self.tolerance + 0.01
        above = a.bottom - (part.top - min(0.01, (part.top - part.bottom) / 4))
        below = part.bottom - 0.01 - a.bottom
        grounded = part.top - part.bottom if state.touches(a.name, "table") else 0.0
        loose = 0.0 if state.touches(a.name, b.name) else 0.01
        return max(0.0, sideways, above, below, grounded, loose)

    def next_move(self, planner: Planner, state: State, goals: list[Goal]) -> Move | PartMotion:
        return planner.place_in_part(state, self, goals)

    def agreement(self, planned: PlannedGoal, ordered: bool) -> bool | None:
        if planned.kind == "inside_part" and planned.names[0] == self.a:
            return planned.names[1:] == (self.b, self.part)
        return None

    def opposite(self, sim: Any) -> Goal:
        return elsewhere(sim, self.a)


def inside_part(a: str, b: str, part: str, tolerance: float = TOLERANCE.default) -> Goal:
    """Return the goal that a is in that drawer of b: centre over it, lowest point between bottom and rim."""
    return InsidePart(a, two_objects(a, b), str(part), length(tolerance))


def _checks(goal: PlannedGoal) -> str:
    a, b, part = goal.names
    return f'''
def check_{a}_ends_in_{part}_of_{b}(sim):
    """Between the drawer's bottom and its rim, over its ground."""
    run = sim.rollout()
    thing, drawer = run.end("{a}"), run.end("{b}").part("{part}")
    low, high = drawer.corners.min(0), drawer.corners.max(0)
    x, y = thing.position[:2]
    assert low[0] < x < high[0] and low[1] < y < high[1], "{a} ends beside {part}"
    assert drawer.bottom - 0.01 < thing.bottom < drawer.top, f"{a} ends {{thing.bottom * 100:.1f}} cm above the table"
    assert run.touching("{a}", "{b}") and not run.touching("{a}", "table"), "{a} does not lie in {b}"
'''


SPECS = (
    GoalSpec(
        kind="inside_part",
        goal=InsidePart,
        function=inside_part,
        manual=(
            'kit.inside_part("red_cube", "cabinet", "top_drawer")     in that drawer, which the oracle opens where it '
            "is shut"
        ),
        order=30,
        forms=(SentenceForm("{} is in {}'s {}"),),
        commands=(SentenceForm("put {0} into the {2} of {1}"), SentenceForm("put {0} into {2}")),
        objects=(0, 2),
        tolerance=TOLERANCE,
        checks=_checks,
    ),
)
