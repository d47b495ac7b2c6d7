"""Check whether a simulation's goals contradict its task: compare them with the goals that the planner reads from it.

Only clear contradictions count: the opposite side, the reverse order, an incompatible kind of goal. What the planner
cannot read is left to the program's checks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from pipeline.models import ModelError, Question
from pipeline.planner import PlannerModel, program_writer
from pipeline.planner.diagnosis import IN_ANY_ORDER
from pipeline.planner.language.lexicon import values
from pipeline.simulation import kit
from pipeline.simulation.goals.always import Always
from pipeline.simulation.goals.count import Count
from pipeline.simulation.goals.goal import Goal, PartGoal
from pipeline.simulation.goals.sentences import read_sentences, sentence
from pipeline.simulation.goals.spec import PlannedGoal, goal_specs
from pipeline.simulation.recipe import from_json
from pipeline.tasks import Task, UnderstoodAnswer, scene_to_json

SIDE_MARGIN_RATIO = 0.15
"""A place is on one side of the table beyond this fraction of its extent from the middle."""
ORDER_WORDS = re.compile(
    r"\b(order|first|(?:ascending|descending|increasing|decreasing|rainbow)\b"
    r"|from (?:the )?(?:bottom|top|small|little|large|big|tall|short|low|high|narrow|wide|light|heavy))",
    re.I,
)
"""Words that give an order; without them a row or a tower may have any order."""
ORDERED_KINDS = ("stacked", "in_row")
NOT_OF_A_TOWER = r"(?! (?:left|right)| of (?:the )?(?:table|picture|image|photo))"
BOTTOM_WORDS = re.compile(rf"\bat the (?:very )?(?:bottom|base)\b{NOT_OF_A_TOWER}|\blowest\b|\bundermost\b", re.I)
TOP_WORDS = re.compile(
    rf"\b(?:at|on) the (?:very )?top\b{NOT_OF_A_TOWER}|\bon top\b(?! of)|\bhighest\b|\btopmost\b", re.I
)
"""Words that give one end of a tower."""


def find_contradiction(task: Task, scene: kit.Scene, asked: Mapping[str, Any]) -> str:
    """Return one sentence about how the simulation's goals contradict the task; empty if they do not.

    `asked` is the report's evidence of that name: {"goals": as JSON by recipe.to_json, "zones": {name: centre (x, y)}}.
    """
    wanted = planned_goals(task, scene)
    goals = [goal for value in asked.get("goals") or () for goal in from_json(value).steps]
    if not wanted or not goals:
        return ""
    ordered = _gives_an_order(task.instruction, wanted)
    comparison = _GoalComparison(scene, asked.get("zones") or {}, task.instruction, ordered)
    for planned in chain.from_iterable(_pairs(planned, comparison.ordered) for planned in wanted):
        verdicts = [(comparison.compare(planned, goal), goal) for goal in goals]
        wrong = [goal for verdict, goal in verdicts if verdict is False]
        if wrong and not any(verdict for verdict, _ in verdicts):
            return f"the task asks that {sentence(planned)}; the simulation asks for {comparison.describe(wrong[0])}"
        if not planned.carried and not any(verdict for verdict, _ in verdicts):
            return f"the task asks that {sentence(planned)}; no goal of the simulation does"
    return next(_incompatible(wanted, goals), "")


def task_checks(task: Task, scene: kit.Scene) -> str:
    """Return the source of checks of the task's own goals, as the planner reads them; empty where it cannot.

    They measure poses, whatever the program's goals and checks say. A row or a tower whose order the words do not give
    may have any order, but what the words put at its bottom or on top has to be there.
    """
    planned = planned_goals(task, scene)
    ordered = _gives_an_order(task.instruction, planned)
    free = [goal for goal in planned if not ordered and goal.kind in ORDERED_KINDS]
    functions = program_writer.check_functions([goal for goal in planned if goal not in free])
    measuring = [text for name, text in functions.items() if name not in program_writer.GENERAL_CHECKS]
    measuring += [_any_order(goal, task.instruction, number) for number, goal in enumerate(free)]
    plain = all(re.fullmatch(r"\w+", name) for goal in planned for name in goal.names)
    return "import math\n\n" + "\n".join(measuring) if measuring and plain else ""


def _gives_an_order(instruction: str, planned: Sequence[PlannedGoal]) -> bool:
    """Whether words give an order: "from small to big", or a tower's objects from bottom to top and one of its ends."""
    if ORDER_WORDS.search(instruction):
        return True
    towers = [goal.names for goal in planned if goal.kind == "stacked"]
    named_end = BOTTOM_WORDS.search(instruction) or TOP_WORDS.search(instruction)
    return bool(named_end) and any(len(names) == 2 or _are_listed(names, instruction) for names in towers)


def _are_listed(names: Sequence[str], instruction: str) -> bool:
    """Whether words name these objects one by one in this order."""
    pattern = r"\b.*?\b".join(name.replace("_", "[ _]") + r"(?![ _]\d)" for name in names)
    return bool(re.search(rf"\b{pattern}\b", instruction, re.I))


