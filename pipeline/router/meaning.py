"""Whether the goals of a simulation contradict its task: goals as data beside what the rules read in the task.

Only clear contradictions count: the other side, the other way round, a goal of another sort. What the rules cannot
read is left to the program's checks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from pipeline.models import ModelError, Question
from pipeline.models.rules import RulesModel
from pipeline.models.rules.aims import PARTS, Aim, read, sentence
from pipeline.models.rules.grammar import PLACES
from pipeline.simulation import kit
from pipeline.simulation.alteration import OPPOSITE
from pipeline.simulation.goals import At, Away, Beside, Goal, Inside, InZone, Near, On, OnTable, Outside, Upright
from pipeline.simulation.groups import Count, InRow, Stacked
from pipeline.simulation.part_goals import Closed, InsidePart, Opened
from pipeline.simulation.recipe import meant
from pipeline.tasks import Task, UnderstoodAnswer, scene_data

ELSEWHERE = 0.1
"""Metres between two places that cannot be the same."""
ACROSS = 0.15
"""Share of the table's extent beyond its middle from which a place lies on the other side."""
ORDERED = re.compile(
    r"\b(order|first|(?:ascending|descending|increasing|decreasing|rainbow)\b"
    r"|from (?:the )?(?:bottom|top|small|little|large|big|tall|short|low|high|narrow|wide|light|heavy))",
    re.I,
)
"""Words that give an order; without them a row or a tower may be built in any."""
SIDES = {"left_of": "left of", "right_of": "right of", "in_front_of": "in front of", "behind": "behind"}
FITTING: Mapping[str, tuple[type[Goal], ...]] = {
    "on": (On, Inside),
    "inside": (Inside, On, InZone),
    "stacked": (On,),
    "in_row": (InRow, Beside, At),
    "in_zone": (InZone, At, Beside, Near),
    "outside": (Outside, InZone, At, Away, OnTable, Near, Beside, On, Inside),
    "where": (At, InZone, Near, Beside),
    "mirrored": (At, InZone, Beside),
    "at": (At, InZone),
    "near": (Near, Beside, At, InZone, InRow),
    "away": (Away, Outside, At, InZone, Beside),
    "upright": (Upright,),
    "inside_part": (InsidePart,),
    "on_table": (OnTable, InZone, At, Outside, Near, Away, Beside),
    **dict.fromkeys(SIDES, (Beside, At, InZone, InRow)),
}
"""The sorts of goals that can mean what an aim asks."""


def contradiction(task: Task, scene: kit.Scene, asked: Mapping[str, Any]) -> str:
    """In a sentence, what the simulation asks for instead of what the task does; empty where nothing contradicts.

    `asked` is the report's evidence of that name: {"goals": told by recipe.told, "zones": {name: centre (x, y)}}.
    """
    aims = _aims(task, scene)
    goals = [goal for said in asked.get("goals") or () for goal in _simple(meant(said))]
    if not aims or not goals:
        return ""
    view = _View(scene, asked.get("zones") or {}, task.instruction)
    for aim in chain.from_iterable(_pairs(aim, view.ordered) for aim in aims):
        said = [(view.says(aim, goal), goal) for goal in goals]
        wrong = [goal for verdict, goal in said if verdict is False]
        if wrong and not any(verdict for verdict, _ in said):
            return f"the task asks that {sentence(aim)}; the simulation asks for {view.told(wrong[0])}"
        if aim.verb in PARTS and not any(verdict for verdict, _ in said):
            return f"the task asks that {sentence(aim)}; no goal of the simulation does"
    return next(_strange(aims, goals), "")


def _aims(task: Task, scene: kit.Scene) -> tuple[Aim, ...]:
    """The task's goals where they are in the rules' words, else its instruction as the rules read it."""
    known = {thing.name for thing in scene.objects}
    aims = read(task.goals)
    if aims is None:
        data = {"scene": scene_data(scene), "text": task.instruction}
        try:
            answer = RulesModel().ask(Question("understand_task", data, UnderstoodAnswer))
        except ModelError:
            return ()
        aims = read(answer.goals) if isinstance(answer, UnderstoodAnswer) and answer.fits else None
    return aims if aims and all(name in known for aim in aims for name in aim.objects) else ()


def _pairs(aim: Aim, ordered: bool) -> Iterator[Aim]:
    """A tower as what rests on what, where its order was said."""
    if aim.verb == "stacked" and ordered:
        yield from (Aim("on", (upper, lower)) for lower, upper in pairwise(aim.names))
    elif aim.verb != "stacked":
        yield aim


def _simple(goal: Goal) -> Iterator[Goal]:
    if isinstance(goal, Stacked):
        yield from goal.parts
    else:
        yield goal


