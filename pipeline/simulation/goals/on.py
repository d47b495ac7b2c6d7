"""One object on top of another: kit.on."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pipeline.simulation.goals.goal import CONTACT_GAP, Goal, Move, Phase, Planner, RestingGoal, length, two_objects
from pipeline.simulation.goals.spec import GoalSpec, PlannedGoal, SentenceForm, Tolerance
from pipeline.simulation.state import State

TOLERANCE = Tolerance(0.02, widest=0.04)


@dataclass(frozen=True)
class On(RestingGoal):
    """a rests on b."""

    a: str
    b: str
    tolerance: float = TOLERANCE.default
    phase: ClassVar = Phase.STACK
    rests: ClassVar = "on"
    object_fields: ClassVar = ("a", "b")
    label: ClassVar = "{a} on {b}"

    def miss(self, state: State) -> float:
        """Return metres beside b's outline, above or below its top; if a also stands on the table, b's height."""
        a, b = state[self.a], state[self.b]
        sideways = b.distance_outside(a.position[:2]) - self.tolerance
        lifted = 0.0 if state.touches(a.name, b.name) else abs(a.bottom - b.top) - CONTACT_GAP
        grounded = b.height if state.touches(a.name, "table") else 0.0
        upside = float(b.position[2] - a.position[2])
        return max(0.0, sideways, lifted, grounded, upside)

    def next_move(self, planner: Planner, state: State, goals: list[Goal]) -> Move:
        return planner.place_on_top(state, self, goals)

    def opposite(self, sim: Any) -> Goal:
        return replace(self, a=self.b, b=self.a)


def on(a: str, b: str, tolerance: float = TOLERANCE.default) -> Goal:
    """Return the goal that a rests on b: they touch, a's centre is above b's top, a is off the table.

    a's centre may lie up to `tolerance` metres outside b's outline.
    """
    return On(a, two_objects(a, b), length(tolerance))


def check_on(upper: str, lower: str) -> str:
    """Return the source of a check that `upper` ends on `lower`."""
    return f'''
def check_{upper}_ends_on_{lower}(sim):
    """It touches from above and hangs nowhere."""
    run = sim.rollout()
    up, low = run.end("{upper}"), run.end("{lower}")
    gap = up.bottom - low.top
    assert abs(gap) < 0.02 or run.touching("{upper}", "{lower}"), f"{upper} ends {{gap * 100:.1f}} cm above {lower}"
    aside = low.distance_outside(up.position[:2])
    assert aside <= {TOLERANCE.widest}, f"{upper} ends {{aside * 100:.1f}} cm beside {lower}"
    assert up.position[2] > low.position[2], f"{upper} ends below {lower}"
    assert not run.touching("{upper}", "table"), "{upper} ends on the table"
'''


def _checks(goal: PlannedGoal) -> str:
    return check_on(*goal.names)


SPECS = (
    GoalSpec(
        kind="on",
        goal=On,
        function=on,
        manual=(
            'kit.on("red_cube", "blue_cube", tolerance=0.02)          rests on top, its centre over it, off the table'
        ),
        order=10,
        forms=(SentenceForm("{} rests on {}"),),
        commands=(SentenceForm("put {} on {}"),),
        holds_others=True,
        tolerance=TOLERANCE,
        checks=_checks,
        compatible=("inside",),
    ),
)
