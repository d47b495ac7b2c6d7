"""An object in a container: kit.inside."""

from dataclasses import dataclass
from typing import Any, ClassVar

from pipeline.simulation.goals.at import elsewhere
from pipeline.simulation.goals.goal import Goal, Move, Phase, Planner, RestingGoal, length, two_objects
from pipeline.simulation.goals.spec import GoalSpec, PlannedGoal, SentenceForm, Tolerance
from pipeline.simulation.state import State

TOLERANCE = Tolerance(0.01, widest=0.04)


@dataclass(frozen=True)
class Inside(RestingGoal):
    """a is in a container."""

    a: str
    container: str
    tolerance: float = TOLERANCE.default
    phase: ClassVar = Phase.CONTAINER
    rests: ClassVar = "in"
    object_fields: ClassVar = ("a", "container")
    label: ClassVar = "{a} inside {container}"

    def miss(self, state: State) -> float:
        """Return the largest of: centre outside the outline, lowest point above the rim or below the container.

        If a also stands on the table it misses by at least the container's height.
        """
        a, b = state[self.a], state[self.container]
        sideways = b.distance_outside(a.position[:2]) - self.tolerance + 0.01
        above = a.bottom - (b.top - min(0.01, b.height / 4))
        below = b.bottom - 0.01 - a.bottom
        grounded = b.height if state.touches(a.name, "table") else 0.0
        return max(0.0, sideways, above, below, grounded)

    def next_move(self, planner: Planner, state: State, goals: list[Goal]) -> Move:
        return planner.place_in_container(state, self, goals)

    def opposite(self, sim: Any) -> Goal:
        return elsewhere(sim, self.a)


def inside(a: str, container: str, tolerance: float = TOLERANCE.default) -> Goal:
    """Return the goal that a is in the container: its centre within the outline, its lowest point below the rim."""
    return Inside(a, two_objects(a, container), length(tolerance))


def _checks(goal: PlannedGoal) -> str:
    a, b = goal.names
    return f'''
def check_{a}_ends_inside_{b}(sim):
    run = sim.rollout()
    thing, container = run.end("{a}"), run.end("{b}")
    aside = container.distance_outside(thing.position[:2])
    assert aside <= {TOLERANCE.widest}, f"{a} ends {{aside * 100:.1f}} cm beside {b}"
    assert thing.bottom < container.top, f"{a} ends {{(thing.bottom - container.top) * 100:.1f}} cm above {b}"
    assert not run.touching("{a}", "table"), "{a} ends on the table"
'''


SPECS = (
    GoalSpec(
        kind="inside",
        goal=Inside,
        function=inside,
        manual=(
            'kit.inside("red_cube", "white_bowl", tolerance=0.01)     centre within the rim, lowest point below it'
        ),
        order=20,
        forms=(
            SentenceForm("{} is inside {}, set out on the table", new_container=True),
            SentenceForm("{} is inside {}"),
        ),
        commands=(SentenceForm("put {} into {}", new_container=True), SentenceForm("put {} into {}")),
        holds_others=True,
        tolerance=TOLERANCE,
        checks=_checks,
        compatible=("on", "in_zone"),
    ),
)