class _View:
    """The table's sides as the camera sees them, and the zones that the simulation marked on it."""

    def __init__(self, scene: kit.Scene, zones: Mapping[str, Sequence[float]], words: str):
        self.ordered, self._zones = bool(ORDERED.search(words)), zones
        self._said = {PLACES[word] for word in re.findall(r"\w+", words.lower()) if word in PLACES}
        self._axes = {"left": -scene.right, "right": scene.right, "far": scene.away, "near": -scene.away}
        self._corners = np.asarray(scene.table.polygon, float)

    def says(self, aim: Aim, goal: Goal) -> bool | None:
        """Whether a goal asks for the aim (True) or for its contrary (False); None where it says nothing of it."""
        if isinstance(goal, Count):
            every = [self.says(aim, one) for one in goal.goals] if goal.most else []
            return True if True in every else None
        a, b = aim.names[0], aim.names[-1]
        match goal:
            case Opened() | Closed() if aim.verb in PARTS and goal.a == a and goal.part == b:
                return isinstance(goal, Opened) == (aim.verb == "opened")
            case InsidePart() if aim.verb == "inside_part" and goal.a == a:
                return (goal.b, goal.part) == aim.names[1:]
            case Beside() if aim.verb in SIDES and {goal.a, goal.b} == {a, b}:
                side = goal.side if goal.a == a else OPPOSITE[goal.side]
                return None if side not in (SIDES[aim.verb], OPPOSITE[SIDES[aim.verb]]) else side == SIDES[aim.verb]
            case Near() | Away() if aim.verb in ("near", "away") and {goal.a, goal.b} == {a, b}:
                return isinstance(goal, Near) == (aim.verb == "near")
            case On() | Inside() if aim.verb in ("on", "inside") and {*goal.objects} == {a, b}:
                return goal.objects[0] == a
            case InRow() if aim.verb == "in_row" and {*goal.names} == {*aim.names} and goal.along == aim.along:
                return True if goal.names == aim.names or not self.ordered else self._row(aim, goal)
            case At() if aim.verb == "at" and aim.xy and goal.a == a:
                return float(np.hypot(*np.subtract(goal.xy, aim.xy))) < ELSEWHERE
            case InZone() | At() if aim.verb in ("in_zone", "outside") and goal.objects[0] == a:
                return self._placed(aim, goal)
        return None

    def told(self, goal: Goal) -> str:
        """The goal in words; where it is a place, with the side of the table it lies on."""
        sides = [side for side in self._axes if self._beyond(goal, side) > 0]
        return goal.name + (f", which lies {' and '.join(sides)}" if sides else "")

    @staticmethod
    def _row(aim: Aim, goal: InRow) -> bool | None:
        """Another order may be one of equals; the reverse is none."""
        return False if goal.names == aim.names[::-1] else None

    def _placed(self, aim: Aim, goal: Goal) -> bool | None:
        side = aim.names[-1].split("_")[0]
        if side not in self._axes or side not in self._said:  # "bring me the mug" names no side of the table
            return None
        other = {"left": "right", "right": "left", "far": "near", "near": "far"}[side]
        here, there = self._beyond(goal, side) > 0, self._beyond(goal, other) > 0
        if aim.verb == "outside":
            return False if isinstance(goal, InZone) and here else None
        return False if there else True if here else None

    def _beyond(self, goal: Goal, side: str) -> float:
        """How far a place lies on that side of the table's middle, in metres, over what is clear; negative if less."""
        place = self._zones.get(goal.zone) if isinstance(goal, InZone) else goal.xy if isinstance(goal, At) else None
        if place is None:
            return -1.0
        ahead = self._corners @ self._axes[side]
        middle = float(self._corners.mean(0) @ self._axes[side])
        return float(np.asarray(place) @ self._axes[side]) - middle - ACROSS * float(np.ptp(ahead)) / 2


def _strange(aims: Sequence[Aim], goals: Sequence[Goal]) -> Iterator[str]:
    """Things whose every goal is of a sort that no aim about them can mean."""
    for name in dict.fromkeys(name for aim in aims for name in aim.moving):
        mine = [aim for aim in aims if name in aim.moving]
        found = [goal for goal in goals if name in _moving(goal)]
        fitting = tuple(kind for aim in mine for kind in FITTING.get(aim.verb, (Goal,)))
        if found and not any(isinstance(goal, (*fitting, Count)) for goal in found):
            yield f"the task asks that {sentence(mine[0])}; the simulation asks for {found[0].name}"


def _moving(goal: Goal) -> tuple[str, ...]:
    """What a goal may have carried: of two things one of which shall be by the other, both."""
    return goal.objects if isinstance(goal, Near | Away | Beside | InRow | Count) else goal.objects[:1]
