"""One object higher than another: kit.higher_than. A complete kind of goal, as a file of pipeline/simulation/goals."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pipeline.simulation.goals.goal import Goal, two_objects
from pipeline.simulation.goals.on import On
from pipeline.simulation.goals.spec import GoalSpec, PlannedGoal, SentenceForm
from pipeline.simulation.state import State

if TYPE_CHECKING:
    from pipeline.simulation.oracle.moves import Move
    from pipeline.simulation.oracle.planning import MovePlanner


@dataclass(frozen=True)
class HigherThan(Goal):
    """a's centre is above b's top."""

    a: str
    b: str
    object_fields: ClassVar = ("a", "b")

    @property
    def name(self) -> str:
        return f"{self.a} higher than {self.b}"

    def miss(self, state: State) -> float:
        return max(0.0, state[self.b].top - float(state[self.a].position[2]))

    def next_move(self, planner: "MovePlanner", state: State, goals: list[Goal]) -> "Move":
        """Put a on top of b: the simplest way to be higher."""
        return planner.place_on_top(state, On(self.a, self.b), goals)

    def opposite(self, sim: Any) -> Goal:
        return HigherThan(self.b, self.a)


def higher_than(a: str, b: str) -> Goal:
    """Return the goal that a's centre is above b's top."""
    return HigherThan(a, two_objects(a, b))


def _checks(goal: PlannedGoal) -> tuple[str, ...]:
    a, b = goal.names
    return (
        f'''
def check_{a}_ends_higher_than_{b}(sim):
    run = sim.rollout()
    short = run.end("{b}").top - run.end("{a}").position[2]
    assert short < 0, f"{a} ends {{short * 100:.1f}} cm too low"
''',
    )


SPECS = (
    GoalSpec(
        kind="higher_than",
        goal=HigherThan,
        function=higher_than,
        manual='kit.higher_than("red_cube", "blue_cube")                 its centre above the other\'s top',
        forms=(SentenceForm("{} is higher than {}"),),
        checks=_checks,
        compatible=("on",),
        commands=(r"(?:put|place|lift|raise) (?P<a>.+) (?:higher than|above) (?P<b>.+)",),
    ),
)
