"""An object on the table: kit.on_table."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.simulation.goals.goal import Goal, height_off_table
from pipeline.simulation.goals.spec import GoalSpec, PlannedGoal, SentenceForm
from pipeline.simulation.state import State


@dataclass(frozen=True)
class OnTable(Goal):
    """a stands on the table's top."""

    a: str
    label: ClassVar = "{a} on the table"

    def miss(self, state: State) -> float:
        """Return the larger of its height above the table and how far its centre lies beside the table's top."""
        return max(height_off_table(state, self.a), float(-state.table.depth(state[self.a].position[:2])), 0.0)


def on_table(a: str) -> Goal:
    """Return the goal that a stands on the table's top, on nothing else."""
    return OnTable(a)


def _checks(goal: PlannedGoal) -> str:
    (a,) = goal.names
    return f'''
def check_{a}_stands_on_the_table(sim):
    end = sim.rollout().end("{a}")
    assert abs(end.bottom) < 0.01, f"{a}'s lowest point is {{end.bottom * 100:.1f}} cm above the table"
'''


SPECS = (
    GoalSpec(
        kind="on_table",
        goal=OnTable,
        function=on_table,
        manual='kit.on_table("red_cube")                                 stands on the table\'s top, on nothing else',
        order=190,
        forms=(SentenceForm("{} is on the table"),),
        commands=(SentenceForm("put {} on the table"),),
        checks=_checks,
        compatible=("in_zone", "at", "outside", "near", "away", "left_of"),
    ),
)