def _any_order(goal: PlannedGoal, instruction: str, number: int) -> str:
    """Return the source of a check that objects form a row or a tower, in whatever order the words leave open."""
    names = ", ".join(f'"{name}"' for name in goal.names)
    head = f"""
def {IN_ANY_ORDER}_{number}(sim):
    run = sim.rollout()
    ends = [run.end(name) for name in [{names}]]
"""
    if goal.kind == "in_row":
        across = "away" if goal.along == "right" else "right"
        return f"""{head}
    places = [end.position[:2] @ sim.scene.{across} for end in ends]
    assert max(places) - min(places) < 0.08, f"the row bends by {{(max(places) - min(places)) * 100:.1f}} cm"
"""
    ends = [("lowest", 0)] if BOTTOM_WORDS.search(instruction) else []
    ends += [("highest", -1)] if TOP_WORDS.search(instruction) else []
    fixed = "".join(
        f'''    assert tower[{index}].name == "{goal.names[index]}", f"{{tower[{index}].name}} is {word}"
'''
        for word, index in ends
    )
    return f"""{head}    tower = sorted(ends, key=lambda end: end.position[2])
{fixed}    for low, up in zip(tower, tower[1:]):
        gap = up.bottom - low.top
        where = f"{{up.name}} ends {{gap * 100:.1f}} cm above {{low.name}}"
        assert abs(gap) < 0.02 or run.touching(up.name, low.name), where
        assert not run.touching(up.name, "table"), f"{{up.name}} ends on the table"
"""


def planned_goals(task: Task, scene: kit.Scene) -> tuple[PlannedGoal, ...]:
    """Return the task's goals as the planner reads them, or else its instruction as the planner understands it."""
    known = {item.name for item in scene.objects}
    planned: tuple[PlannedGoal, ...] | None = task.planned
    if not planned:
        data = {"scene": scene_to_json(scene), "text": task.instruction}
        try:
            answer = PlannerModel().ask(Question("understand_task", data, UnderstoodAnswer))
        except ModelError:
            return ()
        planned = read_sentences(answer.goals) if isinstance(answer, UnderstoodAnswer) and answer.fits else None
    return planned if planned and all(name in known for goal in planned for name in goal.objects) else ()


def _pairs(planned: PlannedGoal, ordered: bool) -> Iterator[PlannedGoal]:
    """Yield a tower as pairs if its order is given; yield other goals unchanged."""
    if planned.kind == "stacked" and ordered:
        yield from (PlannedGoal("on", (upper, lower)) for lower, upper in pairwise(planned.names))
    elif planned.kind != "stacked":
        yield planned


class _GoalComparison:
    """Compares goals with planned goals, given the sides of the table from the camera and the simulation's zones."""

    def __init__(self, scene: kit.Scene, zones: Mapping[str, Sequence[float]], instruction: str, ordered: bool):
        self.ordered, self._zones, sides = ordered, zones, values("sides")
        self._named_sides = {sides[word] for word in re.findall(r"\w+", instruction.lower()) if word in sides}
        self._axes = {"left": -scene.right, "right": scene.right, "far": scene.away, "near": -scene.away}
        self._polygon = np.asarray(scene.table.polygon, float)

    def compare(self, planned: PlannedGoal, goal: Goal) -> bool | None:
        """Whether a goal asks for the same (True) or for the contrary (False); None if it is about something else."""
        if isinstance(goal, Count):
            verdicts = [self.compare(planned, counted) for counted in goal.goals] if goal.most else []
            return True if True in verdicts else None
        goal = goal.condition if isinstance(goal, Always) else goal
        at_place = goal.fills_zone or goal.fixed_place
        if planned.spec.zone and at_place and goal.objects[0] == planned.names[0]:
            return self._compare_side(planned, goal)
        return goal.agreement(planned, self.ordered)

    def describe(self, goal: Goal) -> str:
        """Return the goal's name, and for a place the side of the table where it is."""
        sides = [side for side in self._axes if self._beyond(goal, side) > 0]
        return goal.name + (f", which lies {' and '.join(sides)}" if sides else "")

    def _compare_side(self, planned: PlannedGoal, goal: Goal) -> bool | None:
        side = planned.names[-1].split("_")[0]
        if side not in self._axes or side not in self._named_sides:  # "bring me the mug" names no side of the table
            return None
        other = {"left": "right", "right": "left", "far": "near", "near": "far"}[side]
        on_side, opposite = self._beyond(goal, side) > 0, self._beyond(goal, other) > 0
        if planned.spec.zone == "clear":
            return False if goal.fills_zone and on_side else None
        return False if opposite else True if on_side else None

    def _beyond(self, goal: Goal, side: str) -> float:
        """Return how far a place is beyond the margin on one side of the table's middle, in metres; negative if not."""
        place = self._zones.get(goal.holder) if goal.fills_zone else goal.fixed_place
        if place is None:
            return -1.0
        extent = self._polygon @ self._axes[side]
        middle = float(self._polygon.mean(0) @ self._axes[side])
        return float(np.asarray(place) @ self._axes[side]) - middle - SIDE_MARGIN_RATIO * float(np.ptp(extent)) / 2


def _incompatible(planned_goals: Sequence[PlannedGoal], goals: Sequence[Goal]) -> Iterator[str]:
    """Yield a sentence for each object whose every goal is of a kind that no planned goal about it can mean."""
    for name in dict.fromkeys(name for planned in planned_goals for name in planned.carried):
        wanted = [planned for planned in planned_goals if name in planned.carried]
        actual = [goal for goal in goals if name in _carried(goal)]
        compatible = tuple(goal_class for planned in wanted for goal_class in _compatible_classes(planned))
        if actual and not any(isinstance(goal, (*compatible, Count, Always)) for goal in actual):
            yield f"the task asks that {sentence(wanted[0])}; the simulation asks for {actual[0].name}"


def _compatible_classes(planned: PlannedGoal) -> Iterator[type[Goal]]:
    """Yield the classes of goals that can express a planned goal."""
    for kind in (planned.kind, *planned.spec.compatible):
        yield goal_specs()[kind].goal


def _carried(goal: Goal) -> tuple[str, ...]:
    """Return the objects that may be carried for a goal: all, but only the first where it rests on or in another."""
    return goal.objects[:1] if goal.rests or isinstance(goal, PartGoal) else goal.objects
